"""What follows when an agent finds that a container sees other cards than granted: its end, and no more work there."""

import msgspec

from berth.control.amend import commit_whole
from berth.control.context import Control
from berth.core import becomes
from berth.model.change import Batch, PutNode, PutTask
from berth.model.wire import Saw


async def found_wrong_cards(control: Control, name: str, saw: Saw) -> None:
    """Stop the attempt, mistrust the node and drain it, in one commit: the next task would be given wrong cards there,
    too. Nothing when the container sees what it shall, or is none of this node's.
    """
    if not saw.problem:
        return

    def found() -> Batch:
        node, task = control.cluster.nodes.get(name), control.cluster.task(saw.task)
        if node is None or task is None or task.attempt != saw.attempt or task.node != name:
            return ()
        mend = f"the node takes no new work until somebody mends it and types 'berth node undrain {name}'"
        text = f"task {task.id} on {name} was stopped: {saw.problem} Now {mend}."
        note = control.note("wrong-cards", text, job=task.job, task=task.id, node=name)
        mistrusted = msgspec.structs.replace(node, mistrust=saw.problem)
        drained = msgspec.structs.replace(mistrusted, drain=node.drain or mistrusted.complaint)
        stopped = becomes.blamed(task, saw.problem)
        return (PutNode(drained), note, *((PutTask(stopped, was=task.version),) if stopped is not None else ()))

    async with control.turn:
        await commit_whole(control, found)
    control.wake("reconcile", "reclaim", "place", "label")
