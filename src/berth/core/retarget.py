"""Gives a job another form to change to, or sends it back to an earlier one, and what that means for a changing slot.
core.rollout says which slot is changed when; control/rollout and control/commands commit it.
"""

from collections.abc import Iterable

import msgspec

from berth.core.everywhere import covers_nodes
from berth.core.rollout import members
from berth.model.job import Job, Task
from berth.model.lifecycle import revise, step
from berth.model.rollout import OVER, Earlier, Phase, RolloutState
from berth.model.spec import TaskSpec


def alike(one: TaskSpec, other: TaskSpec) -> bool:
    """True when a slot of the one need not be changed for the other: they differ in how updates go, or in nothing."""
    plain = {"update": None, "rollback": None}
    return msgspec.structs.replace(one, **plain) == msgspec.structs.replace(other, **plain)


def begun(before: Job, new: Job, tasks: Iterable[Task], now: float) -> Job:
    """`new`, the job in its new form, with the update towards it begun. What slots run by now is not changed again.

    A rollback would go to the last form that all slots ran. An update that is still going on is given up for this one.
    """
    slots, state = members(tasks), before.rollout
    known = {one.generation: one for one in (*(state.earlier if state else ()), _as_earlier(before))}
    same = next((one for one in known.values() if alike(one.spec, new.spec)), None)
    newest = max(before.generation, state.newest if state else 0)
    generation = same.generation if same is not None else newest + 1
    back_to = _last_whole(before)
    rollout = RolloutState(
        phase="updating",
        started_at=now,
        total=sum(task.generation != generation for task in slots),
        back_to=0 if back_to == generation else back_to,
        newest=max(newest, generation),
        earlier=_still_known(known, slots, generation, back_to),
    )
    return msgspec.structs.replace(new, generation=generation, rollout=rollout)


def gone_back(job: Job, tasks: Iterable[Task], message: str, now: float) -> Job:
    """The job in the form that its rollback goes to, with the way back begun. It must know one (`rolls_back`)."""
    assert job.rollout is not None
    slots, state = members(tasks), job.rollout
    known = {one.generation: one for one in (*state.earlier, _as_earlier(job))}
    aim = known[state.back_to]
    replicas = job.replicas if covers_nodes(job) else aim.replicas
    rollout = RolloutState(
        phase="rolling-back",
        started_at=now,
        total=sum(task.generation != aim.generation for task in slots),
        message=message,
        newest=state.newest,
        earlier=_still_known(known, slots, aim.generation, 0),
    )
    return msgspec.structs.replace(
        job, spec=aim.spec, generation=aim.generation, replicas=replicas, priority=aim.priority, queue=aim.queue,
        demands=aim.demands, rollout=rollout, version=job.version + 1,
    )  # fmt: skip


def resumed(job: Job, tasks: Iterable[Task], now: float) -> Job:
    """The job with its paused update going on; failures up to now are forgiven."""
    assert job.rollout is not None
    back = job.rollout.phase == "rollback-paused"
    left = sum(task.generation != job.generation for task in members(tasks))
    rollout = msgspec.structs.replace(
        job.rollout, phase="rolling-back" if back else "updating", started_at=now, ended_at=None, message="", total=left
    )
    return msgspec.structs.replace(job, rollout=rollout)


def turned(job: Job, phase: Phase, message: str, now: float) -> Job:
    """The job with its rollout paused or over; one that is over keeps nothing to go back to."""
    assert job.rollout is not None
    state = msgspec.structs.replace(job.rollout, phase=phase, message=message, ended_at=now)
    if phase in OVER:
        state = msgspec.structs.replace(state, earlier=(), back_to=0)
    return msgspec.structs.replace(job, rollout=state, version=job.version + 1)


def rescaled(state: RolloutState | None, replicas: int) -> RolloutState | None:
    """A person scaled the job: going back changes its form, not that number."""
    if state is None:
        return None
    earlier = tuple(msgspec.structs.replace(one, replicas=replicas) for one in state.earlier)
    return msgspec.structs.replace(state, earlier=earlier)


def redirected(task: Task, before: Job, job: Job, now: float) -> Task | None:
    """A slot when its job gets another form: nothing for most, which are changed when it is their turn.

    One that is on its way already (its old attempt is ending, or it waits out a restart delay) takes the new form: on
    the cards that it has where that asks for the same, else after another grant.
    """
    want, had = job.request, before.request_of(task.generation)
    keeps_next = bool(task.next_node) and before.request == want
    given_up = {} if keeps_next else {"next_node": "", "next_cards": (), "wants_replace": False}
    match task.state:
        case "restarting" if had == want or keeps_next:
            return revise(task, not_before=min(task.not_before, now), fared=None, **given_up)
        case "restarting":
            return step(task, "wait")
        case "stopping" | "unknown" if task.stop_for == "replace":
            keeps = had == want or keeps_next
            return revise(task, stop_for="replace" if keeps else "requeue", fared=None, **given_up)
        case "starting" | "running" | "unknown" if task.wants_replace:
            return revise(task, **given_up)
    return None


def _last_whole(before: Job) -> int:
    """The generation that all slots ran last, or are going back to."""
    state = before.rollout
    on_the_way = state is not None and state.phase in ("updating", "paused")
    return state.back_to if state is not None and on_the_way else before.generation


def _as_earlier(job: Job) -> Earlier:
    return Earlier(
        generation=job.generation, spec=job.spec, replicas=job.replicas, priority=job.priority, queue=job.queue,
        demands=job.demands,
    )  # fmt: skip


def _still_known(
    known: dict[int, Earlier], slots: Iterable[Task], generation: int, back_to: int
) -> tuple[Earlier, ...]:
    wanted = {task.generation for task in slots} | {back_to}
    return tuple(one for number, one in sorted(known.items()) if number in wanted and number != generation)
