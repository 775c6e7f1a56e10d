"""Where the contract suite of engines runs: each bed gives an engine, its nodes, and what a person would type there."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import msgspec

from berth.dockerapi.address import Address
from berth.engines import load
from berth.model.card import Card
from berth.model.errors import EngineError
from berth.model.job import Job, Network, Stack
from berth.model.launch import CardMount, Handle, Launch
from berth.model.node import Node
from berth.model.seen import Life, Observed, SeenNode, SlotObject
from berth.model.simulate import parse_simulate
from berth.model.spec import NetworkUse, TaskSpec
from berth.ports import Engine
from tests.testbed.daemons import DockerHost, Variant
from tests.testbed.image import IMAGE
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

T = TypeVar("T")
CLUSTER = "contract"
PATIENCE_S = 20.0
HAS = {
    "simulated": {"slots", "node labels"},
    "docker": {"daemon", "no store"},
    "swarm": {"daemon", "services", "slots", "node labels"},
}
"""What a test can ask of a kind: a daemon that others reach too, services, an object per slot, node labels, and that it
has no store of secrets.
"""
_numbers = itertools.count(1)


class WallClock:
    """The machine's own clock."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Bed:
    """One engine with its nodes; `person` runs the docker CLI beside Berth, on the server's own daemon."""

    def __init__(self, kind: str, hosts: list[DockerHost], make: Callable[[], Engine]) -> None:
        self.kind = kind
        self.hosts = hosts
        self.make = make

    @property
    def real(self) -> bool:
        """True where a daemon can be spoken to beside Berth."""
        return bool(self.hosts)

    def person(self, *words: str) -> str:
        """What a person types on the server's own daemon."""
        return self.hosts[0].docker(*words)


@contextmanager
def simulated() -> Iterator[Bed]:
    """Three nodes in this process."""
    kind = load("simulated")
    nodes = parse_simulate("gpu-1=A100-SXM4-80GB:4,gpu-2=A10-24GB:2,gpu-3=A10-24GB:2")
    yield Bed("simulated", [], lambda: kind(nodes, WallClock()))


@contextmanager
def docker(lab: Lab, variant: Variant) -> Iterator[Bed]:
    """One Docker host."""
    with DockerHost(lab, "gpu-1", variant=variant) as host:
        kind = load("docker")
        yield Bed("docker", [host], lambda: kind(Address(host.url), WallClock()))


@contextmanager
def swarm(lab: Lab, variant: Variant) -> Iterator[Bed]:
    """A Swarm of three nodes."""
    with Swarm(lab, 3, variant=variant) as swarm:
        kind = load("swarm")
        yield Bed("swarm", swarm.nodes, lambda: kind(Address(swarm.manager.url), WallClock()))


