"""Learns what is known of images: agents and the registry are asked at once, and their answers kept for a minute."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping

from berth.model.errors import EngineError
from berth.model.image import KnownImage, RegistryAnswer
from berth.model.registry import registry_of
from berth.model.wire import FindImage, FoundImage
from berth.ports import AgentPeer, Clock, Engine

FRESH_S = 60.0
"""After this an answer is still used, and asked for again in the background."""
NODES_S = 1.0
REGISTRY_S = 3.0
"""How long a submission waits for agents, and for a registry when no node has the image."""
BESIDE_S = 0.5
"""How long it waits for the registry when a node has the image."""
MOST = 1000


class Images:
    """What is known of each image by name. `learn` asks; `known` answers at once from what was learnt."""

    def __init__(self, engine: Engine, clock: Clock, peers: Mapping[str, AgentPeer]) -> None:
        self._engine, self._clock, self._peers = engine, clock, peers
        self._asked: dict[tuple[str, str], asyncio.Future[FoundImage]] = {}
        self._known: OrderedDict[str, KnownImage] = OrderedDict()
        self._learnt: dict[tuple[str, bool], float] = {}
        self._silent: dict[str, tuple[float, RegistryAnswer]] = {}
        self._work: set[asyncio.Task[object]] = set()

    def heard(self, node: str, found: FoundImage) -> None:
        """An agent answered."""
        asked = self._asked.get((node, found.image))
        if asked is not None and not asked.done():
            asked.set_result(found)

    def known(self, image: str) -> KnownImage:
        """What was learnt of the image; nothing is asked."""
        return self._known.get(image, KnownImage())

    async def learn(self, wanted: Mapping[str, str]) -> None:
        """Ask about images that were not asked about before, each with the X-Registry-Auth value beside it ("": none).

        What was learnt more than a minute ago is asked again in the background.
        """
        if self._engine.capabilities.images:
            await asyncio.gather(*(self._learn(image, auth) for image, auth in wanted.items()))

    async def close(self) -> None:
        """Ask nobody any more."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    async def _learn(self, image: str, auth: str) -> None:
        at = self._learnt.get((image, bool(auth)))
        if at is None or image not in self._known:
            await self._ask(image, auth)
        elif self._clock.monotonic() > at + FRESH_S:
            self._learnt[image, bool(auth)] = self._clock.monotonic()
            self._later(image, auth)

    def _later(self, image: str, auth: str) -> None:
        task = asyncio.create_task(self._ask(image, auth), name=f"image {image}")
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _ask(self, image: str, auth: str) -> None:
        registry = asyncio.create_task(self._registry(image, auth), name=f"registry of {image}")
        self._work.add(registry)
        registry.add_done_callback(self._work.discard)
        found = await self._nodes(image)
        here = {node for node, one in found.items() if one.here}
        done, _ = await asyncio.wait({registry}, timeout=BESIDE_S if here else REGISTRY_S)
        answer = registry.result() if done else _slow(image)
        lacking = frozenset(node for node, one in found.items() if one.here is False)
        env = next((one.env for one in found.values() if one.here), answer.env)
        self._keep(image, KnownImage(here=frozenset(here), lacking=lacking, registry=answer, env=env), auth, bool(done))

    def _keep(self, image: str, known: KnownImage, auth: str, whole: bool) -> None:
        """Keep what was learnt; what is not whole is asked again at the next submission, in the background."""
        self._known[image] = known
        self._known.move_to_end(image)
        self._learnt[image, bool(auth)] = self._clock.monotonic() - (0.0 if whole else FRESH_S)
        while len(self._known) > MOST:
            old, _ = self._known.popitem(last=False)
            self._learnt.pop((old, True), None)
            self._learnt.pop((old, False), None)

    async def _nodes(self, image: str) -> dict[str, FoundImage]:
        """The answers of the agents that are here, those that come in time."""
        peers = dict(self._peers)
        found = await asyncio.gather(*(self._node(node, peer, image) for node, peer in peers.items()))
        return {node: one for node, one in zip(peers, found, strict=True) if one is not None}

    async def _node(self, node: str, peer: AgentPeer, image: str) -> FoundImage | None:
        key = (node, image)
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = asyncio.get_running_loop().create_future()
            await peer.send(FindImage(image=image))
        await asyncio.wait({asked}, timeout=NODES_S)
        self._asked.pop(key, None)
        return asked.result() if asked.done() and not asked.cancelled() else None

    async def _registry(self, image: str, auth: str) -> RegistryAnswer:
        """The registry's answer. One that did not answer is not asked again by those who wait, for a minute."""
        registry, now = registry_of(image), self._clock.monotonic()
        until, last = self._silent.get(registry, (0.0, RegistryAnswer()))
        if now < until:
            return last
        try:
            answer = await self._engine.image(image, auth)
        except EngineError as error:
            answer = RegistryAnswer(registry=registry, verdict="unreachable", said=str(error))
        self._silent.pop(registry, None)
        if answer.verdict == "unreachable":
            self._silent[registry] = self._clock.monotonic() + FRESH_S, answer
        return answer


def _slow(image: str) -> RegistryAnswer:
    said = "it has not answered yet"
    return RegistryAnswer(registry=registry_of(image), verdict="unreachable", said=said)
