"""Guarded changes: read, change, commit with the versions read, and again when somebody was faster."""

from collections.abc import Callable

from berth.control.context import Control
from berth.model.change import Batch, PutTask, Stale
from berth.model.job import Task

ATTEMPTS = 20


async def amend(
    control: Control, task_id: str, change: Callable[[Task], Task | None], extra: Callable[[Task], Batch] | None = None
) -> Task | None:
    """Commit `change(task)`; None from it means that there is nothing to do (any more). `extra(new)` goes with it.

    Raises Stale when the task changes faster than it can be written, DoubleGrant when `extra` takes too much.
    """
    for _ in range(ATTEMPTS):
        task = control.cluster.task(task_id)
        new = change(task) if task is not None else None
        if task is None or new is None:
            return None
        try:
            await control.writer.commit((PutTask(new, was=task.version),), extra(new) if extra else ())
        except Stale:
            continue
        return new
    raise Stale(f"task {task_id} changed {ATTEMPTS} times while it was written")


async def commit_whole(control: Control, make: Callable[[], Batch]) -> Batch:
    """Commit what `make` makes of the cluster as it is now, all or nothing: a crash never leaves half of a command.
    Returns what was committed.

    `make` is called again when something changed meanwhile. Raises Stale as `amend` does, and what `make` raises.
    """
    for _ in range(ATTEMPTS):
        try:
            batch = make()
            await control.writer.commit(batch)
        except Stale:
            continue
        return batch
    raise Stale(f"what is to be changed was changed {ATTEMPTS} times while it was written")
