"""What a job's state is, from the states of its tasks: the one place that knows INTERFACE's rule."""

from collections.abc import Mapping, Sequence

import msgspec

from berth.core.everywhere import covers_nodes
from berth.core.handover import blockers
from berth.core.rollout import in_words
from berth.model.job import Job, JobState, Task
from berth.model.lifecycle import FINISHED
from berth.model.plan import Wait


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A job's state in words, derived: times are seconds since the epoch or None."""

    state: JobState
    reason: str = ""
    message: str = ""
    position: int | None = None
    expected_start: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    restarts: int = 0


def job_status(job: Job, tasks: Sequence[Task], waits: Mapping[str, Wait]) -> JobStatus:
    """`running` while one task runs, else what the others say; `failed` if any failed once all have ended."""
    found = _without_update(job, tasks, waits)
    update = "" if found.state in ("succeeded", "failed", "cancelled") else in_words(job, tasks)
    if not update:
        return found
    return msgspec.structs.replace(found, message=f"{update}; {found.message}" if found.message else update)


def _without_update(job: Job, tasks: Sequence[Task], waits: Mapping[str, Wait]) -> JobStatus:
    started = [task.started_at for task in tasks if task.started_at is not None]
    status = JobStatus(
        state=_state(job, tasks),
        started_at=min(started, default=None),
        ended_at=job.ended_at,
        restarts=sum(task.restarts for task in tasks),
    )
    if status.state in ("waiting", "starting"):
        return _waiting(job, status, tasks, waits)
    if status.state in ("succeeded", "failed", "cancelled"):
        return _ended(status, tasks)
    if status.state != "running":
        return status
    return _first_wait(status, tasks, waits) or _handed_over(status, job, tasks) or status


def _state(job: Job, tasks: Sequence[Task]) -> JobState:
    states = {task.state for task in tasks}
    if job.replicas == 0 and not job.cancelled and job.ended_at is None and states <= FINISHED:
        return "waiting"
    if not states and job.ended_at is not None:
        return "cancelled" if job.cancelled else "succeeded"
    if states and states <= FINISHED:
        return _final(job, tasks)
    if job.cancelled:
        return "stopping"
    if states & {"running", "unknown"} or any(task.takes_over for task in tasks):
        return "running"
    if "stopping" in states:
        return "stopping"
    told = job.native and not states and job.applied >= job.generation  # the engine has it, and shows no task yet
    return "starting" if told or "starting" in states else "waiting"


def _final(job: Job, tasks: Sequence[Task]) -> JobState:
    if any(task.state == "failed" for task in tasks):
        return "failed"
    if job.cancelled or all(task.reason in ("cancelled", "removed-on-engine", "dependency") for task in tasks):
        return "cancelled"
    return "succeeded"


def _waiting(job: Job, status: JobStatus, tasks: Sequence[Task], waits: Mapping[str, Wait]) -> JobStatus:
    if job.held:
        return msgspec.structs.replace(status, reason="held", message=f"held: type 'berth release {job.id}'")
    if job.replicas == 0 and covers_nodes(job):
        told = f"no node takes it now: 'berth why {job.name}' says what stands against each"
        return msgspec.structs.replace(status, reason="no-match", message=told)
    if job.replicas == 0:
        told = f"it is scaled to 0: type 'berth scale {job.name}=1'"
        return msgspec.structs.replace(status, reason="held", message=told)
    waiting = _first_wait(status, tasks, waits) or _handed_over(status, job, tasks)
    if waiting is not None:
        return waiting
    again = next((task for task in tasks if task.state == "restarting"), None)
    if again is not None:
        ended = f"its last run ended: {again.error}" if again.error else "its last run ended"
        same = "on the same cards" if again.cards else "on the same node"
        return msgspec.structs.replace(status, reason="restart-delay", message=f"{ended}; it starts again {same}")
    if job.native and status.state == "waiting":
        error = next((task.error for task in tasks if task.error), "")
        return msgspec.structs.replace(status, reason="engine", message=error or "Swarm has given it no node yet")
    return status


def handing_over(task: Task) -> str:
    """What there is to say of a slot that the docker CLI's own container still runs for; "" for any other."""
    if not task.takes_over:
        return ""
    if task.state in FINISHED:
        return f"the container on {task.node} that the docker CLI started is being ended"
    return f"the container that the docker CLI started runs on {task.node} until its turn to be taken over"


def _handed_over(status: JobStatus, job: Job, tasks: Sequence[Task]) -> JobStatus | None:
    """How far the take-over of the job is; None when it is wholly Berth's."""
    if not job.taking or job.native:
        return None
    left = sum(bool(task.takes_over) for task in tasks)
    text = f"is being taken over: {left} of {len(tasks)} slots still run as the docker CLI started them"
    halted = blockers(tasks)
    if halted and halted[0].state in ("failed", "restarting"):
        error = f" ({halted[0].error})" if halted[0].error else ""
        text += f"; no further one is ended, since slot {halted[0].slot} is {halted[0].state}{error}"
    return msgspec.structs.replace(status, reason="engine", message=text)


def _first_wait(status: JobStatus, tasks: Sequence[Task], waits: Mapping[str, Wait]) -> JobStatus | None:
    """With why the first of the tasks that wait does so; None when none waits."""
    wait = next((waits[task.id] for task in tasks if task.id in waits), None)
    if wait is None:
        return None
    return msgspec.structs.replace(status, reason=wait.reason, message=wait.message, position=wait.position)


def _ended(status: JobStatus, tasks: Sequence[Task]) -> JobStatus:
    worst = next((task for task in tasks if task.state == "failed"), tasks[0] if tasks else None)
    if worst is None:
        return status
    return msgspec.structs.replace(status, reason=worst.reason, message=worst.error, exit_code=worst.exit_code)
