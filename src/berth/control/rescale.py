"""Change how many slots a job has: new ones wait as any task, surplus ones are stopped."""

import msgspec

from berth.control.amend import amend
from berth.control.context import Control
from berth.model.change import Batch, PutJob, PutTask
from berth.model.job import Job, StopFor, Task
from berth.model.lifecycle import FINISHED, LIVE, QUEUED, revise, step


async def rescale(control: Control, job_id: str, replicas: int, actor: str) -> Job:
    """Give the job `replicas` slots (0 or more). Returns the job. Raises Stale when it changed at the same moment."""
    job = control.cluster.jobs[job_id]
    if replicas == job.replicas:
        return job
    new = msgspec.structs.replace(job, replicas=replicas, ended_at=None, version=job.version + 1)
    note = control.note("scaled", f"{job.name} from {job.replicas} to {replicas} replicas", job=job_id, actor=actor)
    await control.writer.commit((PutJob(new, was=job.version), note, *_more(control, new)))
    for task in control.cluster.tasks_of(job_id):
        if task.slot > replicas:
            await stop_task(control, task.id, "scale")
    control.wake("place", "reconcile", "reclaim")
    return new


def _more(control: Control, job: Job) -> Batch:
    have = control.cluster.tasks.get(job.id, {})
    return tuple(_slot(job, slot, have.get(slot)) for slot in range(1, job.replicas + 1) if _open(have.get(slot)))


def _open(task: Task | None) -> bool:
    return task is None or (task.state in FINISHED and task.reason == "cancelled" and task.gone)


def _slot(job: Job, slot: int, old: Task | None) -> PutTask:
    fresh = Task(id=f"{job.id}.{slot}", job=job.id, slot=slot)
    if old is None:
        return PutTask(fresh)
    again = msgspec.structs.replace(fresh, attempt=old.attempt, version=old.version + 1)
    return PutTask(again, was=old.version)


async def stop_task(control: Control, task_id: str, why: StopFor) -> None:
    """Ask one task to end for this reason: at once where nothing runs, else by the engine with grace."""

    def stop(task: Task) -> Task | None:
        if task.state in FINISHED or task.stop_for in ("cancelled", "scale"):
            return None
        if task.state in QUEUED or task.state == "restarting":
            return step(task, "finish", reason="cancelled", ended_at=control.clock.now(), stop_for="")
        if task.state == "unknown":
            return revise(task, stop_for=why)
        return step(task, "stop", stop_for=why, stop_sent=False) if task.state in LIVE else None

    if await amend(control, task_id, stop):
        control.wake("reconcile", "reclaim", "place")
