"""Which cards are used by work that is not Berth's: by what others name, and by the whole node where they name none."""

from collections.abc import Iterable, Mapping

from berth.model.card import Card
from berth.model.seen import Other


def foreign_cards(cards: Iterable[Card], node_ids: Mapping[str, str], others: Iterable[Other]) -> dict[str, str]:
    """The reason per card uuid. `node_ids` maps a node's name to the engine's id; a card is named by uuid or index."""
    by_node: dict[str, list[Other]] = {}
    for other in others:
        if other.takes_cards:
            for engine_id in other.nodes:
                by_node.setdefault(engine_id, []).append(other)
    found: dict[str, str] = {}
    for card in cards:
        for other in by_node.get(node_ids.get(card.node, ""), ()):
            if not other.cards or names_card(other, card):
                found.setdefault(card.uuid, _sentence(other))
    return found


def names_card(other: Other, card: Card) -> bool:
    """True when what the other is started with names this card: by uuid, NODE/INDEX, index, or "all"."""
    return any(name == "all" or card.is_named(name) for name in other.cards)


def _sentence(other: Other) -> str:
    who = f" of {other.user}" if other.user else ""
    image = f" (image {other.image})" if other.image else ""
    return f"used by {other.kind} {other.name}{who}{image}, which Berth did not start"
