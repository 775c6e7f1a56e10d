"""What an inventory of a node changes: cards that are new, have changed, are found at last, or are lost."""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from berth.model.card import WHOLE, Card, Share
from berth.model.change import Change, DropCard, PutCard, RenameCard, Take
from berth.model.job import Task
from berth.model.lifecycle import OCCUPYING


def compared(
    have: Mapping[str, Card], holders: Mapping[str, Collection[str]], found: tuple[Card, ...]
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The changes that make of the node's known cards the found ones, and the uuids of those that are lost now.

    A declared card becomes the found one of the same index, and what is held of it follows. One that nobody found
    goes; a real one, and a declared one that is held (`holders[card]`), is lost instead and stays in the ledger.
    """
    stand_ins = {card.index: card for card in have.values() if card.declared}
    changes = [change for card in found for change in _found(have, stand_ins, card)]
    lost: list[str] = []
    for card in _missing(have.values(), found):
        if card.declared and not holders[card.uuid]:
            changes.append(DropCard(card.uuid))
        elif not card.lost:
            changes.append(PutCard(msgspec.structs.replace(card, lost=True)))
            lost.append(card.uuid)
    return tuple(changes), tuple(lost)


def _missing(have: Iterable[Card], found: tuple[Card, ...]) -> Iterable[Card]:
    uuids, indices = {card.uuid for card in found}, {card.index for card in found}
    return [card for card in have if card.uuid not in uuids and not (card.declared and card.index in indices)]


def _found(have: Mapping[str, Card], stand_ins: Mapping[int, Card], card: Card) -> list[Change]:
    old = have.get(card.uuid) or stand_ins.get(card.index)
    if old is None:
        return [PutCard(card)]
    said = old.aliases or ((old.model,) if old.declared and old.model != card.model else ())
    kept = msgspec.structs.replace(
        card, fence=old.fence, foreign=old.foreign, quarantine=old.quarantine,
        aliases=tuple(dict.fromkeys((*card.aliases, *said))),
    )  # fmt: skip
    if old.uuid != card.uuid:
        return [RenameCard(old.uuid, kept)]
    return [PutCard(kept)] if kept != old else []


def owed(card: Card, tasks: Iterable[Task], grants: Mapping[str, Collection[str]]) -> tuple[Take, ...]:
    """A card that appears while a task runs on it (its ledger was rebuilt before its agent came) is booked at once."""
    return tuple(
        Take(task.id, (Share(card.uuid, WHOLE, card.memory_mib),))
        for task in tasks
        if card.uuid in task.cards and task.state in OCCUPYING and card.uuid not in grants.get(task.id, ())
    )[:1]
