"""Listens to the daemon's events through reconnects and hands each on: a hint to `changes`, a fact to who asks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

import msgspec

from berth.dockerapi.client import Docker
from berth.model.errors import BerthError

FIRST_PAUSE_S = 0.2
LAST_PAUSE_S = 5.0
STEADY_S = 30.0


class Subject(msgspec.Struct, frozen=True, rename={"id": "ID", "attributes": "Attributes"}):
    """What an event is about: its id and attributes (a container's labels among them)."""

    id: str = ""
    attributes: dict[str, str] = {}


class DockerEvent(
    msgspec.Struct, frozen=True, rename={"kind": "Type", "action": "Action", "actor": "Actor", "at_ns": "timeNano"}
):
    """One event as the daemon tells it: "container" "die" and whom it befell, at nanoseconds since the epoch."""

    kind: str = ""
    action: str = ""
    actor: Subject = Subject()
    at_ns: int = 0


Hear = Callable[[DockerEvent | None], None]


class Ears:
    """A listener that lives as long as its engine. It calls `hear` with each event, with None after a gap."""

    def __init__(self, docker: Docker, kinds: Sequence[str], hear: Hear) -> None:
        """Listen for events of these kinds ("container", "service", "node")."""
        self._docker = docker
        self._query: Mapping[str, object] = {"filters": {"type": list(kinds)}}
        self._hear = hear
        self._task: asyncio.Task[None] | None = None
        self._waiting: set[asyncio.Event] = set()
        self._why: list[str] = []
        self._last = 0

    def open(self) -> None:
        """Start to listen."""
        self._task = asyncio.get_running_loop().create_task(self._listen())

    async def close(self) -> None:
        """Stop; those who iterate over `changes` come to their end."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        self.wake("closed")

    async def changes(self) -> AsyncIterator[str]:
        """A word for each burst of events: what happened last."""
        bell = asyncio.Event()
        self._waiting.add(bell)
        try:
            while self._task:
                await bell.wait()
                bell.clear()
                if self._task:
                    yield self._why[-1]
        finally:
            self._waiting.discard(bell)

    def wake(self, why: str) -> None:
        """Tell those who wait for changes."""
        self._why = [why]
        for bell in self._waiting:
            bell.set()

    async def _listen(self) -> None:
        pause = FIRST_PAUSE_S
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self._once()
            except BerthError as error:
                self.wake(str(error))
            pause = FIRST_PAUSE_S if loop.time() - began > STEADY_S else min(2 * pause, LAST_PAUSE_S)
            await asyncio.sleep(pause)

    async def _once(self) -> None:
        """One connection, until it breaks; what was missed meanwhile is asked for."""
        since = {"since": f"{self._last // 10**9}.{self._last % 10**9 + 1:09d}"} if self._last else {}
        async with self._docker.stream("/events", {**self._query, **since}) as reader:
            self._hear(None)
            self.wake("connected")
            rest = b""
            async for piece in reader.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._take(line)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            event = msgspec.json.decode(line, type=DockerEvent)
        except msgspec.MsgspecError:
            return
        self._last = max(self._last, event.at_ns)
        self._hear(event)
        self.wake(f"{event.kind} {event.action}")
