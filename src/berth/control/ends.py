"""How an attempt ends: what follows by stop reason and restart policy, as one guarded commit."""

import msgspec

from berth.control.amend import amend
from berth.control.context import Control
from berth.core import rollout
from berth.core.restart import Next, Outcome, after_end
from berth.model.change import Batch, PutAttempt
from berth.model.job import Attempt, Task
from berth.model.lifecycle import LIVE, QUEUED, step


async def end_attempt(control: Control, task_id: str, outcome: Outcome) -> None:
    """The attempt is over (or could not begin): commit what follows. Its cards go back by reclaim, not here."""
    decided: list[tuple[Outcome, Next]] = []

    def ended(task: Task) -> Task | None:
        if task.state not in LIVE | QUEUED:
            return None
        end = _as_asked(task, outcome)
        seen = msgspec.structs.replace(task, fared=rollout.after_end(control.cluster.jobs[task.job], task, end))
        follows = _follows(control, seen, end)
        decided[:] = [(end, follows)]
        return _after(seen, end, follows)

    def told(task: Task) -> Batch:
        return _changes(control, task, *decided[0])

    if await amend(control, task_id, ended, told):
        control.keeper.drain(task_id)
        control.wake("reclaim", "reconcile", "place")
        control.wake("alarm")


def attempt_of(task: Task, outcome: Outcome | None = None) -> Attempt:
    """The record of the task's current attempt, ended when an outcome is given."""
    return Attempt(
        task=task.id,
        attempt=task.attempt,
        node=task.node,
        cards=task.cards,
        engine_id=task.engine_id,
        granted_at=task.granted_at or 0.0,
        started_at=task.started_at,
        ended_at=outcome.at if outcome else None,
        exit_code=outcome.exit_code if outcome else None,
        reason=outcome.reason if outcome else "",
        error=outcome.error if outcome else "",
    )


def _as_asked(task: Task, outcome: Outcome) -> Outcome:
    """The end of a task that Berth stopped tells of what it was stopped for, not of the signal that ended it."""
    match task.stop_for:
        case "wrong-cards" | "unhealthy":
            return msgspec.structs.replace(outcome, reason=task.stop_for, error=task.error or outcome.error)
        case "replace":
            return msgspec.structs.replace(outcome, reason="replaced", error="")
        case _:
            return outcome


def _follows(control: Control, task: Task, outcome: Outcome) -> Next:
    if task.state in QUEUED:
        return Next(trigger="fail", reason=outcome.reason)
    job = control.cluster.jobs[task.job]
    then = after_end(job.spec_of(task.generation).restart_in_force, task, outcome)
    return rollout.follows(job, control.cluster.tasks_of(job.id), task, outcome, then)


def _after(task: Task, outcome: Outcome, follows: Next) -> Task:
    failed_at = (*task.failed_at, outcome.at)[-50:] if follows.counted else task.failed_at
    return step(
        task, follows.trigger, reason=follows.reason, exit_code=outcome.exit_code, error=outcome.error,
        ended_at=outcome.at, started_at=task.started_at or outcome.started_at,
        engine_id=outcome.engine_id or task.engine_id, not_before=follows.not_before, failed_at=failed_at,
        stop_sent=False, stop_for="",
    )  # fmt: skip


def _changes(control: Control, task: Task, outcome: Outcome, follows: Next) -> Batch:
    job = control.cluster.jobs[task.job]
    text = f"{job.name} slot {task.slot}, attempt {task.attempt}: {_how(outcome)}{_what_next(task, follows, outcome)}"
    note = control.note("ended", text, job=job.id, task=task.id, node=task.node)
    return (*((PutAttempt(attempt_of(task, outcome)),) if task.attempt else ()), note)


def _how(outcome: Outcome) -> str:
    code = f" with code {outcome.exit_code}" if outcome.exit_code is not None else ""
    return f"ended ({outcome.reason}){code}" + (f": {outcome.error}" if outcome.error else "")


def _what_next(task: Task, follows: Next, outcome: Outcome) -> str:
    match follows.trigger:
        case "retry":
            same = "cards" if task.cards else "node"
            return f"; runs again on the same {same} in {max(0.0, follows.not_before - outcome.at):.0f} s"
        case "wait":
            return "; waits again"
        case _:
            return "; its cards go back" if task.cards else ""
