"""The pure twin of reclaim for what is whole: which jobs and stacks are over, and what must happen to them then."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from berth.core.rollout import left_behind
from berth.core.situation import Situation
from berth.model.job import Job, Stack, Task
from berth.model.lifecycle import is_settled

NativeDuty = Literal["", "tell", "remove", "close"]
StackDuty = Literal["", "mark", "drop"]
Services = Sequence[tuple[Job, tuple[Task, ...]]]


def is_over(job: Job, tasks: Sequence[Task], granted: Container[str]) -> bool:
    """True when all its tasks are settled; a job that is scaled to nothing waits to be scaled up again, and an update
    first gives ended slots their try in the new form.
    """
    if job.ended_at is not None or job.native or (not job.cancelled and left_behind(job, tasks)):
        return False
    settled = all(is_settled(task, granted) for task in tasks)
    return settled and (job.cancelled or bool(tasks and job.replicas > 0))


def closed(job: Job, tasks: Iterable[Task], now: float) -> Job:
    """The job as it ended: with its last task, or now where it has none."""
    at = max((task.ended_at for task in tasks if task.ended_at is not None), default=now)
    ended = msgspec.structs.replace(job, ended_at=at, version=job.version + 1)
    if job.rollout is None or not job.rollout.under_way:
        return ended
    rollout = msgspec.structs.replace(job.rollout, phase="completed", message="the service has ended", ended_at=now)
    return msgspec.structs.replace(ended, rollout=rollout)


def native_duty(job: Job, name_held: bool, situation: Situation) -> NativeDuty:
    """What a live native service needs: `tell` the engine its present form (the server died before it could), `remove`
    it there after a cancel, or `close` the job, since the service is gone: cancelled here, or by a person there.
    """
    if not situation.proves(job.id):
        return ""
    if job.applied < job.generation and not job.cancelled:
        return "" if name_held else "tell"
    if any(seen.native and seen.job == job.id for seen in situation.observed.objects):
        return "remove" if job.cancelled else ""
    return "close"


def stack_duties(
    stacks: Mapping[str, Stack], services: Mapping[str, Services], situation: Situation
) -> dict[str, StackDuty]:
    """What each stack needs: to be `mark`ed as one that goes, since a person took all its services away with the
    engine's own tools, or, when it goes and no slot of it is left, to `drop` its networks and its record.
    """
    look = situation.observed
    on_engine = {*(seen.job for seen in look.objects), *(life.job for life in look.lives)}
    found = {name: _stack_duty(stack, services[name], on_engine, situation) for name, stack in stacks.items()}
    return {name: duty for name, duty in found.items() if duty}


def _stack_duty(stack: Stack, services: Services, on_engine: Container[str], situation: Situation) -> StackDuty:
    if not stack_over(services):
        return ""
    if not stack.removing:
        taken = bool(services) and all(_taken_away(job, tasks, situation) for job, tasks in services)
        return "mark" if taken else ""
    return "" if any(job.id in on_engine for job, _ in services) else "drop"


def stack_over(services: Services) -> bool:
    """True when every service of a stack has ended."""
    return all(job.ended_at is not None for job, _ in services)


def _taken_away(job: Job, tasks: Sequence[Task], situation: Situation) -> bool:
    """True when a person took the job's services away with the engine's own tools, also after it had ended."""
    return job.cancelled or (bool(tasks) and all(_slot_taken_away(task, situation) for task in tasks))


def _slot_taken_away(task: Task, situation: Situation) -> bool:
    if task.reason in ("removed-on-engine", "cancelled"):
        return True
    had_one = situation.capabilities.slot_objects and bool(task.object_id)
    there = any(seen.task == task.id and not seen.native for seen in situation.observed.objects)
    return had_one and situation.proves(task.id) and not there
