"""How a job's slots change to another generation: which to end now, and when it is over. The pure twin of
control/rollout.

The rules are those of Docker's updater (SwarmKit, manager/orchestrator/update): `parallelism` slots at a time, `delay`
after each, an attempt that fails before it came up or within `monitor` after that counts, and more than
`max_failure_ratio` of them is the end. Order is always stop-first: a slot keeps its cards, and has one attempt.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from berth.core.restart import Next, Outcome
from berth.model.job import Job, StopFor, Task
from berth.model.lifecycle import FINISHED, OCCUPYING, QUEUED, revise, step
from berth.model.rollout import Fared, Phase
from berth.model.spec import Rollout

NOT_ITS_FAULT: frozenset[StopFor] = frozenset({"cancelled", "removed-on-engine", "requeue", "move", "replace", "scale"})
TAKEN_DOWN = ("replace", "requeue", "move")
"""Stops after which the slot comes up again, in the new form: one that another form has overtaken waits for a grant."""
TAKEN_AWAY = ("cancelled", "removed-on-engine")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What to do now. `end` are tasks whose old attempt ends for the new one, `revive` ended ones that wait again.

    `phase` is the one that begins now ("": it goes on), `message` says why. `look_at` (seconds since the epoch) is
    when to ask again if nothing happens before; None: time alone changes nothing.
    """

    end: tuple[str, ...] = ()
    revive: tuple[str, ...] = ()
    phase: Phase | Literal[""] = ""
    message: str = ""
    look_at: float | None = None


def settings(job: Job) -> Rollout:
    """How the phase that is under way goes: the present spec's `update`, or its `rollback`; Docker's defaults."""
    back = job.rollout is not None and job.rollout.phase in ("rolling-back", "rolled-back", "rollback-paused")
    return (job.spec.rollback if back else job.spec.update) or Rollout()


def next_step(job: Job, tasks: Iterable[Task], now: float) -> Step:
    """What the rollout of a job does now. Nothing, where none is under way."""
    state = job.rollout
    if state is None or not state.under_way or job.cancelled or job.ended_at is not None:
        return Step()
    plan, slots = settings(job), members(tasks)
    failed = [task for task in slots if failed_now(job, task)]
    if too_many(failed, state.total, plan):
        return _failure(job, failed, plan)
    old = [task for task in slots if task.generation != job.generation and task.state in OCCUPYING]
    revive = left_behind(job, slots)
    busy = sum(_busy(job, task, plan, now) for task in slots)
    room = max(0, (plan.parallelism or len(slots)) - busy)
    end = _chosen(old, room)
    if not end and not revive and not old and not busy and _watched_until(job, slots, plan) <= now:
        return _completed(job, slots)
    return Step(end=end, revive=revive, look_at=_next_moment(job, slots, plan, now))


def progress(job: Job, tasks: Iterable[Task]) -> tuple[int, int]:
    """How many slots run the present form, and how many there are."""
    slots = members(tasks)
    return sum(task.generation == job.generation and task.state == "running" for task in slots), len(slots)


def in_words(job: Job, tasks: Iterable[Task]) -> str:
    """How the update of a job stands, as the rest of a sentence about it; "" where there is nothing to say."""
    if job.rollout is None:
        return ""
    done, total = progress(job, tasks)
    why, name = job.rollout.message, job.name
    match job.rollout.phase:
        case "updating":
            return f"is being updated: {done} of {total} slots run the new form"
        case "paused":
            return (
                f"its update stands still, since {why}; deploy the file again to go on, or the earlier file to go back"
            )
        case "rolling-back":
            return f"is being rolled back, since {why}: {done} of {total} slots run the earlier form"
        case "rolled-back":
            return f"was rolled back to the earlier form, since {why}"
        case "rollback-paused":
            return f"its rollback stands still, since {why}; deploy {name}'s file again to go on"
        case _:
            return why


def members(tasks: Iterable[Task]) -> list[Task]:
    """The slots that an update concerns: not those that are scaled, cancelled or taken away."""
    return [
        task
        for task in tasks
        if task.stop_for not in ("scale", *TAKEN_AWAY) and not (task.state in FINISHED and task.reason in TAKEN_AWAY)
    ]


