"""Engine calls under way: never two for one slot, and the moment at which each slot's last call was over."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Container, Coroutine, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from weakref import WeakValueDictionary

from berth.model.errors import BerthError
from berth.ports import Clock

AT_ONCE = 8
"""Engine calls for slots under way at the same time."""
FORGET_ABOVE = 10_000
"""How many slots are remembered before those that are over are forgotten."""


class Calls:
    """`settled[task]` is the monotonic time at which the slot's last call was over, infinity while one is under way.

    `done(trouble)` is called after each; trouble is "" or what the engine said. `idle` is set but for `holding`.
    """

    def __init__(self, clock: Clock, done: Callable[[str], None], open_tasks: Container[str]) -> None:
        self._clock = clock
        self._done = done
        self._open = open_tasks
        self.settled: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._holders = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def busy(self, task_id: str) -> bool:
        """True while a call for this slot is under way."""
        return self.settled.get(task_id) == math.inf

    def run(self, task_id: str, call: Callable[[], Awaitable[None]]) -> bool:
        """Begin the call in the background unless one is under way for the slot."""
        if self.busy(task_id):
            return False
        self.settled[task_id] = math.inf
        self.spawn(self._guarded(task_id, call), f"bind {task_id}")
        return True

    @contextmanager
    def during(self, key: str) -> Iterator[None]:
        """A call that its caller waits for: looks that begin before it is over prove nothing about `key`.

        Within `holding` or `run` it is over when that is.
        """
        if self.busy(key):
            yield
            return
        self.settled[key] = math.inf
        try:
            yield
        finally:
            self.settled[key] = self._clock.monotonic()
            self._done("")

    @contextmanager
    def holding(self, keys: Iterable[str]) -> Iterator[None]:
        """As `during`, for several: what is called in the background begins nothing for them meanwhile."""
        self._holders += 1
        self.idle.clear()
        try:
            with ExitStack() as held:
                for key in keys:
                    held.enter_context(self.during(key))
                yield
        finally:
            self._holders -= 1
            if not self._holders:
                self.idle.set()

    def alone(self, key: str) -> asyncio.Lock:
        """Two calls for `key` that must not overlap take turns."""
        return self._alone.setdefault(key, asyncio.Lock())

    def spawn(self, work: Coroutine[object, object, None], name: str) -> None:
        """Run something in the background and keep hold of it."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Let calls that are under way come to their end, for a moment; then drop them."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _guarded(self, task_id: str, call: Callable[[], Awaitable[None]]) -> None:
        trouble = ""
        try:
            async with self._slots:
                await call()
        except BerthError as error:
            trouble = str(error)
        finally:
            self.settled[task_id] = self._clock.monotonic()
            if len(self.settled) > FORGET_ABOVE:
                self._forget()
            self._done(trouble)

    def _forget(self) -> None:
        for task_id in [key for key in self.settled if key not in self._open]:
            if not self.busy(task_id):
                del self.settled[task_id]
