"""Learns what is known of images: agents and registries are asked at once; what is good news is kept for a minute."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from berth.model.errors import EngineError
from berth.model.image import KnownImage, RegistryAnswer
from berth.model.registry import registry_of
from berth.model.wire import FindImage, FoundImage
from berth.ports import AgentPeer, Clock, Engine

FRESH_S = 60.0
NODES_S = 1.0
REGISTRY_S = 3.0
"""How long a submission waits for agents, and for a registry when no node has the image."""
BESIDE_S = 0.5
"""How long it waits for the registry when a node has the image."""
AT_ONCE = 8
"""Registries are asked so many questions at the same time."""
MOST = 10_000

K = TypeVar("K")
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Answers by key, the newest ones, each with the time (monotonic seconds) until which it is fresh."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def put(self, key: K, value: V) -> None:
        """Keep an answer that was given now."""
        self._kept[key] = self._clock.monotonic() + FRESH_S, value
        self._kept.move_to_end(key)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)

    def get(self, key: K) -> V | None:
        """The answer while it is fresh."""
        until, value = self._kept.get(key, (0.0, None))
        return value if self._clock.monotonic() < until else None


class Images:
    """Asks agents and registries about images. Only good news is kept ("this node has it", "the registry has it"), and
    who did not answer: a no may be untrue a moment later, when somebody has pushed the image or logged in. `peers` are
    the agents that are here, by node.
    """

    def __init__(self, engine: Engine, clock: Clock, peers: Mapping[str, AgentPeer]) -> None:
        self._engine, self._peers = engine, peers
        self._asked: dict[tuple[str, str], asyncio.Future[FoundImage]] = {}
        self._here: Kept[tuple[str, str], FoundImage] = Kept(clock)
        self._mute: Kept[str, bool] = Kept(clock)
        self._there: Kept[tuple[str, str], RegistryAnswer] = Kept(clock)
        self._silent: Kept[str, RegistryAnswer] = Kept(clock)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._work: set[asyncio.Task[RegistryAnswer]] = set()

    def heard(self, node: str, found: FoundImage) -> None:
        """An agent answered."""
        asked = self._asked.get((node, found.image))
        if asked is not None and not asked.done():
            asked.set_result(found)

    async def learn(self, wanted: Mapping[str, str]) -> dict[str, KnownImage]:
        """What is known of each image; beside it stands an X-Registry-Auth value ("": none). Waits at most 4 s.

        Nothing is known where the engine has no registries.
        """
        if not self._engine.capabilities.images:
            return {}
        known = await asyncio.gather(*(self._learn(image, auth) for image, auth in wanted.items()))
        return dict(zip(wanted, known, strict=True))

    async def close(self) -> None:
        """Ask nobody any more."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    async def _learn(self, image: str, auth: str) -> KnownImage:
        key = image, hashlib.sha256(auth.encode()).hexdigest()
        asked = self._begin(key, auth) if self._there.get(key) is None else None
        found = await self._nodes(image)
        here = frozenset(node for node, one in found.items() if one.here)
        answer = self._there.get(key) or await self._awaited(asked, image, BESIDE_S if here else REGISTRY_S)
        lacking = frozenset(node for node, one in found.items() if one.here is False)
        env = next((one.env for one in found.values() if one.here), answer.env)
        return KnownImage(here=here, lacking=lacking, registry=answer, env=env)

    def _begin(self, key: tuple[str, str], auth: str) -> asyncio.Task[RegistryAnswer]:
        task = asyncio.create_task(self._registry(key, auth), name=f"registry of {key[0]}")
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    async def _awaited(
        self, asked: "asyncio.Task[RegistryAnswer] | None", image: str, seconds: float
    ) -> RegistryAnswer:
        """The registry's answer, or that it takes its time: it goes on in the background, for the next one who asks."""
        if asked is not None:
            done, _ = await asyncio.wait({asked}, timeout=seconds)
            if done:
                return asked.result()
        return RegistryAnswer(registry=registry_of(image), verdict="unreachable", said="it has not answered yet")

    async def _registry(self, key: tuple[str, str], auth: str) -> RegistryAnswer:
        image, registry = key[0], registry_of(key[0])
        async with self._turns:
            if (silent := self._silent.get(registry)) is not None:
                return silent
            try:
                answer = await self._engine.image(image, auth)
            except EngineError as error:
                answer = RegistryAnswer(registry=registry, verdict="unreachable", said=str(error))
        if answer.verdict == "found":
            self._there.put(key, answer)
        if answer.verdict == "unreachable":
            self._silent.put(registry, answer)
        return answer

    async def _nodes(self, image: str) -> dict[str, FoundImage]:
        """The answers of the agents that are here, those that come in time."""
        peers = dict(self._peers)
        found = await _all(lambda node: self._node(node, peers[node], image), peers)
        return {node: one for node, one in found.items() if one is not None}

    async def _node(self, node: str, peer: AgentPeer, image: str) -> FoundImage | None:
        """One agent's answer; None where it gives none in time, or gave none to an earlier question."""
        key = (node, image)
        if (kept := self._here.get(key)) is not None:
            return kept
        if self._mute.get(node):
            return None
        found = await self._question(key, peer)
        if found is None:
            self._mute.put(node, value=True)
        elif found.here:
            self._here.put(key, found)
        return found

    async def _question(self, key: tuple[str, str], peer: AgentPeer) -> FoundImage | None:
        """Ask, or wait with those who asked the same."""
        asked = self._asked.get(key)
        if asked is not None:
            await asyncio.wait({asked}, timeout=NODES_S)
            return asked.result() if asked.done() and not asked.cancelled() else None
        asked = self._asked[key] = asyncio.get_running_loop().create_future()
        try:
            await peer.send(FindImage(image=key[1]))
            await asyncio.wait({asked}, timeout=NODES_S)
            return asked.result() if asked.done() else None
        finally:
            asked.cancel()
            del self._asked[key]


async def _all(ask: Callable[[str], Awaitable[V]], names: Mapping[str, object]) -> dict[str, V]:
    return dict(zip(names, await asyncio.gather(*(ask(name) for name in names)), strict=True))