def failed_now(job: Job, task: Task) -> bool:
    """True when the slot failed in the phase that is under way."""
    fared, state = _fared(job, task), job.rollout
    return bool(fared and state and fared.failed_at is not None and fared.failed_at >= state.started_at)


def too_many(failed: Sequence[Task], total: int, plan: Rollout) -> bool:
    """True when so many failures are the end of the rollout."""
    return bool(failed) and plan.failure_action != "continue" and len(failed) / max(1, total) > plan.max_failure_ratio


def came_up(job: Job, task: Task, now: float) -> Fared | None:
    """What to remember of a slot that is seen up (healthy): its first time in this generation, during a rollout."""
    fresh = task.generation == job.generation and _fared(job, task) is None
    return Fared(task.generation, now) if fresh and job.rollout is not None and job.rollout.under_way else task.fared


def carried(task: Task, generation: int) -> Fared | None:
    """What is still remembered of a slot when an attempt of this generation begins."""
    return task.fared if task.fared is not None and task.fared.generation == generation else None


def after_end(job: Job, task: Task, outcome: Outcome) -> Fared | None:
    """What to remember of a slot whose attempt has ended: whether that counts as a failure of the new form.

    An early end counts whatever its exit code, as in Docker; one that somebody asked for, or a lost node, does not.
    """
    if job.rollout is None or not job.rollout.under_way or _excused(task, outcome):
        return task.fared
    generation = job.generation if task.state in QUEUED else task.generation
    fared = carried(task, generation)
    if generation != job.generation or (fared is None and _before(job, task)):
        return task.fared
    monitor = settings(job).monitor_s
    if fared is None and _unseen(job, task, outcome, monitor):
        return Fared(generation, outcome.started_at or outcome.at)
    if fared is None:
        return Fared(generation, outcome.at, max(outcome.at, job.rollout.started_at))
    early = fared.failed_at is None and outcome.at <= fared.at + monitor
    return msgspec.structs.replace(fared, failed_at=max(outcome.at, job.rollout.started_at)) if early else fared


def follows(job: Job, tasks: Iterable[Task], task: Task, outcome: Outcome, then: Next) -> Next:
    """What follows the end of an attempt while an update is under way, where the restart policy says `then`.

    `tasks` are the job's, `task` this one as it will be remembered (with `fared`). A slot of an earlier form goes on
    at once in the new one, and one that makes the update roll back goes back to the earlier form, on its cards.
    """
    state = job.rollout
    if state is None or not state.under_way or job.cancelled or _excused(task, outcome) or task.state in QUEUED:
        return then
    if task.generation != job.generation and then.trigger != "wait":
        return _at_once(job.request_of(task.generation) == job.request, outcome)
    others = [task if one.id == task.id else one for one in members(tasks)]
    failed = [one for one in others if failed_now(job, one)]
    plan = settings(job)
    if not rolls_back(job, plan) or not too_many(failed, state.total, plan) or then.trigger == "wait":
        return then
    return _at_once(job.request_of(state.back_to) == job.request, outcome)


def rolls_back(job: Job, plan: Rollout) -> bool:
    """True when a failure makes the job go back: only an update does, and only where it knows what to go back to."""
    state = job.rollout
    known = state is not None and any(one.generation == state.back_to for one in state.earlier)
    return known and state is not None and state.phase == "updating" and plan.failure_action == "rollback"


def taken_down(job: Job, task: Task) -> Task | None:
    """A slot whose turn it is: stopped where it keeps its cards, else asked to be granted others first."""
    if task.state not in ("running", "starting") or task.stop_for:
        return None
    if job.request_of(task.generation) == job.request:
        return step(task, "stop", stop_for="replace", stop_sent=False)
    return revise(task, wants_replace=True)


def _excused(task: Task, outcome: Outcome) -> bool:
    return task.stop_for in NOT_ITS_FAULT or outcome.reason in ("node-lost", "preempted", "cancelled")


def _at_once(same_cards: bool, outcome: Outcome) -> Next:
    trigger: Literal["retry", "wait"] = "retry" if same_cards else "wait"
    return Next(trigger=trigger, reason=outcome.reason, not_before=outcome.at, counted=False)


def _fared(job: Job, task: Task) -> Fared | None:
    return carried(task, job.generation)


def _before(job: Job, task: Task) -> bool:
    """The attempt was granted before this phase began: it is none of its making."""
    return job.rollout is not None and (task.granted_at or 0.0) < job.rollout.started_at


