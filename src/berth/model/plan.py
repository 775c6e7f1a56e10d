"""What a decision says: a value that can be printed, replayed, or thrown away."""

from typing import Literal

import msgspec

from berth.model.card import Share
from berth.model.errors import Problem

WaitReason = Literal[
    "free-cards", "behind", "no-match", "capacity", "cpu", "memory", "port", "volume", "image", "secret", "quota",
    "queue", "gang", "taint", "reservation", "dependency", "held", "window", "restart-delay", "node-silent", "fenced",
    "policy", "engine",
]  # fmt: skip


class Place(msgspec.Struct, frozen=True):
    """Give the task these shares of cards on this node."""

    task: str
    node: str
    shares: tuple[Share, ...] = ()


class Wait(msgspec.Struct, frozen=True):
    """Why the task waits: one token, one sentence, its place among those that wait (from 1), and if it never fits."""

    task: str
    reason: WaitReason
    message: str
    position: int
    never: bool = False


class Plan(msgspec.Struct, frozen=True):
    """All decisions of one pass, in the order in which they were made."""

    places: tuple[Place, ...] = ()
    waits: tuple[Wait, ...] = ()


class Refusal(msgspec.Struct, frozen=True):
    """One rule by which a node cannot take a task, in words."""

    rule: str
    message: str


class NodeRefusals(msgspec.Struct, frozen=True):
    """Why one node cannot take the task now; empty refusals: it could."""

    node: str
    refusals: tuple[Refusal, ...]


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer of `berth why`: INTERFACE's object of the same name.

    `expected_start` is seconds since the epoch or None; `would_start` names tasks that would start now.
    """

    job: str
    reason: str
    message: str
    position: int | None = None
    expected_start: float | None = None
    never: bool = False
    nodes: tuple[NodeRefusals, ...] = ()
    would_start: tuple[str, ...] = ()


class TaskPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What one task of a plan would do: `starts` now, waits, or never; `why` is a sentence when it does not start."""

    service: str
    slot: int
    starts: Literal["now", "waits", "never"]
    node: str = ""
    cards: tuple[str, ...] = ()
    why: str = ""


class JobPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a submit would do to one job; `note` says what there is to know beside that, such as a downtime."""

    name: str
    change: Literal["create", "update", "keep", "remove"]
    tasks: tuple[TaskPlan, ...] = ()
    note: str = ""


class PlanReport(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `--plan`: INTERFACE's object plan."""

    jobs: tuple[JobPlan, ...] = ()
    warnings: tuple[Problem, ...] = ()
