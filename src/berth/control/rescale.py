"""Change how many slots a job has: new ones wait as any task, surplus ones are stopped; job and slots in one commit."""

from collections.abc import Iterable

import msgspec

from berth.control.amend import amend, commit_whole
from berth.control.context import Control
from berth.core import becomes
from berth.core.publish import several_slots
from berth.core.retarget import rescaled
from berth.model.change import Batch, PutJob, PutTask
from berth.model.errors import Refused
from berth.model.job import Job, StopFor, Task
from berth.model.lifecycle import FINISHED, refill, revise


async def rescale(control: Control, job_id: str, replicas: int, actor: str) -> Job:
    """Give the job `replicas` slots (0 or more). Returns the job. Raises Refused for one that is over or cancelled."""

    def scaled() -> Batch:
        job = control.cluster.jobs[job_id]
        if job.cancelled or job.ended_at is not None:  # it may have been cancelled since the command looked
            raise Refused.of(
                "scale-ended", f"job {job.name} has ended.", "Deploy its stack again: berth stack deploy -c FILE NAME"
            )
        if replicas == job.replicas:
            return ()
        _may_scale(control, job, replicas)
        new = msgspec.structs.replace(
            job, replicas=replicas, generation=job.generation + job.native, version=job.version + 1,
            rollout=rescaled(job.rollout, replicas),
        )  # fmt: skip
        note = control.note("scaled", f"{job.name} from {job.replicas} to {replicas} replicas", job=job_id, actor=actor)
        return (PutJob(new, was=job.version), note, *slots_of(control, new, control.cluster.tasks_of(job_id)))

    await commit_whole(control, scaled)
    control.wake("place", "reconcile", "reclaim")
    return control.cluster.jobs[job_id]


def _may_scale(control: Control, job: Job, replicas: int) -> None:
    """Raise Refused for a service that has a task on every node, a port that only one task can have, or a slot whose
    name another service has.
    """
    if job.spec.mode in ("global", "global-job"):
        raise Refused.of(
            "scale-global",
            f"{job.name} has mode: {job.spec.mode}: one task on each node that fits it, so it cannot be scaled.",
            "To choose the nodes: deploy.placement.constraints in its stack file",
        )
    if job.native or replicas < 2:
        return
    _names_free(control, job, replicas)
    if not control.engine.capabilities.ingress:
        return
    port = next((port for port in job.spec.ports if port.mode == "ingress"), None)
    if port is not None:
        raise Refused(several_slots(port))


def _names_free(control: Control, job: Job, replicas: int) -> None:
    others = {one.engine_name for one in control.cluster.work.services.of(job.stack) if one.ended_at is None}
    met = next((slot for slot in range(2, replicas + 1) if f"{job.engine_name}-{slot}" in others), None)
    if met is not None:
        text = f"slot {met} of {job.name} would be named {job.engine_name}-{met}, as another service of the stack is."
        raise Refused.of("name-taken", text, f"berth scale {job.name}={met - 1}, or rename that service")


def slots_of(control: Control, job: Job, tasks: Iterable[Task]) -> Batch:
    """What makes the job's slots as many as it has replicas. The engine itself keeps count of a native service."""
    if job.native:
        return ()
    have = {task.slot: task for task in tasks}
    wanted = tuple(put for slot in range(1, job.replicas + 1) if (put := _wanted(job, slot, have.get(slot))))
    return (*wanted, *stops(control, (task for slot, task in have.items() if slot > job.replicas), "scale"))


def _wanted(job: Job, slot: int, old: Task | None) -> PutTask | None:
    """A slot that shall be there: a new one, or one that was scaled away."""
    return PutTask(Task(id=f"{job.id}.{slot}", job=job.id, slot=slot)) if old is None else wanted_again(old)


def wanted_again(old: Task) -> PutTask | None:
    """A slot that was scaled away, or is just being stopped for that, and shall be there; None for any other."""
    if old.stop_for == "scale":
        return PutTask(revise(old, stop_for="requeue", object_id="", object_version=0), was=old.version)
    if old.state in FINISHED and old.reason == "cancelled":
        return PutTask(refill(old), was=old.version)
    return None


async def stop_task(control: Control, task_id: str, why: StopFor) -> None:
    """Ask one task to end for this reason: at once where nothing runs, else by the engine with grace."""
    if await amend(control, task_id, lambda task: becomes.stopped(task, why, control.clock.now())):
        control.wake("reconcile", "reclaim", "place")


def stops(control: Control, tasks: Iterable[Task], why: StopFor) -> Batch:
    """The changes that ask these tasks to end, for a commit that holds more than them."""
    now = control.clock.now()
    found = ((task, becomes.stopped(task, why, now)) for task in tasks)
    return tuple(PutTask(new, was=task.version) for task, new in found if new is not None)
