"""Which slots a service of `mode: global` has: one for each node that fits it, for as long as that is so. Pure;
control/everywhere commits it.

As SwarmKit's global orchestrator does it: a node that takes no new work gets no task, one that is silent keeps what it
has, and one that no longer meets the constraints loses it. A slot stays the same node's for good.
"""

from collections.abc import Iterable, Sequence

import msgspec

from berth.core.constraints import node_ok
from berth.core.fit import takes_new
from berth.core.shape import Shape, shape_of
from berth.core.stand import Memo, Stand
from berth.model.job import Job, Task
from berth.model.lifecycle import FINISHED, QUEUED
from berth.model.snapshot import NodeView


class Slots(msgspec.Struct, frozen=True):
    """`fresh` are new slots, `again` those that are wanted again, `end` those that are not wanted any more; `count` is
    how many there are then.
    """

    fresh: tuple[Task, ...]
    again: tuple[Task, ...]
    end: tuple[Task, ...]
    count: int


def covers_nodes(job: Job) -> bool:
    """True for a job whose slots Berth spreads over the nodes, one each."""
    return job.spec.mode in ("global", "global-job") and not job.native


def slots(job: Job, tasks: Sequence[Task], views: tuple[NodeView, ...], memo: Memo | None = None) -> Slots:
    """What makes the job's slots those that the nodes call for."""
    memo, shape = memo or Memo(), shape_of(job.request)
    stands = {stand.node.name: stand for stand in memo.stands(views)}
    open_ = {name for name, stand in stands.items() if takes_new(shape, stand, memo.mask(stand, shape))}
    mine = {task.for_node: task for task in tasks if task.for_node}
    again = tuple(task for name, task in sorted(mine.items()) if name in open_ and is_dropped(task))
    end = tuple(task for task in tasks if not _stays(task, stands.get(task.for_node), shape, open_))
    first = max((task.slot for task in tasks), default=0) + 1
    fresh = tuple(
        Task(id=f"{job.id}.{slot}", job=job.id, slot=slot, for_node=name)
        for slot, name in enumerate(sorted(open_ - mine.keys()), first)
    )
    kept = sum(not is_dropped(task) for task in tasks) - sum(not is_dropped(task) for task in end)
    return Slots(fresh, again, end, kept + len(again) + len(fresh))


def is_dropped(task: Task) -> bool:
    """True for a slot that is not wanted any more, or is just being ended for that."""
    return task.stop_for == "scale" or (task.state in FINISHED and task.reason == "cancelled")


def _stays(task: Task, stand: Stand | None, shape: Shape, open_: Iterable[str]) -> bool:
    """A task that runs stays until its node's own facts speak against it; one that only waits must have a chance."""
    if task.state in FINISHED or is_dropped(task):
        return True
    if task.state in QUEUED:
        return task.for_node in open_
    if stand is None or not stand.node.up:
        return True
    return all(node_ok(rule, stand.view) for rule in shape.node_rules)
