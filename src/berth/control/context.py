"""What every controller and command works with: the cluster, its writer, the engine, the clock, and the wake-ups."""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from berth.control.cluster import Cluster
from berth.control.writer import Writer
from berth.model.change import Batch, Note
from berth.model.event import Event
from berth.ports import Clock, Engine, LogStore, Store, Vendor


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about this server that do not change while it runs. `cluster_id` marks its objects on the engine."""

    cluster_id: str
    engine: str
    address: str = ""
    default_grace_s: float = 10.0


class Control:
    """One server's state and doors. `wake(kind)` runs a controller soon; `changed` fires after every commit."""

    def __init__(
        self, cluster: Cluster, store: Store, engine: Engine, clock: Clock, logs: LogStore, settings: Settings
    ) -> None:
        self.cluster = cluster
        self.engine = engine
        self.clock = clock
        self.logs = logs
        self.settings = settings
        self.vendors: Mapping[str, Vendor] = {}
        self.writer = Writer(store, cluster, self._committed)
        self.engine_trouble = ""
        self._bells: dict[str, asyncio.Event] = {}
        self._listeners: list[Callable[[Batch], None]] = []

    def note(self, kind: str, message: str, **about: str) -> Note:
        """An event of this moment; `about`: actor, job, task, node, card."""
        return Note(Event(kind=kind, message=message, time=self.clock.now(), **about))  # type: ignore[arg-type]

    def wake(self, *kinds: str) -> None:
        """Ask the named controllers to run: "place", "bind", "reconcile", "reclaim", "label", "observe"."""
        for kind in kinds:
            self.bell(kind).set()

    def bell(self, kind: str) -> asyncio.Event:
        """The bell that wakes a controller."""
        return self._bells.setdefault(kind, asyncio.Event())

    def listen(self, listener: Callable[[Batch], None]) -> Callable[[], None]:
        """Call `listener` with every committed batch, after the mirror has it; returns how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _committed(self, batch: Batch) -> None:
        for listener in list(self._listeners):
            listener(batch)
