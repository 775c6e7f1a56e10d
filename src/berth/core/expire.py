"""The pure twin of reclaim: whose cards are really free, because nothing of the task is left that could use them."""

from collections.abc import Container, Iterable, Iterator

from berth.core.actions import Release
from berth.core.situation import Situation
from berth.model.job import Task
from berth.model.lifecycle import FINISHED, QUEUED, is_clear, revise


def expire(tasks: Iterable[Task], granted: Container[str], situation: Situation) -> Iterator[Release]:
    """A release for each task that needs its cards no more and of which the engine shows nothing alive.

    `granted` are the tasks with something in the ledger.
    """
    alive = {task for task, lives in situation.lives().items() if any(life.alive for life in lives)}
    for task in tasks:
        if task.takes_over or task.state not in FINISHED | QUEUED or is_clear(task, granted):
            continue
        if not situation.proves(task.id):
            continue
        if task.id not in alive or situation.vouched_off(task.node):
            yield Release(task.id)


def released(task: Task, granted: Container[str]) -> Task | None:
    """The task without its cards; None when it came too late. One that is over remembers where it was."""
    if task.state not in FINISHED | QUEUED or is_clear(task, granted):
        return None
    queued = task.state in QUEUED
    return revise(task, gone=True, cards=() if queued else task.cards, node="" if queued else task.node)
