"""Native services: jobs without cards that the engine places itself; Berth creates, updates and removes them whole."""

from berth.control.bind import launch_of
from berth.control.context import Control
from berth.model.job import Job, Task
from berth.model.launch import Handle


async def apply_native(control: Control, job: Job) -> None:
    """Create or update the service as the engine's own CLI would. Raises EngineError when the engine refuses."""
    placeholder = Task(id=f"{job.id}.1", job=job.id, slot=1)
    with control.calls.during(job.id):
        await control.engine.apply_native(launch_of(control, job, placeholder))


async def remove_native(control: Control, job: Job) -> None:
    """Remove the service of a native job; what is gone already is fine."""
    for seen in control.look.objects if control.look is not None else ():
        if seen.native and seen.job == job.id:
            await control.engine.remove(Handle(object_id=seen.id, object_version=seen.version, name=seen.name))
