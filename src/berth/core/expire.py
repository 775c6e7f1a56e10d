"""The pure twin of reclaim: whose cards are really free, because nothing of the task is left that could use them."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from berth.core.actions import Release
from berth.model.job import Task
from berth.model.lifecycle import FINISHED, QUEUED, is_clear
from berth.model.seen import Life, Observed


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """What expire may see. `granted` are tasks with something in the ledger; `settled` as in `diff.Facts`;
    `fenced_nodes` are vouched to be off.
    """

    observed: Observed
    granted: frozenset[str]
    settled: Mapping[str, float]
    cluster: str
    fenced_nodes: frozenset[str] = frozenset()


def expire(tasks: Iterable[Task], held: Held) -> Iterator[Release]:
    """A release for each task that needs its cards no more and of which the engine shows nothing alive."""
    alive = {life.task for life in held.observed.lives if _alive(life, held)}
    for task in tasks:
        if task.state not in FINISHED | QUEUED or is_clear(task, held.granted):
            continue
        if held.observed.began <= held.settled.get(task.id, 0.0):
            continue
        if task.id in alive and task.node not in held.fenced_nodes:
            continue
        yield Release(task.id)


def _alive(life: Life, held: Held) -> bool:
    return life.alive and life.labels.get("berth.cluster") == held.cluster
