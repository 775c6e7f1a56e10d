"""Take-over: carries out the next steps for services that the docker CLI made (`core.handover`), after each look."""

from functools import partial

import msgspec

from berth.control.amend import amend, commit_whole
from berth.control.commands.jobs import cancelled
from berth.control.context import Control
from berth.core.handover import Freed, Over, Replaced, Retire, Shrink, Sight, Step, TakenAway, handover
from berth.model.change import Batch, PutJob
from berth.model.job import Task
from berth.model.launch import Handle
from berth.model.lifecycle import revise
from berth.model.token import Actor

ENGINE = Actor(name="engine", role="admin")


async def move_on(control: Control) -> None:
    """One pass over the jobs that are being taken over; each step is one guarded commit or one engine call."""
    cluster, look = control.cluster, control.look
    jobs = [(job, cluster.tasks_of(job.id)) for job in cluster.jobs.values() if job.taking and not job.native]
    if look is None or not jobs:
        return
    ids = {node.name: node.engine_id for node in cluster.nodes.values()}
    for step in handover(jobs, Sight(look, ids, control.calls.settled)):
        await _do(control, step)


async def _do(control: Control, step: Step) -> None:
    match step:
        case Shrink(job=job, service=service, replicas=replicas):
            control.calls.run(job, lambda: control.engine.resize(service, replicas))
        case Retire(job=job, service=service):
            await _mark(control, job, service, retiring=True)
            control.calls.run(job, lambda: control.engine.remove(Handle(object_id=service)))
        case Replaced(task=task, by=by):
            await amend(control, task, lambda now: revise(now, takes_over=by) if now.takes_over else None)
        case Freed(task=task):
            await _freed(control, task)
        case TakenAway(job=job):
            await commit_whole(control, partial(_taken_away, control, job))
            await _mark(control, job, control.cluster.jobs[job].taking, retiring=True)
            control.wake("reclaim", "reconcile")
        case Over(job=job):
            await _mark(control, job, "", retiring=False)
            control.wake("reconcile", "place")


async def _mark(control: Control, job_id: str, taking: str, retiring: bool) -> None:
    """Remember how far the job is; the end of its take-over is told."""

    def marked() -> Batch:
        job = control.cluster.jobs[job_id]
        if (job.taking, job.retiring) == (taking, retiring):
            return ()
        new = msgspec.structs.replace(job, taking=taking, retiring=retiring, version=job.version + 1)
        told = () if taking else (control.note("taken-over", f"{job.name} is wholly Berth's now", job=job_id),)
        return (PutJob(new, was=job.version), *told)

    await commit_whole(control, marked)


async def _freed(control: Control, task_id: str) -> None:
    def told(task: Task) -> Batch:
        job = control.cluster.jobs[task.job]
        text = f"the old container of {job.name} slot {task.slot} on {task.node} has ended"
        return (control.note("old-task-ended", text, job=job.id, task=task.id, node=task.node),)

    if await amend(control, task_id, lambda now: revise(now, takes_over="") if now.takes_over else None, told):
        control.wake("reconcile", "reclaim")


def _taken_away(control: Control, job_id: str) -> Batch:
    """The old service was removed by a person while it was being taken over: a cancel, as for Berth's own."""
    job = control.cluster.jobs[job_id]
    if job.cancelled:
        return ()
    text = f"{job.name} was removed with the engine's own tools: a cancel"
    note = control.note("removed-on-engine", text, actor="engine", job=job_id)
    return (*cancelled(control, ENGINE, job), note)
