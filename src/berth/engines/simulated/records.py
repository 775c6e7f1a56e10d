"""What the simulated engine knows of slots and runs; each is also a line of its journal."""

from typing import TypeAlias

import msgspec

from berth.engines.simulated.script import Script
from berth.model import marks
from berth.model.seen import Life, SlotObject
from berth.model.spec import TaskSpec


class Slot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="slot"):
    """A slot's object."""

    id: str
    name: str
    version: int
    task: str
    job: str
    attempt: int
    replicas: int = 1
    labels: dict[str, str] = {}
    spec: TaskSpec | None = None
    node: str = ""

    def seen(self) -> SlotObject:
        """As the loop sees it."""
        return SlotObject(
            id=self.id,
            name=self.name,
            version=self.version,
            task=self.task,
            job=self.job,
            attempt=self.attempt,
            replicas=self.replicas,
            labels=self.labels,
            constraints=(f"node.id=={self.node or marks.NOWHERE}",),
            digest=str(self.version),
            spec=self.spec,
        )


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="run"):
    """One attempt: started at `started_at` (seconds since the epoch), ended from outside at `stopped_at`."""

    id: str
    slot: str
    task: str
    job: str
    attempt: int
    node: str
    cards: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    script: Script
    started_at: float
    stopped_at: float | None = None
    exit_code: int = 0

    @property
    def ends_at(self) -> float | None:
        """When it ends, as far as is known now; None: not before it is stopped."""
        by_itself = None if self.script.seconds is None else self.started_at + self.script.seconds
        if self.stopped_at is None:
            return by_itself
        return self.stopped_at if by_itself is None else min(self.stopped_at, by_itself)

    def seen(self, now: float) -> Life:
        """As the loop sees it."""
        ends = self.ends_at
        over = ends is not None and ends <= now
        stopped = self.stopped_at is not None and ends == self.stopped_at
        return Life(
            task=self.task,
            job=self.job,
            attempt=self.attempt,
            node=self.node,
            state="exited" if over else "running",
            engine_id=self.id,
            container_id=self.id,
            object_id=self.slot,
            cards=self.cards,
            exit_code=(self.exit_code if stopped else self.script.exit_code) if over else None,
            started_at=self.started_at,
            ended_at=ends if over else None,
            labels=self.labels,
        )


class Labels(msgspec.Struct, frozen=True, tag="labels"):
    """What a node is labelled with, and its version."""

    node: str
    version: int
    labels: dict[str, str]


class Drop(msgspec.Struct, frozen=True, tag="drop"):
    """A slot or run is gone."""

    id: str


Entry: TypeAlias = Slot | Run | Labels | Drop
