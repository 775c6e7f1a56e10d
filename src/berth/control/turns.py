"""Changes of nodes and cards: read, change and commit are one step, so that no writer undoes another's change."""

from collections.abc import Callable

from berth.control.context import Control
from berth.model.card import Card
from berth.model.change import Batch, PutCard, PutNode
from berth.model.node import Node


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

    def derive() -> Batch:
        old = control.cluster.nodes.get(name)
        new = change(old) if old is not None else None
        return () if new is None or new == old else (PutNode(new), *(note for part in notes for note in part))

    await change_in_turn(control, derive)
    return control.cluster.nodes.get(name)


async def change_card(control: Control, uuid: str, change: Callable[[Card], Card], *notes: Batch) -> Card | None:
    """Commit `change(card)` with the notes, if it is another; the card as it is then, None when it is not there."""

    def derive() -> Batch:
        old = control.cluster.cards.get(uuid)
        new = change(old) if old is not None else None
        return () if new is None or new == old else (PutCard(new), *(note for part in notes for note in part))

    await change_in_turn(control, derive)
    return control.cluster.cards.get(uuid)
