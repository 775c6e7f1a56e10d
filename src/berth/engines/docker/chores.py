"""Small work that goes on after a call has returned (a stop's grace, a clean-up), ended with the engine."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from berth.model.errors import BerthError


class Chores:
    """Tasks that nobody has to wait for; a refusal by the daemon ends one quietly, the next look shows the outcome."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start one."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def close(self) -> None:
        """End all."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, BerthError):
            task.get_loop().call_exception_handler({"message": "a chore of the engine failed", "exception": error})
