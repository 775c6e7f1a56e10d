"""What is derived from one node for fit, and the memo that keeps it from one decision to the next.

A stand depends on the node's facts and its cards' facts only, never on what is booked: it is made anew when those
change, so a decision with a memo and one without are the same.
"""

import msgspec

from berth.core.constraints import card_ok, node_ok
from berth.core.constraints.keys import card_fact
from berth.core.constraints.language import Constraint
from berth.core.demands import unmet
from berth.core.shape import Shape, ShapeKey
from berth.core.topology import positions, topology_of
from berth.model.card import Card
from berth.model.node import Node
from berth.model.snapshot import NodeView

MOST_SHAPES = 512
MOST_KINDS = 100_000
MOST_RATES = 32
"""Bounds of what a memo keeps."""
NO_NODE = -1
"""The mask of a node that does not match at all."""
_FALSE = ("false", "0", "no", "off")
_KIND_FACTS = ("model", "memory", "driver", "cuda", "vendor", "mig")
_NODE_FIELDS = (
    "name", "engine_id", "hostname", "ip", "role", "os", "arch", "labels", "extra", "engine_labels", "cpu_nano",
    "memory_bytes", "state", "drain", "fence",
)  # fmt: skip

Kind = tuple[object, ...]


class Stand:
    """One node: masks of cards by their place in `view.cards`, and what matches which shape."""

    def __init__(self, view: NodeView) -> None:
        node, cards = view.node, tuple(seen.card for seen in view.cards)
        self.view, self.node, self.cards = view, node, cards
        self.topology = topology_of(cards)
        self.all = (1 << len(cards)) - 1
        self.usable = sum(1 << at for at, card in enumerate(cards) if card.usable)
        self.lost = sum(1 << at for at, card in enumerate(cards) if card.lost)
        self.foreign = sum(1 << at for at, card in enumerate(cards) if _only_foreign(card))
        self.ready = node.state == "ready"
        labels = node.all_labels
        self.enabled = labels.get("gpu.enable", "").strip().lower() not in _FALSE
        self.schedule = labels.get("gpu.schedule", "").strip().lower() not in _FALSE
        self.bytes = (len(cards) + 7) // 8
        self.kinds = _kinds(cards, labels)
        self.reached: dict[ShapeKey, tuple[bytes, bytes]] = {}
        self.rates: dict[object, tuple[NodeView, tuple[int, ...] | None]] = {}
        self._masks: dict[ShapeKey, int] = {}

    def same(self, view: NodeView) -> bool:
        """True when nothing that this stand depends on is different in `view`."""
        return _same_node(self.node, view.node) and _same_cards(self.cards, view)

    def mask(self, shape: Shape, known: dict[tuple[ShapeKey, Kind], bool]) -> int:
        """The cards that match, whatever is free; NO_NODE when the node itself does not. `known` is a cache."""
        found = self._masks.get(shape.match)
        if found is None:
            if len(self._masks) >= MOST_SHAPES:
                self._masks.clear()
            found = self._masks[shape.match] = self._match(shape, known)
        return found

    def keep(self, shape: Shape, reached: tuple[bytes, bytes]) -> None:
        """Remember which of its cards a shape could ever get, and which of those it keeps others off."""
        if len(self.reached) >= MOST_SHAPES:
            self.reached.clear()
        self.reached[shape.key] = reached

    def keep_rate(self, key: object, view: NodeView, score: tuple[int, ...] | None) -> None:
        """Remember how good the node is for a shape by a policy, for as long as its view stays the very same."""
        if len(self.rates) >= MOST_RATES:
            self.rates.clear()
        self.rates[key] = (view, score)

    def _match(self, shape: Shape, known: dict[tuple[ShapeKey, Kind], bool]) -> int:
        if shape.broken or (shape.pinned and shape.pinned != self.node.name):
            return NO_NODE
        if not all(node_ok(rule, self.view) for rule in shape.node_rules):
            return NO_NODE
        if not shape.wants_cards:
            return 0
        if not self.enabled:
            return NO_NODE
        mask = sum(of_kind for kind, of_kind in self.kinds.items() if self._kind_ok(shape, kind, of_kind, known))
        mask = self._own_rules(shape, mask) if shape.card_rules else mask
        if shape.every:
            return mask & ~self.lost or mask
        return self._named(shape, mask) if shape.named else mask

    def _kind_ok(self, shape: Shape, kind: Kind, mask: int, known: dict[tuple[ShapeKey, Kind], bool]) -> bool:
        """Cards of one kind answer alike, on whatever node they are: each kind is asked once for a shape."""
        key = (shape.match, kind)
        if key not in known:
            card = self.cards[mask.bit_length() - 1]
            rules = [rule for rule in shape.card_rules if card_fact(rule.key) in _KIND_FACTS]
            known[key] = all(card_ok(rule, card, self.node) for rule in rules) and not _against(shape, card, self.node)
        return known[key]

    def barred(self, shape: Shape, mask: int) -> dict[int, str]:
        """Why the image cannot run on cards that meet everything else, by their places; `mask` are those that match."""
        if not shape.image or mask == self.all:
            return {}
        bare = msgspec.structs.replace(shape, image=(), match=(shape.match, "without its image"))
        others = max(0, self.mask(bare, {})) & ~max(0, mask)
        return {at: _against(shape, self.cards[at], self.node) for at in positions(others)}

    def _own_rules(self, shape: Shape, mask: int) -> int:
        """What remains by the rules that tell cards of one kind apart (index, uuid, NUMA node, ...)."""
        rules = [rule for rule in shape.card_rules if card_fact(rule.key) not in _KIND_FACTS]
        return sum(
            1 << at
            for at, card in enumerate(self.cards)
            if mask >> at & 1 and all(card_ok(rule, card, self.node) for rule in rules)
        ) if rules else mask  # fmt: skip

    def _named(self, shape: Shape, mask: int) -> int:
        """All the named cards, or none of them: by uuid, NODE/INDEX or index (a lost card gives way)."""
        found = 0
        for name in shape.named:
            at = self._place(name)
            if at is None or not mask >> at & 1 or found >> at & 1:
                return 0
            found |= 1 << at
        return found

    def _place(self, name: str) -> int | None:
        places = [at for at, card in enumerate(self.cards) if card.is_named(name)]
        return min(places, key=lambda at: (self.cards[at].lost, at), default=None)

    def failing(self, shape: Shape) -> tuple[Constraint, ...]:
        """The rules that this node, or all its cards, do not meet."""
        rules = shape.node_rules + shape.card_rules
        return tuple(rule for rule in rules if not node_ok(rule, self.view))


