"""Keeps the output of every attempt: follows it while it runs, and drains what is left when it has ended."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from berth.control.mirror.cluster import Cluster
from berth.model.errors import BerthError
from berth.model.launch import Handle
from berth.model.lifecycle import LIVE
from berth.ports import Clock, Engine, LogLine, LogStore

GATHER = 200
"""Lines written to disk at once at most."""
RETRY_S = (0.2, 2.0)
"""Pause before a broken stream is opened again: at first, and at most."""
DRAIN_S = 5.0
Listener = Callable[[str, int, Sequence[LogLine]], None]


class LogKeeper:
    """One follower per running attempt; what it already has is never asked for again. `done(trouble)` is called
    after each, trouble being "" or what kept the output from being kept."""

    def __init__(
        self, cluster: Cluster, engine: Engine, logs: LogStore, clock: Clock, done: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._done = done
        self._engine = engine
        self._logs = logs
        self._clock = clock
        self._followers: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._followed: Counter[str] = Counter()
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with lines (task, attempt, lines) once they are kept; returns how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def follow(self, task_id: str) -> None:
        """Begin to keep the output of the task's current attempt."""
        task = self._cluster.task(task_id)
        if task is None or (task_id, task.attempt) in self._followers:
            return
        handle = Handle(object_id=task.object_id, engine_id=task.engine_id, node=task.node)
        key = (task_id, task.attempt)
        follower = asyncio.get_running_loop().create_task(self._follow(key, handle), name=f"logs {task_id}")
        self._followers[key] = follower
        self._followed[task_id] += 1
        follower.add_done_callback(lambda _: self._gathered(key))

    def drain(self, task_id: str) -> None:
        """The attempt has ended: an attempt that nobody followed yet still has its output kept."""
        task = self._cluster.task(task_id)
        if task is not None and task.engine_id and (task_id, task.attempt) not in self._followers:
            self.follow(task_id)

    def _gathered(self, key: tuple[str, int]) -> None:
        self._followers.pop(key, None)
        self._followed[key[0]] -= 1
        if not self._followed[key[0]]:
            del self._followed[key[0]]
        self._done("")

    def draining(self, task_id: str) -> bool:
        """True while output of the task is still being gathered."""
        return task_id in self._followed

    async def close(self) -> None:
        """Stop following; what is missing is asked for at the next start."""
        for follower in list(self._followers.values()):
            follower.cancel()
        await asyncio.gather(*self._followers.values(), return_exceptions=True)

    async def _follow(self, key: tuple[str, int], handle: Handle) -> None:
        pause, longest = RETRY_S
        while True:
            runs = self._runs(key)
            try:
                limit = None if runs else DRAIN_S
                async with asyncio.timeout(limit):
                    await self._copy(key, handle, follow=runs)
            except (BerthError, TimeoutError):
                pass
            except OSError as error:
                self._done(f"output of task {key[0]} cannot be kept: {error}")
            if not runs:
                return
            if self._runs(key):
                await self._clock.sleep(pause)
                pause = min(2 * pause, longest)

    def _runs(self, key: tuple[str, int]) -> bool:
        task = self._cluster.task(key[0])
        return task is not None and task.attempt == key[1] and task.state in LIVE

    async def _copy(self, key: tuple[str, int], handle: Handle, follow: bool) -> None:
        since = await asyncio.to_thread(self._logs.last_time, *key)
        queue: asyncio.Queue[LogLine | None] = asyncio.Queue(GATHER)
        writer = asyncio.create_task(self._write(key, queue, since))
        try:
            async for line in self._engine.logs(handle, since, follow):
                await queue.put(line)
        finally:
            await queue.put(None)
            await writer

    async def _write(self, key: tuple[str, int], queue: asyncio.Queue[LogLine | None], since: float) -> None:
        """Write what has gathered; lines up to `since` are there already."""
        open_ = True
        while open_:
            lines = [await queue.get()]
            while not queue.empty():
                lines.append(queue.get_nowait())
            open_ = None not in lines
            fresh = [line for line in lines if line is not None and line.time > since]
            if fresh:
                await asyncio.to_thread(self._logs.append, *key, fresh)
                for listener in list(self._listeners):
                    listener(*key, fresh)
