"""Wakes long polls and streams when the cluster has changed, and ends them all when the server stops."""

import asyncio
import contextlib
from collections.abc import Iterator

from berth.control.context import Control
from berth.model.change import Batch, Note, PutJob, PutTask

EVENTS = "*"


class Watch:
    """Bells by job id, and those of EVENTS that ring with every event. `closing` says that the server stops."""

    def __init__(self, control: Control) -> None:
        self._bells: dict[str, set[asyncio.Event]] = {}
        self.closing = False
        self._stop = control.listen(self._heard)

    @contextlib.contextmanager
    def bell(self, key: str) -> Iterator[asyncio.Event]:
        """A bell for this job (or EVENTS) while the block runs; take it before looking, so that nothing is missed."""
        bell = asyncio.Event()
        bells = self._bells.setdefault(key, set())
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if not bells and self._bells.get(key) is bells:
                del self._bells[key]

    def close(self) -> None:
        """Ring everywhere for the last time. Closing it again does nothing."""
        if self.closing:
            return
        self.closing = True
        self._stop()
        for key in list(self._bells):
            self._ring(key)

    def _heard(self, batch: Batch) -> None:
        if not self._bells:
            return
        for change in batch:
            match change:
                case PutTask(task=task):
                    self._ring(task.job)
                case PutJob(job=job):
                    self._ring(job.id)
                case Note():
                    self._ring(EVENTS)
                case _:
                    pass

    def _ring(self, key: str) -> None:
        for bell in self._bells.get(key, ()):
            bell.set()


async def ring_or(bell: asyncio.Event, seconds: float) -> bool:
    """Wait for the bell, at most so long; True when it rang. It is quiet again afterwards."""
    try:
        async with asyncio.timeout(seconds):
            await bell.wait()
    except TimeoutError:
        return False
    bell.clear()
    return True