class Desk:
    """One opened engine, with short words for what the tests do to it."""

    def __init__(self, bed: Bed, engine: Engine, nodes: dict[str, Node]) -> None:
        self.bed = bed
        self.engine = engine
        self.nodes = nodes

    @property
    def node(self) -> Node:
        """The node on which a test runs things: the server's own."""
        return next(iter(self.nodes.values()))

    @property
    def slots(self) -> bool:
        """True when slots have objects of their own."""
        return self.engine.capabilities.slot_objects

    def launch(self, *command: str, cards: int = 0, stack: str = "", **spec: Any) -> Launch:
        """A first attempt of a new job on this node."""
        name = f"job{next(_numbers)}"
        engine_name = f"{stack}_{name}" if stack else name
        wanted = TaskSpec(image=spec.pop("image", IMAGE), command=command or ("sleep", "600"), **spec)
        job = Job(id=f"id-{name}", name=engine_name, engine_name=engine_name, spec=wanted, stack=stack, user="ann")
        job = msgspec.structs.replace(job, service=name if stack else "")
        held = tuple(
            Card(uuid=f"GPU-{name}-{i}", node="", index=i, vendor="simulated", model="X") for i in range(cards)
        )
        return Launch(
            cluster=CLUSTER,
            job=job,
            task=f"{job.id}.1",
            slot=1,
            attempt=1,
            name=engine_name,
            spec=wanted,
            node=self.node,
            cards=held,
            mount=CardMount(env={"NVIDIA_VISIBLE_DEVICES": ",".join(card.uuid for card in held)} if held else {}),
        )

    async def look(self) -> Observed:
        """What the engine shows now."""
        return await self.engine.observe()

    async def until(self, true: Callable[[Observed], bool], seconds: float = PATIENCE_S) -> Observed:
        """Look until it is true."""
        async with asyncio.timeout(seconds):
            while not true(seen := await self.look()):
                await asyncio.sleep(0.1)
        return seen

    async def life(self, launch: Launch, state: str = "running", seconds: float = PATIENCE_S) -> Life:
        """The life of this attempt, once it is in this state."""
        seen = await self.until(lambda seen: any(life.state == state for life in lives(seen, launch)), seconds)
        return next(life for life in lives(seen, launch) if life.state == state)

    async def gone(self, launch: Launch) -> Observed:
        """The look that shows no container of this attempt that could hold a card."""
        return await self.until(lambda seen: all(life.state == "exited" for life in lives(seen, launch)))

    async def text(self, handle: Handle) -> str:
        """All output of an attempt that is over."""
        return "".join([line.text async for line in self.engine.logs(handle, 0.0, follow=False)])

    async def output(self, *command: str, **spec: Any) -> list[str]:
        """Run a command to its end and return the lines that it printed."""
        launch = self.launch(*command, **spec)
        await self.engine.start(launch)
        over = await self.life(launch, "exited")
        async with asyncio.timeout(PATIENCE_S):
            while not (text := await self.text(named(over))):
                await asyncio.sleep(0.1)
        return text.splitlines()


def lives(seen: Observed, launch: Launch) -> list[Life]:
    """What is seen of this attempt."""
    return [life for life in seen.lives if (life.task, life.attempt) == (launch.task, launch.attempt)]


def objects(seen: Observed, launch: Launch) -> list[SlotObject]:
    """The object of this slot, if there is one."""
    return [found for found in seen.objects if found.task == launch.task]


def named(life: Life) -> Handle:
    """The handle by which control names an attempt that it sees."""
    return Handle(object_id=life.object_id, engine_id=life.engine_id, node=life.node)


def code(error: BaseException) -> str:
    """The code of an engine's refusal."""
    assert isinstance(error, EngineError)
    return error.problems[0].code


def again(value: T, **changes: Any) -> T:
    """The same value with other fields."""
    return msgspec.structs.replace(value, **changes)


def only(found: list[T]) -> T | None:
    """The only one, or None."""
    assert len(found) <= 1
    return found[0] if found else None


def stack_of(launch: Launch, *networks: str) -> tuple[Launch, Stack]:
    """The launch in its stack's networks, under its service's name."""
    uses = tuple(NetworkUse(f"{launch.job.stack}_{name}", (launch.job.service,)) for name in networks)
    made = tuple(Network(name=use.name) for use in uses)
    spec = msgspec.structs.replace(launch.spec, networks=uses)
    return again(launch, spec=spec), Stack(name=launch.job.stack, networks=made)


def as_node(seen: SeenNode) -> Node:
    """A node as control keeps it."""
    return Node(
        name=seen.hostname,
        engine="",
        engine_id=seen.engine_id,
        engine_version=seen.version,
        hostname=seen.hostname,
        labels=seen.labels,
    )


@asynccontextmanager
async def desk_at(bed: Bed) -> AsyncIterator[Desk]:
    """Open an engine; at the end remove all that carries its mark."""
    engine = bed.make()
    await engine.open()
    try:
        seen = await engine.observe()
        ordered = sorted(map(as_node, seen.nodes), key=lambda node: node.name)
        yield Desk(bed, engine, {node.name: node for node in ordered})
        await _sweep(engine)
    finally:
        await engine.close()


async def _sweep(engine: Engine) -> None:
    seen = await engine.observe()
    for found in seen.objects:
        await engine.remove(Handle(object_id=found.id, name=found.name))
    for life in seen.lives:
        await engine.remove(named(life))