def _in_phase(job: Job, fared: Fared) -> bool:
    return job.rollout is not None and (fared.failed_at or fared.at) >= job.rollout.started_at


def _unseen(job: Job, task: Task, outcome: Outcome, monitor: float) -> bool:
    """It ran, long enough, while nobody looked (the server was away); where there is a health check nobody can tell."""
    ran = outcome.at - outcome.started_at if outcome.started_at is not None else 0.0
    return task.state == "starting" and job.spec.healthcheck is None and ran > monitor


def _busy(job: Job, task: Task, plan: Rollout, now: float) -> bool:
    """The slot was taken down for the update, or is down anyway and comes up in the new form; or its delay goes on."""
    if task.wants_replace or (task.stop_for in TAKEN_DOWN and task.state in OCCUPYING):
        return True
    fared = _fared(job, task)
    if fared is not None:
        return _in_phase(job, fared) and now < (fared.failed_at or fared.at) + plan.delay_s
    if task.state == "restarting":
        return True
    return task.generation == job.generation and task.state not in FINISHED and not _before(job, task)


def _chosen(old: Iterable[Task], room: int) -> tuple[str, ...]:
    """Old attempts to end, by slot: first those that do not run yet, which are down already and so cost no room twice;
    one that runs only where not too many are down with them.
    """
    free = sorted((task for task in old if not task.stop_for and not task.wants_replace), key=lambda task: task.slot)
    starting = [task.id for task in free if task.state == "starting"]
    running = [task.id for task in free if task.state == "running"]
    return (*starting[:room], *running[: max(0, room - len(starting))])


def left_behind(job: Job, tasks: Iterable[Task]) -> tuple[str, ...]:
    """Ended slots that have not had their try in the form to which an update goes."""
    if job.rollout is None or not job.rollout.under_way:
        return ()
    over = (task for task in members(tasks) if task.state in FINISHED and task.generation != job.generation)
    return tuple(task.id for task in over if _fared(job, task) is None)


def _watched_until(job: Job, slots: Iterable[Task], plan: Rollout) -> float:
    fared = (_fared(job, task) for task in slots)
    return max((one.at + plan.monitor_s for one in fared if one and _in_phase(job, one)), default=0.0)


def _next_moment(job: Job, slots: Iterable[Task], plan: Rollout, now: float) -> float | None:
    fared = [one for one in (_fared(job, task) for task in slots) if one is not None]
    times = [one.at + plan.monitor_s for one in fared]
    times += [(one.failed_at or one.at) + plan.delay_s for one in fared]
    return min((at for at in times if at > now), default=None)


def _completed(job: Job, slots: Sequence[Task]) -> Step:
    waiting = sum(task.state in QUEUED for task in slots)
    text = f"{waiting} of {len(slots)} slots wait and start in the new form" if waiting else ""
    back = job.rollout is not None and job.rollout.phase == "rolling-back"
    why = job.rollout.message if job.rollout is not None and back else text
    return Step(phase="rolled-back" if back else "completed", message=why)


def _failure(job: Job, failed: Sequence[Task], plan: Rollout) -> Step:
    assert job.rollout is not None
    told = _what_failed(failed, job.rollout.total)
    if rolls_back(job, plan):
        return Step(phase="rolling-back", message=told)
    if job.rollout.phase == "rolling-back":
        return Step(phase="rollback-paused", message=f"{told}; it had been rolled back since {job.rollout.message}")
    return Step(phase="paused", message=told)


def _what_failed(failed: Sequence[Task], total: int) -> str:
    first = min(failed, key=lambda task: (task.fared.failed_at if task.fared else 0.0) or 0.0)
    many = f"{len(failed)} of {total} slots failed, the first was " if len(failed) > 1 else ""
    return f"{many}slot {first.slot}{_how(first)}"


def _how(task: Task) -> str:
    """How a slot that failed did so, as far as its last end tells."""
    code = "" if task.exit_code is None else f" with exit code {task.exit_code}"
    known = {"": "", "exit": f" ended{code}", "unhealthy": " was not healthy"}
    reason = known.get(task.reason, f" ended ({task.reason}){code}")
    detail = f": {task.error}" if task.error else ""
    return f"{reason or ' failed'}{detail}"
