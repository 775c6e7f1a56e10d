"""The whole control on a real store and the simulated engine, moved step by step under a clock of the test's own."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from berth.control.commands import jobs as commands
from berth.control.commands import stacks
from berth.control.context import Control, Settings
from berth.control.inventory import put_inventory
from berth.control.loop import Loop
from berth.control.mirror.cluster import Cluster
from berth.control.rebuild import rebuild
from berth.core.invariants import broken_ledger
from berth.engines.simulated import SimulatedEngine
from berth.model.draft import Draft, LoadedStack
from berth.model.job import Job, Task
from berth.model.launch import Handle
from berth.model.simulate import parse_simulate
from berth.model.spec import Request, Restart, TaskSpec
from berth.model.token import Actor
from berth.ports import Store
from berth.store.logs_memory import MemoryLogs
from berth.vault import AesVault
from berth.vendors import detect, table

ADMIN = Actor(name="admin", role="admin")
SPEC = "n1=A100-SXM4-80GB:4,n2=A100-SXM4-80GB:4"
FOREVER = ("serve",)


class StepClock:
    """Time that only `pass_` moves; monotonic time also moves by being read, as any two looks differ in it."""

    def __init__(self) -> None:
        self._now = 1_700_000_000.0
        self._ticks = 0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        self._ticks += 1
        return self._now + self._ticks * 1e-6

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)

    def pass_(self, seconds: float) -> None:
        """Let time go by."""
        self._now += seconds


class Bench:
    """One server without its timers: `step` runs each controller once, `settle` until nothing is left to do."""

    def __init__(self, store: Store, engine: SimulatedEngine, clock: StepClock, cluster: str = "c1") -> None:
        self.clock = clock
        self.engine = engine
        settings = Settings(cluster_id=cluster, engine="simulated")
        self.control = Control(Cluster(store.load()), store, engine, clock, MemoryLogs(), settings)
        self.control.vendors = table()
        self.control.vault = AesVault(bytes(32))
        self.loop = Loop(self.control, print)
        self.released: Counter[str] = Counter()

    async def begin(self) -> None:
        """As `Loop.begin`, without the timers."""
        await self.loop.look()
        assert self.control.look is not None
        await rebuild(self.control, self.control.look)
        for node in list(self.control.cluster.nodes.values()):
            cards = detect("simulated", node.name, parse_simulate(SPEC), None).discover()
            await put_inventory(self.control, node, cards, agent="simulated")

    async def step(self) -> None:
        """One look, and each controller once."""
        await self.loop.look()
        await self.loop.reconciler.run()
        await self.called()
        await self.loop.reclaimer.run()
        await self.loop.placer.run()
        await self.called()
        self.check()

    async def settle(self, steps: int = 6) -> None:
        """Enough steps for everything that follows from what is there now."""
        for _ in range(steps):
            await self.step()

    async def called(self) -> None:
        """Wait until every engine call that is under way is over."""
        while under_way := list(self.control.calls._tasks):
            await asyncio.gather(*under_way)

    def check(self) -> None:
        """What must hold at every moment."""
        cluster = self.control.cluster
        grants = [(task, share) for task, held in cluster.ledger.grants.items() for share in held.values()]
        assert broken_ledger(cluster.cards.values(), cluster.ledger.rooms, grants) == []
        running = Counter(card for run in self.alive() for card in run.cards)
        assert [card for card, count in running.items() if count > 1] == []
        slots = Counter(run.task for run in self.alive())
        assert [slot for slot, count in slots.items() if count > 1] == []
        for job in cluster.jobs.values():
            left = {task.state for task in cluster.tasks_of(job.id)} if job.cancelled else set()
            assert left <= {"stopping", "unknown", "ended", "failed"}, f"{job.name} is cancelled and begins again"
        for run in self.alive():
            assert set(run.cards) <= cluster.ledger.held_by(run.task).keys(), f"{run.task} runs on cards that are free"

    def alive(self) -> list["Running"]:
        """What really runs, by the engine's own books."""
        now = self.clock.now()
        runs = self.engine._state.runs.values()
        return [Running(run.task, run.cards) for run in runs if run.ends_at is None or run.ends_at > now]

    async def submit(self, *command: str, gpus: int = 1, restart: Restart = Restart(), name: str = "train") -> Job:  # noqa: B008
        """A job of its own."""
        spec = TaskSpec(image="bb:1", command=command or FOREVER, request=Request(gpus=gpus), restart=restart)
        (job,) = await commands.submit(self.control, ADMIN, [Draft(name=name, spec=spec)])
        return job

    async def deploy(self, name: str, gpus: int = 1, **replicas: int) -> list[Job]:
        """A stack whose services each have one card (or so many) per replica."""
        spec = TaskSpec(image="bb:1", command=FOREVER, request=Request(gpus=gpus), restart=Restart(condition="any"))
        drafts = tuple(Draft(name=one, service=one, spec=spec, replicas=n) for one, n in replicas.items())
        return await stacks.deploy(self.control, ADMIN, name, LoadedStack(drafts=drafts))

    async def kill(self, task: Task) -> None:
        """A person ends what runs for a task, beside Berth."""
        await self.engine.stop(Handle(engine_id=task.engine_id, object_id=task.object_id), None)

    async def take_away(self, task: Task) -> None:
        """A person removes the slot's object with the engine's own tools."""
        await self.engine.remove(Handle(object_id=task.object_id))

    def task(self, job: Job, slot: int = 1) -> Task:
        """A slot as it is now."""
        return self.control.cluster.tasks[job.id][slot]

    def free(self) -> int:
        """How many cards the ledger calls free."""
        return sum(view.free_cards for view in self.control.views.nodes())

    async def events(self, kind: str, job: Job | None = None) -> int:
        """How many such events the store has."""
        found = await self.control.writer.read(lambda store: store.events(0, 100_000))
        return sum(event.kind == kind and (job is None or event.job == job.id) for event in found)


class Running:
    """A run that is going on."""

    def __init__(self, task: str, cards: tuple[str, ...]) -> None:
        self.task = task
        self.cards = cards


@asynccontextmanager
async def bench(
    store: Store, engine: SimulatedEngine | None = None, clock: StepClock | None = None
) -> AsyncIterator[Bench]:
    """A server that has begun on this store (opened here), with eight cards on two nodes."""
    clock = clock or StepClock()
    engine = engine or SimulatedEngine(parse_simulate(SPEC), clock)
    store.open()
    await engine.open()
    found = Bench(store, engine, clock)
    try:
        await found.begin()
        yield found
    finally:
        await found.loop.end()
        await found.control.writer.close()
        store.close()
