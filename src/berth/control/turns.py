"""Changes of nodes and cards: read, change and commit are one step, so that no writer undoes another's change."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from berth.control.context import Control
from berth.model.card import Card
from berth.model.change import Batch, Change, PutCard, PutNode
from berth.model.node import Node

T = TypeVar("T", Node, Card)


async def change_in_turn(control: Control, derive: Callable[[], Batch]) -> bool:
    """Commit what `derive` makes of the nodes and cards as they are; True when that was anything.

    Tasks and jobs carry versions; nodes and cards have many writers of different fields, so they take turns here.
    """
    async with control.turn:
        batch = derive()
        if not batch:
            return False
        await control.writer.commit(batch)
        return True


async def change_node(control: Control, name: str, change: Callable[[Node], Node], *notes: Batch) -> Node | None:
    """Commit `change(node)` with the notes, if it is another; the node as it is then, None when it is not there."""
    nodes = control.cluster.nodes
    await change_in_turn(control, lambda: _changed(nodes.get(name), change, PutNode, notes))
    return nodes.get(name)


async def change_card(control: Control, uuid: str, change: Callable[[Card], Card], *notes: Batch) -> Card | None:
    """Commit `change(card)` with the notes, if it is another; the card as it is then, None when it is not there."""
    cards = control.cluster.cards
    await change_in_turn(control, lambda: _changed(cards.get(uuid), change, PutCard, notes))
    return cards.get(uuid)


def _changed(old: T | None, change: Callable[[T], T], put: Callable[[T], Change], notes: Iterable[Batch]) -> Batch:
    new = change(old) if old is not None else None
    return () if new is None or new == old else (put(new), *(note for part in notes for note in part))
