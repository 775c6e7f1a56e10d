"""A request read once: its rules parsed and sorted by what they are asked of; equal requests share one shape."""

from functools import lru_cache

import msgspec

from berth.core.constraints import BadConstraint, Constraint, parse
from berth.core.constraints.keys import card_fact
from berth.model.spec import Request

ShapeKey = tuple[object, ...]


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What fit asks of nodes. `cards` is the number of whole cards of one node, 0 for a task without cards.

    `every` wants all matching cards of a node; `named` exactly these. `node_rules` are asked of the node,
    `card_rules` of each card, `free_rules` of the number of free cards now. `match` names what static matching
    depends on. `broken` is why a rule could not be read: then nothing matches.
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
    broken: str = ""

    @property
    def wants_cards(self) -> bool:
        """True when at least one card must be granted."""
        return self.cards > 0 or self.every

    @property
    def rules(self) -> tuple[Constraint, ...]:
        """All rules."""
        return self.node_rules + self.card_rules + self.free_rules


def shape_key(request: Request) -> ShapeKey:
    """What tells shapes apart; generic resources of other kinds are the engine's matter."""
    return (
        request.gpus, request.all_matching, request.named, request.constraints, request.cpu_nano,
        request.memory_bytes, request.pinned_node,
    )  # fmt: skip


def shape_of(request: Request) -> Shape:
    """The shape of a request."""
    return _shape(*shape_key(request))


@lru_cache(maxsize=4096)
def _shape(
    gpus: int, every: bool, named: tuple[str, ...], texts: tuple[str, ...], cpu: int, memory: int, pinned: str
) -> Shape:
    rules, broken = _parsed(texts)
    wants_cards = gpus > 0 or every or bool(named)
    free = tuple(rule for rule in rules if rule.key == "gpu.free")
    of_cards = tuple(rule for rule in rules if wants_cards and card_fact(rule.key))
    return Shape(
        key=(gpus, every, named, texts, cpu, memory, pinned),
        match=(wants_cards, every, named, texts, pinned),
        cards=len(named) if named else 0 if every else gpus,
        every=every and not named,
        named=named,
        node_rules=tuple(rule for rule in rules if rule not in free and rule not in of_cards),
        card_rules=of_cards,
        free_rules=free,
        pinned=pinned,
        cpu_nano=cpu,
        memory_bytes=memory,
        broken=broken,
    )


def _parsed(texts: tuple[str, ...]) -> tuple[tuple[Constraint, ...], str]:
    try:
        return tuple(parse(text) for text in texts), ""
    except BadConstraint as problem:
        return (), str(problem)
