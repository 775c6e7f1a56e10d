"""Services of `mode: global` whose tasks Berth places: their slots follow the nodes (core.everywhere), as one guarded
commit; place runs it before each decision.
"""

import msgspec

from berth.control.amend import commit_whole
from berth.control.context import Control
from berth.control.rescale import stops, wanted_again
from berth.core.everywhere import Slots, slots
from berth.core.stand import Memo
from berth.model.change import Batch, PutJob, PutTask
from berth.model.job import Job, Task


def first_slots(control: Control, job: Job) -> tuple[Job, tuple[Task, ...]]:
    """A new job with the number of its slots, and these, all waiting."""
    found = slots(job, (), control.views.nodes())
    return msgspec.structs.replace(job, replicas=found.count), found.fresh


async def follow(control: Control, memo: Memo) -> None:
    """Give every such service the slots that the nodes call for now."""
    for job_id in list(control.cluster.work.everywhere):
        if await commit_whole(control, lambda key=job_id: _followed(control, key, memo)):  # type: ignore[misc]
            control.wake("reconcile", "reclaim")


def _followed(control: Control, job_id: str, memo: Memo) -> Batch:
    job, tasks = control.cluster.jobs[job_id], control.cluster.tasks_of(job_id)
    if job.cancelled or job.ended_at is not None:
        return ()
    found = slots(job, tasks, control.views.nodes(), memo)
    again = tuple(put for task in found.again if (put := wanted_again(task)) is not None)
    if not (found.fresh or again or found.end) and found.count == job.replicas:
        return ()
    new = msgspec.structs.replace(job, replicas=found.count, version=job.version + 1)
    note = control.note("follows-nodes", _told(job, found), job=job.id)
    fresh = (PutTask(task) for task in found.fresh)
    return (PutJob(new, was=job.version), note, *fresh, *again, *stops(control, found.end, "scale"))


def _told(job: Job, found: Slots) -> str:
    more = ", ".join(task.for_node for task in (*found.fresh, *found.again))
    less = ", ".join(task.for_node or task.node for task in found.end)
    parts = [f"also on {more}"] * bool(more) + [f"no longer on {less}"] * bool(less)
    return f"{job.name} has {found.count} tasks" + (f": {', '.join(parts)}" if parts else "")