def _against(shape: Shape, card: Card, node: Node) -> str:
    """The first demand of the image that the card does not meet, in words; "" when it meets all."""
    return next((why for demand in shape.image if (why := unmet(demand, card, node))), "")


class Memo:
    """Keeps stands between decisions; a decision with a memo and one without are the same."""

    def __init__(self) -> None:
        self._stands: dict[str, Stand] = {}
        self._free: dict[str, tuple[NodeView, int]] = {}
        self._known: dict[tuple[ShapeKey, Kind], bool] = {}

    def stands(self, views: tuple[NodeView, ...]) -> list[Stand]:
        """A stand for each node, in the nodes' order."""
        if len(self._stands) > 2 * len(views) + 16:
            self._stands.clear()
            self._free.clear()
        return [self._stand(view) for view in views]

    def free(self, view: NodeView) -> int:
        """The mask of cards that are wholly free and usable."""
        kept = self._free.get(view.node.name)
        if kept is None or kept[0] is not view:
            kept = view, sum(1 << at for at, seen in enumerate(view.cards) if seen.free)
            self._free[view.node.name] = kept
        return kept[1]

    def mask(self, stand: Stand, shape: Shape) -> int:
        """The cards of a node that match a shape."""
        if len(self._known) > MOST_KINDS:
            self._known.clear()
        return stand.mask(shape, self._known)

    def _stand(self, view: NodeView) -> Stand:
        stand = self._stands.get(view.node.name)
        if stand is None or not (stand.view is view or stand.same(view)):
            stand = self._stands[view.node.name] = Stand(view)
        return stand


def _only_foreign(card: Card) -> bool:
    return bool(card.foreign) and not (card.lost or card.fence or card.quarantine)


def _kinds(cards: tuple[Card, ...], labels: dict[str, str]) -> dict[Kind, int]:
    found: dict[Kind, int] = {}
    fallback = tuple(labels.get(f"gpu.{fact}") for fact in _KIND_FACTS)
    for at, card in enumerate(cards):
        kind: Kind = (
            card.model, card.aliases, card.memory_mib, card.driver, card.cuda, card.vendor, card.mig, card.brand,
            card.arch,
        )  # fmt: skip
        if not (card.memory_mib and card.driver and card.cuda and card.vendor and card.model):
            kind = (*kind, fallback)
        found[kind] = found.get(kind, 0) | 1 << at
    return found


def _same_node(old: Node, new: Node) -> bool:
    return old is new or all(getattr(old, name) == getattr(new, name) for name in _NODE_FIELDS)


def _same_cards(old: tuple[Card, ...], view: NodeView) -> bool:
    return len(old) == len(view.cards) and all(
        card is seen.card or card == seen.card for card, seen in zip(old, view.cards, strict=True)
    )
