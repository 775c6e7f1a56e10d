"""What every controller and command works with: the cluster, its writer, the engine, the clock, and the wake-ups."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

import msgspec

from berth.control.calls import Calls
from berth.control.images import Images
from berth.control.keeper import LogKeeper
from berth.control.mirror.cluster import Cluster
from berth.control.views import Views
from berth.control.writer import Writer
from berth.core.policies import load
from berth.model.bounded import Bounded
from berth.model.card import Use
from berth.model.change import Batch, Note
from berth.model.event import Event
from berth.model.seen import Observed, SlotObject
from berth.ports import AgentPeer, Clock, Engine, LogStore, Store, Vault, Vendor

POLICY = "fifo"
"""By which policy who waits is served, whoever asks: the decision, a plan, why."""


LOOK_S = 5.0


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about this server that do not change while it runs. `cluster_id` marks its objects on the engine."""

    cluster_id: str
    engine: str
    address: str = ""


class Control:
    """One server's state and doors. `wake(kind)` runs a controller soon; `listen` hears of every commit.

    `look` is the last whole look at the engine. `credentials` are registry credentials by job id, in memory only.
    `filing` is held from the look whether the name of a secret or config is free until it is taken, or removed.
    `peers` are the agents that are here, by node. `coming_names` are the engine names of jobs whose commit is under
    way. `agent_foreign` are the reasons that agents give for cards that others use, `killed` the containers that a
    person was seen to signal, `oom` those that the kernel ended for want of memory. `host_groups` are this host's gids
    by group name. `decisions` counts passes of the decision since the start, `decisions_s` the seconds that they took.
    """

    def __init__(
        self, cluster: Cluster, store: Store, engine: Engine, clock: Clock, logs: LogStore, settings: Settings
    ) -> None:
        self.cluster = cluster
        self.engine = engine
        self.clock = clock
        self.logs = logs
        self.settings = settings
        self.writer = Writer(store, cluster, self._committed)
        self.calls = Calls(clock, self._called, cluster.work.open)
        self.keeper = LogKeeper(cluster, engine, logs, clock, self._gathered)
        self.views = Views(cluster)
        self.peers: dict[str, AgentPeer] = {}
        self.images = Images(engine, clock, self.peers)
        self.policy = load(POLICY)
        self.vendors: Mapping[str, Vendor] = {}
        self.vault: Vault
        self.look: Observed | None = None
        self.engine_trouble = ""
        self.looked = asyncio.Event()
        self.turn = asyncio.Lock()
        self.filing = asyncio.Lock()
        self.credentials: dict[str, str] = {}
        self.coming_names: set[str] = set()
        self._deploying: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.host_groups: dict[str, int] = {}
        self.uses: dict[str, Use] = {}
        self.killed, self.oom = Bounded(), Bounded()
        self.agent_foreign: dict[str, str] = {}
        self._submitted = max(((job.submitted_at, job.seq) for job in cluster.jobs.values()), default=(0.0, 0))
        self.decisions = 0
        self.decisions_s = 0.0
        self._bells: dict[str, asyncio.Event] = {}
        self._listeners: list[Callable[[Batch], None]] = []

    def note(self, kind: str, message: str, actor: str = "berth", **about: str) -> Note:
        """An event of this moment; `about`: job, task, node, card."""
        event = Event(kind=kind, message=message, time=self.clock.now(), actor=actor)
        return Note(msgspec.structs.replace(event, **about))

    def submission(self) -> tuple[float, int]:
        """The time (seconds since the epoch) and number of a new job: after those of all others, even where the
        clock stands still or goes back.
        """
        time, number = self._submitted
        now = self.clock.now()
        self._submitted = (now, 0) if now > time else (time, number + 1)
        return self._submitted

    def wake(self, *kinds: str) -> None:
        """Ask the named controllers to run: "place", "reconcile", "reclaim", "label", "observe", "alarm"."""
        for kind in kinds:
            self.bell(kind).set()

    def bell(self, kind: str) -> asyncio.Event:
        """The bell that wakes a controller."""
        return self._bells.setdefault(kind, asyncio.Event())

    def trouble(self, what: str) -> None:
        """Keep what the engine last complained about, for `why` and /readyz."""
        self.engine_trouble = what

    async def refresh(self) -> None:
        """Wait until nodes and cards are in line with a look that began after this call, at most 5 s: an engine that
        does not answer is told of by the calls that follow.
        """
        asked = self.clock.monotonic()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                while self.look is None or self.look.began < asked:
                    self.looked.clear()
                    self.wake("observe")
                    await self.looked.wait()

    def object_of(self, task_id: str) -> SlotObject | None:
        """The slot's object as the last look showed it."""
        seen = self.look.objects if self.look is not None else ()
        return next((found for found in seen if found.task == task_id and not found.native), None)

    def deploying(self, stack: str) -> asyncio.Lock:
        """Two deployments of one stack take turns, or both would create its services."""
        return self._deploying.setdefault(stack, asyncio.Lock())

    def listen(self, listener: Callable[[Batch], None]) -> Callable[[], None]:
        """Call `listener` with every committed batch, after the mirror has it; returns how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _called(self, trouble: str) -> None:
        if trouble:
            self.trouble(trouble)
        self.wake("observe")

    def _gathered(self, trouble: str) -> None:
        if trouble:
            self.trouble(trouble)
        self.wake("reconcile")

    def _committed(self, batch: Batch) -> None:
        for listener in list(self._listeners):
            listener(batch)
