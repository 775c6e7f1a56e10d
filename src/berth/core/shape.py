"""A request read once: its rules parsed and sorted by what they are asked of; equal requests share one shape."""

from functools import lru_cache
from typing import NamedTuple

import msgspec

from berth.core.constraints import BadConstraint, Constraint, parse
from berth.core.constraints.keys import card_fact
from berth.model.image import Demand
from berth.model.spec import Request

ShapeKey = tuple[object, ...]


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What fit asks of nodes. `cards` is the number of whole cards of one node, 0 for a task without cards.

    `every` wants all matching cards of a node; `named` exactly these. `node_rules` are asked of the node,
    `card_rules` of each card, `free_rules` of the number of free cards now. `match` names what static matching
    depends on. `broken` is why a rule could not be read: then nothing matches.
    `image` is what the image demands of each card. `ports` are host ports of the node, `ingress` the whole engine's.
    """

    key: ShapeKey
    match: ShapeKey
    cards: int
    every: bool
    named: tuple[str, ...]
    node_rules: tuple[Constraint, ...]
    card_rules: tuple[Constraint, ...]
    free_rules: tuple[Constraint, ...]
    pinned: str
    cpu_nano: int
    memory_bytes: int
    ports: tuple[str, ...] = ()
    ingress: tuple[str, ...] = ()
    publishes: bool = False
    broken: str = ""
    image: tuple[Demand, ...] = ()

    @property
    def wants_cards(self) -> bool:
        """True when at least one card must be granted."""
        return self.cards > 0 or self.every

    @property
    def rules(self) -> tuple[Constraint, ...]:
        """All rules."""
        return self.node_rules + self.card_rules + self.free_rules


class Asked(NamedTuple):
    """What tells shapes apart; generic resources of other kinds are the engine's matter."""

    gpus: int
    every: bool
    named: tuple[str, ...]
    texts: tuple[str, ...]
    cpu_nano: int
    memory_bytes: int
    pinned: str
    image: tuple[Demand, ...]
    ports: tuple[str, ...]
    ingress: tuple[str, ...]


def shape_of(request: Request) -> Shape:
    """The shape of a request."""
    return _shape(
        Asked(
            request.gpus,
            request.all_matching,
            request.named,
            request.constraints,
            request.cpu_nano,
            request.memory_bytes,
            request.pinned_node,
            request.image if request.wants_cards else (),
            request.ports,
            request.ingress,
        )
    )


@lru_cache(maxsize=4096)
def _shape(asked: Asked) -> Shape:
    rules, broken = _parsed(asked.texts)
    wants_cards = asked.gpus > 0 or asked.every or bool(asked.named)
    free = tuple(rule for rule in rules if rule.key == "gpu.free")
    of_cards = tuple(rule for rule in rules if wants_cards and card_fact(rule.key))
    return Shape(
        key=asked,
        match=(wants_cards, asked.every, asked.named, asked.texts, asked.pinned, asked.image),
        cards=len(asked.named) if asked.named else 0 if asked.every else asked.gpus,
        every=asked.every and not asked.named,
        named=asked.named,
        node_rules=tuple(rule for rule in rules if rule not in free and rule not in of_cards),
        card_rules=of_cards,
        free_rules=free,
        pinned=asked.pinned,
        cpu_nano=asked.cpu_nano,
        memory_bytes=asked.memory_bytes,
        ports=asked.ports,
        ingress=asked.ingress,
        publishes=bool(asked.ports or asked.ingress),
        broken=broken,
        image=asked.image,
    )


def _parsed(texts: tuple[str, ...]) -> tuple[tuple[Constraint, ...], str]:
    try:
        return tuple(parse(text) for text in texts), ""
    except BadConstraint as problem:
        return (), str(problem)
