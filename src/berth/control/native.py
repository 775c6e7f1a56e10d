"""Native services: jobs without cards that the engine places itself; Berth creates, updates and removes them whole."""

import asyncio
from collections.abc import Iterable

import msgspec

from berth.control.amend import commit_whole
from berth.control.bind import launch_of
from berth.control.calls import AT_ONCE
from berth.control.context import Control
from berth.model.change import Batch, PutJob
from berth.model.errors import EngineError, EngineUnreachable, ObjectGone
from berth.model.job import Job, Task
from berth.model.launch import Handle, Launch


async def apply_natives(control: Control, jobs: Iterable[Job]) -> None:
    """Tell the engine of all these services, several at once. Raises the first EngineError, once all are told of."""
    room = asyncio.Semaphore(AT_ONCE)

    async def told(job: Job) -> None:
        async with room:
            await apply_native(control, job)

    answers = await asyncio.gather(*(told(job) for job in jobs), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer


async def apply_native(control: Control, job: Job) -> None:
    """Create or update the service as the engine's own CLI would, and remember that the engine has this generation.

    Raises EngineError when the engine refuses; that is remembered, too, and not tried again. An engine that could not
    be reached is told at the next look.
    """
    async with control.calls.alone(job.id):
        now = control.cluster.jobs.get(job.id, job)
        if now.taking or now.applied < now.generation:  # else it was told while this call waited
            await _apply(control, now)


async def _apply(control: Control, job: Job) -> None:
    launch = launch_of(control, job, Task(id=f"{job.id}.1", job=job.id, slot=1))
    with control.calls.during(job.id):
        if job.taking:
            job = await _adopted(control, job, launch)
            if job.applied >= job.generation:
                return
        try:
            await control.engine.apply_native(launch)
        except EngineUnreachable:
            raise
        except EngineError as error:
            await commit_whole(control, lambda: _applied(control, job))
            await control.writer.commit((control.note("native-refused", f"{job.name}: {error}", job=job.id),))
            raise
        await commit_whole(control, lambda: _applied(control, job))


async def _adopted(control: Control, job: Job, launch: Launch) -> Job:
    """Make the docker CLI's service the job's own, in place; what the file changes of it is told afterwards."""
    taken = True
    try:
        await control.engine.take_over_native(launch, job.taking)
    except ObjectGone:
        taken = False  # a person removed it meanwhile: the job gets a service of its own

    def marked() -> Batch:
        now = control.cluster.jobs.get(job.id)
        if now is None or not now.taking:
            return ()
        new = msgspec.structs.replace(now, taking="", applied=max(now.applied, int(taken)), version=now.version + 1)
        note = control.note("taken-over", f"{job.name} is Berth's now; its tasks went on", job=job.id)
        return (PutJob(new, was=now.version), *((note,) if taken else ()))

    await commit_whole(control, marked)
    return control.cluster.jobs.get(job.id, job)


def _applied(control: Control, job: Job) -> Batch:
    now = control.cluster.jobs.get(job.id)
    if now is None or now.applied >= job.generation:
        return ()
    return (PutJob(msgspec.structs.replace(now, applied=job.generation, version=now.version + 1), was=now.version),)


async def remove_native(control: Control, job: Job) -> None:
    """Remove the service of a native job; what is gone already is fine."""
    for seen in control.look.objects if control.look is not None else ():
        if seen.native and seen.job == job.id:
            await control.engine.remove(Handle(object_id=seen.id, object_version=seen.version, name=seen.name))
