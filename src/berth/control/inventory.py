"""Takes over what an agent (or a simulation) found on a node: its cards and facts, in one commit (core.inventory)."""

from collections.abc import Mapping

import msgspec

from berth.control.context import Control
from berth.control.turns import change_in_turn
from berth.core.inventory import compared, owed
from berth.model.card import Card
from berth.model.change import Batch, PutNode
from berth.model.node import Node


async def put_inventory(control: Control, node: Node, cards: tuple[Card, ...], **facts: object) -> None:
    """What an agent (or a simulation) found on a node: new, changed and lost cards, in one commit.

    Declared cards of the node become the found ones of the same index; their grants follow.
    """
    await put_inventories(control, {node.name: cards}, **facts)


async def put_inventories(control: Control, found: Mapping[str, tuple[Card, ...]], **facts: object) -> None:
    """The same for many nodes at once, by name: one commit for all."""

    def derive() -> Batch:
        parts = (_inventory_changes(control, name, cards, facts) for name, cards in found.items())
        return tuple(change for part in parts for change in part)

    await change_in_turn(control, derive)
    control.wake("place", "label", "reconcile")


def _inventory_changes(control: Control, name: str, cards: tuple[Card, ...], facts: dict[str, object]) -> Batch:
    ledger, node = control.cluster.ledger, control.cluster.nodes[name]
    have = {uuid: ledger.cards[uuid] for uuid in ledger.on_node(name)}
    changes, lost = compared(have, ledger.holders, tuple(msgspec.structs.replace(card, node=name) for card in cards))
    running = [task for _, task in control.cluster.work.unfinished()]
    missed = (take for card in cards if card.uuid not in have for take in owed(card, running, ledger.grants))
    notes = (control.note("card-lost", f"card {uuid} is lost", node=name, card=uuid) for uuid in lost)
    return (PutNode(msgspec.structs.replace(node, **facts)), *changes, *missed, *notes)
