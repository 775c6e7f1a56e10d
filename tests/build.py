"""Builders of model values for tests: every field has a sensible default, so a test names only what it is about."""

from collections.abc import Iterable
from typing import Any

from berth.model.card import WHOLE, Card, Room, Share
from berth.model.job import Job, Task
from berth.model.node import Node
from berth.model.seen import Life, Observed, SlotObject
from berth.model.snapshot import CardView, NodeView
from berth.model.spec import Request, Restart, TaskSpec

CLUSTER = "c1"


def card(node: str = "gpu-1", index: int = 0, **fields: Any) -> Card:
    """A card whose uuid tells its node and index."""
    base = {"uuid": f"GPU-{node}-{index}", "vendor": "nvidia", "model": "A100-SXM4-80GB", "memory_mib": 81920}
    return Card(node=node, index=index, **{**base, **fields})


def node(name: str = "gpu-1", **fields: Any) -> Node:
    """A node that is up."""
    return Node(name=name, **{"engine": "swarm", "engine_id": f"id-{name}", "hostname": name, **fields})


def view(name: str = "gpu-1", cards: Iterable[Card] | int = 0, used: Iterable[int] = (), **fields: Any) -> NodeView:
    """A node with cards (a number, or values), of which those at the indices `used` are taken whole."""
    found = tuple(card(name, index) for index in range(cards)) if isinstance(cards, int) else tuple(cards)
    taken = set(used)
    views = tuple(CardView(one, Room(0, 0) if one.index in taken else Room(WHOLE, one.memory_mib), ()) for one in found)
    return NodeView(node(name, **fields), views)


def spec(gpus: int = 0, restart: Restart = Restart(), **fields: Any) -> TaskSpec:  # noqa: B008 - frozen
    """A spec that asks for cards."""
    request = fields.pop("request", Request(gpus=gpus))
    return TaskSpec(image="bb:1", request=request, restart=restart, **fields)


def job(job_id: str = "j1", **fields: Any) -> Job:
    """A job of its own, or with `stack` a service of it."""
    name = fields.pop("name", "train")
    return Job(id=job_id, name=name, engine_name=name, **{"spec": spec(1), **fields})


def task(job_id: str = "j1", slot: int = 1, **fields: Any) -> Task:
    """A task; give its state and whatever that state needs."""
    return Task(id=f"{job_id}.{slot}", job=job_id, slot=slot, **fields)


def life(task_id: str = "j1.1", attempt: int = 1, state: str = "running", **fields: Any) -> Life:
    """A container of an attempt as the engine shows it, with this cluster's mark."""
    base: dict[str, Any] = {
        "job": task_id.partition(".")[0],
        "node": "id-gpu-1",
        "engine_id": f"e-{task_id}-{attempt}",
        "labels": {"berth.cluster": CLUSTER, "berth.task": task_id},
    }
    return Life(task=task_id, attempt=attempt, state=state, **{**base, **fields})  # type: ignore[arg-type]


def slot_object(task_id: str = "j1.1", attempt: int = 1, **fields: Any) -> SlotObject:
    """The service of a slot."""
    base: dict[str, Any] = {
        "id": f"s-{task_id}",
        "name": f"svc-{task_id}",
        "version": 10,
        "job": task_id.partition(".")[0],
        "labels": {"berth.cluster": CLUSTER},
    }
    return SlotObject(task=task_id, attempt=attempt, **{**base, **fields})


def observed(*seen: Life | SlotObject, began: float = 100.0, **fields: Any) -> Observed:
    """A look at the engine that shows these lives and objects."""
    return Observed(
        began=began,
        ended=began + 0.01,
        lives=tuple(one for one in seen if isinstance(one, Life)),
        objects=tuple(one for one in seen if isinstance(one, SlotObject)),
        **fields,
    )


def whole(*cards: Card) -> tuple[Share, ...]:
    """Shares of whole cards."""
    return tuple(Share(one.uuid, WHOLE, one.memory_mib) for one in cards)
