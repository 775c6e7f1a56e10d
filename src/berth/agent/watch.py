"""Listens to the node's own Docker daemon: events of Berth's containers, and through `looker` what each one sees."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, cast

import msgspec

from berth.agent.images import find_image
from berth.agent.looker import KnownCards, Looker, Other
from berth.dockerapi.address import Address
from berth.dockerapi.client import Docker
from berth.dockerapi.events import DockerEvent
from berth.model import marks
from berth.model.errors import BerthError, Problem
from berth.model.wire import Action, Container, FoundImage, Saw, Up

log = logging.getLogger("berth.agent")
ACTIONS: tuple[Action, ...] = ("start", "die", "kill", "stop", "oom", "destroy")
CHECK_S = 20.0
RETRY_S = (0.5, 10.0)
AT_ONCE = 4
KEPT_EVENTS = 512


class Daemon(msgspec.Struct, frozen=True):
    """Who the daemon is: its id, its host's name, its Swarm node id ("" outside one), version and cgroup version."""

    id: str = ""
    hostname: str = ""
    swarm_node_id: str = ""
    version: str = ""
    cgroup: str = ""


class Hearer(NamedTuple):
    """Who hears of it. `say` takes each message; `renewed` is called when all was read anew, `changed` when only
    `others` (the containers that are not Berth's) did.
    """

    say: Callable[[Up], None]
    renewed: Callable[[], None]
    changed: Callable[[], None]


class Watch:
    """One daemon, for as long as `run` goes on; `cards` gives what the inventory knows at the moment.

    `known` is set once the daemon's name is (or that it is away), `read` once its containers are; no container is
    looked at before `inventoried` is set.
    """

    def __init__(self, address: Address, cards: Callable[[], KnownCards], hearer: Hearer) -> None:
        self.known = asyncio.Event()
        self.read = asyncio.Event()
        self.inventoried = asyncio.Event()
        self.facts = Daemon()
        self.saws: dict[str, Saw] = {}
        self.others: dict[str, Other] = {}
        self.alive: set[str] = set()
        self.problem: Problem | None = None
        self._docker = Docker(address)
        self._looker = Looker(self._docker, cards)
        self._say, self._renewed, self._changed = hearer
        self._killed_for_memory: set[str] = set()
        self._handled: deque[tuple[int, str, str]] = deque(maxlen=KEPT_EVENTS)
        self._looking: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What stands against watching: the daemon is away, or its containers cannot be looked into."""
        return tuple(problem for problem in (self.problem, self._looker.blind) if problem)

    async def run(self) -> None:
        """Follow the daemon, through its restarts, until cancelled."""
        pause = RETRY_S[0]
        while True:
            begun = time.monotonic()
            try:
                await self._follow()
            except BerthError as error:
                self._away(error.problems[0])
            except msgspec.MsgspecError as error:
                self._away(Problem(code="engine-away", message=f"The Docker daemon's answer makes no sense: {error}."))
            finally:
                await self._docker.close()
            pause = RETRY_S[0] if time.monotonic() - begun > RETRY_S[1] else min(pause * 2, RETRY_S[1])
            await asyncio.sleep(pause)

    async def find_image(self, name: str) -> FoundImage:
        """Whether the daemon has the image."""
        return await find_image(self._docker, name)

    async def look_at_all(self) -> None:
        """Look at every container again; nothing when the daemon is away, for then `run` does it later."""
        if self.problem is None and self.read.is_set():
            with suppress(BerthError):
                await self._read_all()

    async def _read_all(self) -> None:
        """Look at every container that runs; forget those that do not. Raises EngineError."""
        listed = msgspec.json.decode(await self._docker.read("/containers/json"), type=list[dict[str, Any]])
        self.alive = {entry["Id"] for entry in listed}
        self.saws = {container: saw for container, saw in self.saws.items() if container in self.alive}
        self.others = {container: other for container, other in self.others.items() if container in self.alive}
        await asyncio.gather(*(self._look(container) for container in sorted(self.alive)))

    async def _follow(self) -> None:
        await self._docker.open()
        await self._identify()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen())
                group.create_task(self._check())
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            for task in self._looking:
                task.cancel()

    async def _identify(self) -> None:
        info = msgspec.json.decode(await self._docker.read("/info"), type=dict[str, Any])
        found = Daemon(
            id=str(info.get("ID") or ""),
            hostname=str(info.get("Name") or ""),
            swarm_node_id=str((info.get("Swarm") or {}).get("NodeID") or ""),
            version=str(info.get("ServerVersion") or ""),
            cgroup=str(info.get("CgroupVersion") or ""),
        )
        changed, self.facts = found != self.facts, found
        self.known.set()
        if changed and self.read.is_set():
            self._renewed()

    async def _check(self) -> None:
        """Notice a daemon that no longer answers although its stream is open, and a node that joins a Swarm."""
        while True:
            await asyncio.sleep(CHECK_S)
            await self._identify()

    async def _listen(self) -> None:
        filters = {"type": ["container"], "event": list(ACTIONS)}
        since = _stamp(self._handled[-1][0]) if self._handled else None
        async with self._docker.stream("/events", {"filters": filters, "since": since}) as body:
            await self.inventoried.wait()
            await self._read_all()
            self.problem = None
            self.read.set()
            self._renewed()
            async with aclosing(_lines(body)) as lines:
                async for line in lines:
                    self._event(msgspec.json.decode(line, type=DockerEvent))
        raise BerthError.of("engine-away", "The Docker daemon ended its stream of events.")

    def _event(self, event: DockerEvent) -> None:
        container, mark = event.actor.id, (event.at_ns, event.action, event.actor.id)
        if mark in self._handled:
            return
        self._handled.append(mark)
        if event.action == "oom":
            self._killed_for_memory.add(container)
        if marks.TASK in event.actor.attributes:
            self._say(_told(event, container in self._killed_for_memory))
        if event.action == "start":
            self.alive.add(container)
            self._look_soon(container)
        elif event.action == "die":
            self._ended(container)

    def _ended(self, container: str) -> None:
        self.alive.discard(container)
        self._killed_for_memory.discard(container)
        self.saws.pop(container, None)
        if self.others.pop(container, None):
            self._changed()

    def _look_soon(self, container: str) -> None:
        task = asyncio.create_task(self._look(container))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _look(self, container: str) -> None:
        async with self._slots:
            try:
                found = await self._looker.see(container)
            except (BerthError, msgspec.MsgspecError) as error:
                log.info("container %.12s could not be looked at: %s", container, error)
                return
        if isinstance(found, Saw):
            if container in self.alive:
                self.saws[container] = found
            self._say(found)
        elif found and container in self.alive and self.others.get(container) != found:
            self.others[container] = found
            self._changed()

    def _away(self, problem: Problem) -> None:
        if self.problem is None:
            log.warning("%s", problem.message)
            hint = problem.hint or "Check that dockerd runs and that the agent may open its socket."
            self.problem = Problem(code="engine-away", message=problem.message, hint=hint)
            self._renewed()
        self.known.set()
        self.read.set()


async def _lines(body: Any) -> AsyncGenerator[bytes, None]:
    """Whole lines of a stream, however long they are (an event carries all labels of its container)."""
    rest = b""
    async for chunk in body.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line


def _told(event: DockerEvent, oom: bool) -> Container:
    words = event.actor.attributes
    return Container(
        action=cast(Action, event.action),
        task=words[marks.TASK],
        attempt=marks.attempt_of(words),
        container=event.actor.id,
        oom=oom,
    )


def _stamp(at_ns: int) -> str:
    return f"{at_ns // 10**9}.{at_ns % 10**9:09d}"


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
