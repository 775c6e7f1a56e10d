"""Adopts a node whose cards a person declared by labels: once, and from then on they are Berth's to count."""

import msgspec

from berth.core.labels import OUTPUT
from berth.model.card import Card
from berth.model.declared import Declared, declared, is_ours
from berth.model.node import Node
from berth.model.seen import Observed


class Adopted(msgspec.Struct, frozen=True):
    """A node as it is after its adoption, and its cards."""

    node: Node
    cards: tuple[Card, ...]


def adopted(node: Node, look: Observed) -> Adopted | None:
    """The node and its declared cards; None for one that declares none, is not Berth's, or was adopted before."""
    if node.adopted or node.all_labels.get("gpu.enable", "").lower() != "true" or not is_ours(node.all_labels):
        return None
    found = declared(node.name, node.all_labels)
    if not found.cards:
        return None
    before = {key: value for key, value in node.labels.items() if key in OUTPUT}
    cards, taken = _counted_as_used(node, found, look)
    return Adopted(msgspec.structs.replace(node, adopted=True, before=before, taken=taken), cards)


def _counted_as_used(node: Node, found: Declared, look: Observed) -> tuple[tuple[Card, ...], dict[str, str]]:
    """Cards that a script had counted off `gpu.free`: foreign while a service that asks for such labels runs there,
    and fenced for a person to look at when nobody can be found who uses them.

    Cards of Berth's own tasks count first: the labels are its own when its database was lost.
    """
    here = [other for other in look.others if node.engine_id in other.nodes]
    ours = {card for life in look.lives if life.node == node.engine_id for card in life.cards}
    left = [card for card in found.cards if card.uuid not in ours]
    taken = found.taken - (len(found.cards) - len(left))
    if taken <= 0 or any(other.takes_cards for other in here):
        return found.cards, {}
    last = left[-taken:]
    users = [other.id for other in here if any("gpu." in constraint for constraint in other.constraints)]
    if users:
        return found.cards, {card.uuid: users[0] for card in last}
    why = f"gpu.free said that {found.taken} of {len(found.cards)} cards are in use, and nobody is seen who uses them"
    return tuple(msgspec.structs.replace(card, fence=why) if card in last else card for card in found.cards), {}
