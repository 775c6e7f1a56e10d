"""Short ways to write snapshots: what waits, and what a plan says of it."""

from typing import Any

from berth.core.decide import Memo, decide
from berth.core.policies import load
from berth.model.plan import Place, Plan, Wait
from berth.model.snapshot import Candidate, NodeView, Snapshot
from berth.model.spec import Request

FIFO = load("fifo")


def wants(name: str, gpus: int = 1, *constraints: str, **fields: Any) -> Candidate:
    """A waiting task; its rank is the number in its name ("j3" is served third)."""
    base = {
        key: fields.pop(key) for key in ("task", "owns", "home", "blocked", "blocked_message", "rank") if key in fields
    }
    request = fields.pop("request", None) or Request(gpus=gpus, constraints=constraints, **fields)
    rank = (0, float(name.lstrip("j").partition(".")[0]), 0, 1)
    return Candidate(**{"task": f"{name}.1", "job": name, "name": "train", "request": request, "rank": rank, **base})


def snap(nodes: list[NodeView], *waiting: Candidate) -> Snapshot:
    """A snapshot at time 0."""
    return Snapshot(0.0, tuple(nodes), waiting)


def plan(nodes: list[NodeView], *waiting: Candidate, memo: Memo | None = None) -> Plan:
    """What is decided, first come."""
    return decide(snap(nodes, *waiting), FIFO, memo)


def placed(found: Plan) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Where each job was placed, and the indices of its cards (as build.card names them)."""
    return {place.task.partition(".")[0]: (place.node, _indices(place)) for place in found.places}


def waits(found: Plan) -> dict[str, Wait]:
    """What each waiting job was told."""
    return {wait.task.partition(".")[0]: wait for wait in found.waits}


def reasons(found: Plan) -> dict[str, str]:
    """The token that each waiting job was told."""
    return {name: wait.reason for name, wait in waits(found).items()}


def _indices(place: Place) -> tuple[int, ...]:
    return tuple(int(share.card.rpartition("-")[2]) for share in place.shares)
