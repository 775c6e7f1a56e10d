"""The one writer: gathers batches that arrive together into one commit in its own thread, then mirrors them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from berth.control.mirror.cluster import Cluster
from berth.control.outdated import outdated
from berth.model.change import Batch
from berth.ports import Store, StoreBroken

T = TypeVar("T")
GROUP = 500
"""At most this many batches in one transaction."""


class Writer:
    """Serialises all access to the store; a commit returns once it is on disk and mirrored in the cluster.

    `lost` is set when nobody can tell whether a commit was kept: the mirror is worthless, the server must end.
    """

    def __init__(self, store: Store, cluster: Cluster, notify: Callable[[Batch], None]) -> None:
        self._store = store
        self._cluster = cluster
        self._notify = notify
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._queue: list[tuple[Batch, asyncio.Future[None]]] = []
        self._running: asyncio.Task[None] | None = None
        self.broken: BaseException | None = None
        self.lost = asyncio.Event()

    async def commit(self, *changes: Batch | None) -> None:
        """Commit the given batches as one; raises Stale, DoubleGrant, Superseded, or what the store raised."""
        batch = tuple(change for part in changes if part for change in part)
        if not batch:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((batch, future))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._drain(), name="store-writer")
        await future

    async def read(self, query: Callable[[Store], T]) -> T:
        """Run a query on the store in the writer's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, query, self._store)

    async def close(self) -> None:
        """Finish what is queued and end the thread."""
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.shutdown)

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue:
            group, self._queue = self._next(), self._queue[GROUP:]
            if not group:
                continue
            try:
                batches = [batch for batch, _ in group]
                results = await loop.run_in_executor(self._thread, self._store.commit, batches)
            except Exception as error:  # noqa: BLE001 - every waiting caller gets it
                self.broken = error
                if isinstance(error, StoreBroken) and error.unknown:
                    self.lost.set()
                _fail(group, error)
                continue
            self.broken = None
            for (batch, future), problem in zip(group, results, strict=True):
                self._finish(batch, future, problem)

    def _next(self) -> list[tuple[Batch, asyncio.Future[None]]]:
        """The next commit, without what is outdated already."""
        group = self._queue[:GROUP]
        refused = outdated(self._cluster, [batch for batch, _ in group])
        for (_, future), problem in zip(group, refused, strict=True):
            if problem is not None and not future.done():
                future.set_exception(problem)
        return [one for one, problem in zip(group, refused, strict=True) if problem is None]

    def _finish(self, batch: Batch, future: asyncio.Future[None], problem: Exception | None) -> None:
        if problem is None:
            self._cluster.apply(batch)
            self._notify(batch)
        if future.done():
            return
        if problem is None:
            future.set_result(None)
        else:
            future.set_exception(problem)


def _fail(group: list[tuple[Batch, asyncio.Future[None]]], error: Exception) -> None:
    for _, future in group:
        if not future.done():
            future.set_exception(error)
