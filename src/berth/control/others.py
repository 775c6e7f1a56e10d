"""Books what work of others takes: cards that it uses, CPU and memory that it reserves; told by looks and agents."""

import msgspec

from berth.control.context import Control
from berth.control.facts import change_facts
from berth.control.mirror.booked import NOTHING, Load
from berth.core.foreign import foreign_cards
from berth.model.change import Batch, Change, PutCard
from berth.model.seen import Observed


async def sync_others(control: Control, look: Observed, before: Observed | None) -> None:
    """Commit what the look says about work of others; `before` is the last look, if there was one."""
    if look.others or control.agent_foreign or any(card.foreign for card in control.cluster.cards.values()):
        await _sync_foreign(control, look)
    if before is None or before.others != look.others:
        _sync_room(control, look)


async def _sync_foreign(control: Control, look: Observed) -> None:
    if await change_facts(control, lambda: _foreign_changes(control, look)):
        control.wake("place", "label")


def _foreign_changes(control: Control, look: Observed) -> Batch:
    cluster = control.cluster
    ids = {node.name: node.engine_id for node in cluster.nodes.values()}
    found = {**_taken(control, look), **foreign_cards(cluster.cards.values(), ids, look.others)}
    changes: list[Change] = []
    for card in cluster.cards.values():
        reason = found.get(card.uuid, control.agent_foreign.get(card.uuid, ""))
        if reason != card.foreign:
            text = f"card {card.uuid}: {reason}" if reason else f"card {card.uuid} is no longer used by others"
            changes.append(PutCard(msgspec.structs.replace(card, foreign=reason)))
            changes.append(control.note("card-foreign", text, node=card.node, card=card.uuid))
    return tuple(changes)


def _taken(control: Control, look: Observed) -> dict[str, str]:
    """Cards that were counted as used when their node was adopted, while that user still runs."""
    running = {other.id: other.name for other in look.others if other.nodes}
    return {
        uuid: f"counted as used for {running[user]} when the node was adopted"
        for node in control.cluster.nodes.values()
        for uuid, user in node.taken.items()
        if user in running
    }


def _sync_room(control: Control, look: Observed) -> None:
    """What others' running tasks reserve on each node is not there for Berth."""
    names = {node.engine_id: node.name for node in control.cluster.nodes.values()}
    booked: dict[str, Load] = {}
    for other in look.others:
        for name in (names[engine_id] for engine_id in other.nodes if engine_id in names):
            booked[name] = booked.get(name, NOTHING).plus(Load(other.cpu_nano, other.memory_bytes))
    control.cluster.booked.put_others(booked)
