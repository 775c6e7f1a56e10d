"""The simulated engine: slots and runs in memory, played by the clock it was given; honest about versions and ends."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from berth.dockerapi import marking, shapes
from berth.engines.placing_nothing import PlacesNothing
from berth.engines.simulated import refusals
from berth.engines.simulated.journal import Journal
from berth.engines.simulated.records import Labels, Run, Slot
from berth.engines.simulated.script import World, play
from berth.engines.simulated.state import State, ended
from berth.model.errors import Problem
from berth.model.image import RegistryAnswer
from berth.model.job import Network, Stack
from berth.model.launch import Handle, Launch
from berth.model.node import Node
from berth.model.seen import Observed, SeenNode
from berth.model.simulate import EVERY_NODE, SimulatedNode
from berth.model.spec import Pinned, TaskSpec
from berth.ports import Capabilities, Clock, EngineIdentity, LogLine

TERMINATED = 143
ONLY_NODE = "node1"
CPU_NANO = 64 * 10**9
MEMORY_BYTES = 512 * 2**30
FOLLOW_S = 0.5
VERSION = "simulated"


class SimulatedEngine(PlacesNothing):
    """Nodes that exist only here. See `ports.Engine` for what each call promises; `script` for what commands do.

    Time comes from the clock alone, so that a virtual one plays hours in a moment and always in the same way.
    """

    name = "simulated"
    capabilities = Capabilities(slot_objects=True, node_labels=True, hints_all=True)

    def __init__(self, nodes: Sequence[SimulatedNode], clock: Clock, path: Path | None = None) -> None:
        """Nodes by name (one when there is none); what runs is kept in the file `path`, if one is given."""
        self._names = [node.node for node in nodes if node.node != EVERY_NODE] or [ONLY_NODE]
        self._clock = clock
        self._state = State(self._names, Journal(path))
        self._shown = -1
        self._seen: Observed | None = None
        self._bells: set[asyncio.Event] = set()
        self._open = False

    files = None
    """It has no store of secrets: Berth keeps them."""

    async def open(self) -> EngineIdentity:
        """Take up what ran before."""
        self._state.load(self._clock.now())
        self._open = True
        key = hashlib.sha256("\n".join(self._names).encode()).hexdigest()[:16]
        return EngineIdentity(id=f"simulated-{key}", version=VERSION)

    async def close(self) -> None:
        """Leave; what runs is found again by the next `open` on the same file."""
        self._open = False
        self._ring()
        self._state.close()

    async def claim(self, cluster: str, now: float) -> str:  # noqa: ARG002
        """Nothing to claim: it lives in this process."""
        return ""

    async def observe(self) -> Observed:
        """The same value again while nothing changed."""
        began = self._clock.monotonic()
        state = self._state
        state.settle(self._clock.now())
        if self._seen is None or self._shown != state.touched:
            self._shown = state.touched
            self._seen = Observed(
                began=began,
                ended=began,
                nodes=tuple(map(_seen_node, state.labels.values())),
                lives=tuple(state.lives.values()),
                objects=tuple(state.objects.values()),
            )
        return msgspec.structs.replace(self._seen, began=began, ended=self._clock.monotonic())

    async def changes(self) -> AsyncIterator[str]:
        """A word for each call that changed something, and for each end of a run."""
        bell = asyncio.Event()
        self._bells.add(bell)
        try:
            while self._open:
                await self._wait(bell)
                bell.clear()
                self._state.settle(self._clock.now())
                if self._open:
                    yield "changed"
        finally:
            self._bells.discard(bell)

    async def problems(self, spec: TaskSpec, networks: tuple[Network, ...]) -> tuple[Problem, ...]:  # noqa: ARG002
        """Nothing is mounted or joined, so nothing is missing."""
        return ()

    async def pin(self, image: str, auth: str) -> Pinned:  # noqa: ARG002
        """Nothing is fetched here, so nothing is pinned."""
        return Pinned()

    async def image(self, name: str, auth: str) -> RegistryAnswer:  # noqa: ARG002
        """Nothing is fetched here, so there is nobody to ask."""
        return RegistryAnswer()

    async def ensure_stack(self, stack: Stack) -> None:
        """There are no networks here."""

    async def remove_stack(self, stack: Stack) -> None:
        """There are no networks here."""

    async def prepare(self, launch: Launch) -> Handle:
        """Make the slot's object."""
        waiting = msgspec.structs.replace(launch, attempt=0, node=None, cards=())
        found = self._state.named(launch.name)
        return _handle(self._same(found, waiting) if found else self._put_slot(waiting))

    async def start(self, launch: Launch) -> Handle:
        """Start the attempt by the slot's version, or with a new slot when the launch has no handle."""
        slot = self._slot_for(launch)
        if slot and slot.attempt == launch.attempt and slot.task == launch.task:
            return _handle(slot)
        node = launch.node.engine_id if launch.node else ""
        if node not in self._state.labels:
            raise refusals.no_node(node, self._names)
        for run in self._state.runs_of(slot.id) if slot else ():
            self._end(run)
        made = self._put_slot(launch, slot.id if slot else "")
        self._begin(launch, made)
        return _handle(made)

    async def stop(self, handle: Handle, grace_s: float | None) -> None:  # noqa: ARG002 - ends at once
        """End the run with 143, as TERM does; the slot stays."""
        run = self._run_of(handle)
        if run:
            self._end(run)

    async def remove(self, handle: Handle) -> None:
        """Forget run and slot."""
        run = self._run_of(handle)
        slot = handle.object_id or (run.slot if run else "")
        for key in (*(run.id for run in self._state.runs_of(slot)), slot):
            self._state.drop(key)
        self._ring()

    async def logs(self, handle: Handle, since: float, follow: bool) -> AsyncIterator[LogLine]:
        """What the command printed so far, and with `follow` what it prints until it ends."""
        run = self._run_of(handle)
        if run is None:
            raise refusals.gone(handle.engine_id or handle.object_id)
        for line in run.script.lines:
            at = run.started_at + line.after_s
            if not await self._reached(run.id, at, follow):
                return
            if at > since:
                yield LogLine(at, "stdout", line.text)
        while follow and self._running(run.id):
            await self._clock.sleep(FOLLOW_S)

    async def write_labels(self, node: Node, put: dict[str, str], drop: tuple[str, ...]) -> int:
        """Compare-and-swap on the node's version."""
        there = self._state.labels.get(node.engine_id)
        if there is None:
            raise refusals.no_node(node.engine_id, self._names)
        if there.version != node.engine_version:
            raise refusals.stale(f"Node {node.name}")
        kept = {key: value for key, value in there.labels.items() if key not in drop}
        self._put(Labels(there.node, there.version + 1, {**kept, **put}))
        return there.version + 1

    def _slot_for(self, launch: Launch) -> Slot | None:
        """The slot that this start may change, or has changed already; None: it is to be made."""
        if launch.handle is None or not launch.handle.object_id:
            found = self._state.named(launch.name)
            return self._same(found, launch) if found else None
        found = self._state.slots.get(launch.handle.object_id)
        if found is None:
            raise refusals.gone(launch.name)
        if found.version != launch.handle.object_version:
            return self._same(found, launch)
        return found

    def _same(self, found: Slot, launch: Launch) -> Slot:
        if found.task != launch.task:
            raise refusals.name_taken(launch.name)
        if found.attempt != launch.attempt:
            raise refusals.stale(f"The slot {launch.name}, at attempt {found.attempt},")
        return found

    def _put_slot(self, launch: Launch, key: str = "") -> Slot:
        version = self._state.next_version()
        slot = Slot(
            id=key or f"{launch.name}.{version}",
            name=launch.name,
            version=version,
            task=launch.task,
            job=launch.job.id,
            attempt=launch.attempt,
            labels=marking.object_labels(launch),
            spec=launch.spec,
            node=launch.node.engine_id if launch.node else "",
        )
        self._put(slot)
        return slot

    def _begin(self, launch: Launch, slot: Slot) -> None:
        lines = shapes.environment(launch, shapes.filler(launch))
        env = dict(line.partition("=")[::2] for line in lines if "=" in line)
        command = (*(launch.spec.command or ()), *(launch.spec.args or ()))
        run = Run(
            id=f"{slot.id}.{launch.attempt}",
            slot=slot.id,
            task=launch.task,
            job=launch.job.id,
            attempt=launch.attempt,
            node=slot.node,
            cards=tuple(card.uuid for card in launch.cards),
            labels=marking.container_labels(launch),
            script=play(command, World(env, launch.cards)),
            started_at=self._clock.now(),
        )
        self._put(run)

    def _end(self, run: Run) -> None:
        if self._running(run.id):
            self._put(ended(run, self._clock.now(), TERMINATED))

    def _put(self, entry: Slot | Run | Labels) -> None:
        self._state.put(entry, self._clock.now())
        self._ring()

    def _run_of(self, handle: Handle) -> Run | None:
        if handle.engine_id:
            return self._state.runs.get(handle.engine_id)
        runs = self._state.runs_of(handle.object_id)
        return runs[-1] if runs else None

    def _running(self, key: str) -> bool:
        run = self._state.runs.get(key)
        return run is not None and (run.ends_at is None or run.ends_at > self._clock.now())

    async def _reached(self, key: str, at: float, follow: bool) -> bool:
        """Wait for a moment of a run; False when it ends or is asked about before."""
        while at > self._clock.now():
            if not follow or not self._running(key):
                return False
            await self._clock.sleep(min(FOLLOW_S, at - self._clock.now()))
        run = self._state.runs.get(key)
        return run is None or run.ends_at is None or at <= run.ends_at

    async def _wait(self, bell: asyncio.Event) -> None:
        """Until the bell rings or the next run ends."""
        rung = asyncio.ensure_future(bell.wait())
        waits: set[asyncio.Future[Any]] = {rung}
        if (end := self._state.next_end()) is not None:
            waits.add(asyncio.ensure_future(self._sleep(max(0.0, end - self._clock.now()))))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    async def _sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    def _ring(self) -> None:
        for bell in self._bells:
            bell.set()


def _handle(slot: Slot) -> Handle:
    return Handle(object_id=slot.id, object_version=slot.version, node=slot.node, name=slot.name)


def _seen_node(labels: Labels) -> SeenNode:
    return SeenNode(
        engine_id=labels.node,
        hostname=labels.node,
        version=labels.version,
        role="worker",
        arch="x86_64",
        labels=labels.labels,
        cpu_nano=CPU_NANO,
        memory_bytes=MEMORY_BYTES,
    )
