"""The one transition table of a task; every change of a task's state anywhere goes through `step`."""

from collections.abc import Container
from typing import Any, Literal

import msgspec

from berth.model.job import StopFor, Task, TaskState

Trigger = Literal[
    "prepare", "grant", "start", "silent", "return", "stop", "retry", "finish", "fail", "wait", "refill"
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
# refill    the slot was scaled away and is wanted again
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
    ("ended", "refill"): "waiting",
    ("failed", "refill"): "waiting",
}

LIVE: frozenset[TaskState] = frozenset({"starting", "running", "stopping", "unknown"})
"""States in which the engine may have, or be about to have, a container of the task."""
OCCUPYING: frozenset[TaskState] = LIVE | {"restarting"}
"""States in which the task holds its node's CPU and memory, and its cards."""
QUEUED: frozenset[TaskState] = frozenset({"waiting", "prepared"})
GOES_ON: frozenset[StopFor] = frozenset({"replace", "unhealthy"})
"""Reasons to stop after which the slot's next attempt may begin on cards that it holds, or waits for."""
FINAL: frozenset[StopFor] = frozenset({"cancelled", "scale", "removed-on-engine"})
"""Reasons to stop after which the slot does not run again: its object is not needed any more."""
FINISHED: frozenset[TaskState] = frozenset({"ended", "failed"})


def is_clear(task: Task, granted: Container[str]) -> bool:
    """True when nothing of its attempts is left, on the engine or in the ledger (`granted`: who holds cards)."""
    return task.gone and task.id not in granted


def is_settled(task: Task, granted: Container[str]) -> bool:
    """True when the task is over and nothing of it is left."""
    return task.state in FINISHED and is_clear(task, granted)


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


def begin(task: Task, at: float, generation: int, node: str, cards: tuple[str, ...], **fields: Any) -> Task:
    """The task with its next attempt granted at `at` (seconds), of this generation of its job: in another one it starts
    afresh, as far as what counts against it is concerned.
    """
    if generation != task.generation:
        fields = {"failed_at": (), **fields}
    if task.fared is not None and task.fared.generation != generation:
        fields = {"fared": None, **fields}
    return step(
        task, "grant", attempt=task.attempt + 1, generation=generation, node=node, cards=cards, granted_at=at,
        started_at=None, ended_at=None, engine_id="", stop_for="", stop_sent=False, gone=False, digest="", **fields,
    )  # fmt: skip


def ask_stop(task: Task, why: StopFor, **fields: Any) -> Task:
    """The task, asked to end; one whose node is silent is asked when it answers again (`returned`).

    One that does not run again on what it has forgets the replacement that it waited for: else another grant would
    make a cancel undone.
    """
    fields = {"stop_sent": False, **fields, "stop_for": why}
    if why not in GOES_ON:
        fields = {"wants_replace": False, "next_node": "", "next_cards": (), **fields}
    return revise(task, **fields) if task.state == "unknown" else step(task, "stop", **fields)


def returned(task: Task) -> Task:
    """The task whose silent node answers again: it runs on, unless somebody wants it ended."""
    return step(task, "stop" if task.stop_for else "return")


def refill(task: Task, generation: int = 0) -> Task:
    """A slot that has ended and is wanted again: a new one, which knows its last attempt until that is gone.

    `generation` is the one for which it is wanted, where an update wants it.
    """
    held = {} if task.gone else {"gone": False, "node": task.node, "cards": task.cards}
    fresh = Task(id=task.id, job=task.job, slot=task.slot, state=task.state, attempt=task.attempt, version=task.version)
    return step(msgspec.structs.replace(fresh, **held), "refill", generation=generation, for_node=task.for_node)


def revise(task: Task, **fields: Any) -> Task:
    """The task with `fields` changed but in the same state, its version raised by one."""
    return msgspec.structs.replace(task, version=task.version + 1, **fields)
