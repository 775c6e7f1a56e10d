"""The one transition table of a task; every change of a task's state anywhere goes through `step`."""

from typing import Any, Literal

import msgspec

from berth.model.job import Task, TaskState

Trigger = Literal[
    "prepare", "grant", "start", "silent", "return", "stop", "retry", "finish", "fail", "wait"
]  # fmt: skip

# prepare   the engine has the slot's object, which cannot run yet
# grant     cards and node are committed: an attempt begins
# start     the container was seen running
# silent    its node does not answer; what runs there is not known
# return    the node answers again and the attempt still runs
# stop      somebody wants it ended; it still runs
# retry     the attempt ended; the same cards are kept for the next one
# finish    the last attempt ended well, or the task was cancelled
# fail      the last attempt ended badly
# wait      the attempt ended and the task goes back to the queue without cards
TRANSITIONS: dict[tuple[TaskState, Trigger], TaskState] = {
    ("waiting", "prepare"): "prepared",
    ("waiting", "grant"): "starting",
    ("waiting", "finish"): "ended",
    ("waiting", "fail"): "failed",
    ("prepared", "grant"): "starting",
    ("prepared", "finish"): "ended",
    ("prepared", "fail"): "failed",
    ("starting", "start"): "running",
    ("starting", "silent"): "unknown",
    ("starting", "stop"): "stopping",
    ("starting", "retry"): "restarting",
    ("starting", "finish"): "ended",
    ("starting", "fail"): "failed",
    ("starting", "wait"): "waiting",
    ("running", "silent"): "unknown",
    ("running", "stop"): "stopping",
    ("running", "retry"): "restarting",
    ("running", "finish"): "ended",
    ("running", "fail"): "failed",
    ("running", "wait"): "waiting",
    ("stopping", "silent"): "unknown",
    ("stopping", "stop"): "stopping",
    ("stopping", "retry"): "restarting",
    ("stopping", "finish"): "ended",
    ("stopping", "fail"): "failed",
    ("stopping", "wait"): "waiting",
    ("unknown", "return"): "running",
    ("unknown", "stop"): "stopping",
    ("unknown", "retry"): "restarting",
    ("unknown", "finish"): "ended",
    ("unknown", "fail"): "failed",
    ("unknown", "wait"): "waiting",
    ("restarting", "grant"): "starting",
    ("restarting", "finish"): "ended",
    ("restarting", "fail"): "failed",
    ("restarting", "wait"): "waiting",
}

LIVE: frozenset[TaskState] = frozenset({"starting", "running", "stopping", "unknown"})
"""States in which the engine may have, or be about to have, a container of the task."""
OCCUPYING: frozenset[TaskState] = LIVE | {"restarting"}
"""States in which the task holds its node's CPU and memory, and its cards."""
QUEUED: frozenset[TaskState] = frozenset({"waiting", "prepared"})
FINISHED: frozenset[TaskState] = frozenset({"ended", "failed"})


class IllegalTransition(Exception):
    """A state change that the table does not have: a fault in Berth, never a user's."""


def step(task: Task, trigger: Trigger, **fields: Any) -> Task:
    """The task after the trigger, with `fields` changed and its version raised by one.

    A task that holds nothing any more forgets a replacement that it waited for. Raises IllegalTransition when the
    table has no such line.
    """
    state = TRANSITIONS.get((task.state, trigger))
    if state is None:
        raise IllegalTransition(f"task {task.id} is {task.state}: '{trigger}' has no meaning there")
    if state not in OCCUPYING:
        fields = {"wants_replace": False, "next_node": "", "next_cards": (), **fields}
    return msgspec.structs.replace(task, state=state, version=task.version + 1, **fields)


def revise(task: Task, **fields: Any) -> Task:
    """The task with `fields` changed but in the same state, its version raised by one."""
    return msgspec.structs.replace(task, version=task.version + 1, **fields)
