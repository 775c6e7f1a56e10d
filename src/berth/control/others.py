"""Books what work of others takes: cards in use, CPU and memory reserved, ports; told by looks and agents."""

import msgspec

from berth.control.context import Control
from berth.control.mirror.booked import NOTHING, Load
from berth.control.mirror.hostports import EVERY_NODE
from berth.control.turns import change_in_turn
from berth.core.foreign import foreign_cards
from berth.model.change import Batch, Change, PutCard
from berth.model.lifecycle import QUEUED
from berth.model.seen import Observed
from berth.model.snapshot import PortUse


async def sync_others(control: Control, look: Observed, before: Observed | None) -> None:
    """Commit what the look says about work of others; `before` is the last look, if there was one."""
    if look.others or control.agent_foreign or any(card.foreign for card in control.cluster.cards.values()):
        await _sync_foreign(control, look)
    if before is None or before.others != look.others:
        _sync_room(control, look)
    _sync_ports(control, look)


async def _sync_foreign(control: Control, look: Observed) -> None:
    if await change_in_turn(control, lambda: _foreign_changes(control, look)):
        control.wake("place", "label")


def _foreign_changes(control: Control, look: Observed) -> Batch:
    cluster = control.cluster
    ids = {node.name: node.engine_id for node in cluster.nodes.values()}
    found = {**_taken(control, look), **foreign_cards(cluster.cards.values(), ids, look.others)}
    ours = _handed_over(control)
    changes: list[Change] = []
    for card in cluster.cards.values():
        reason = "" if card.uuid in ours else found.get(card.uuid, control.agent_foreign.get(card.uuid, ""))
        if reason != card.foreign:
            text = f"card {card.uuid}: {reason}" if reason else f"card {card.uuid} is no longer used by others"
            changes.append(PutCard(msgspec.structs.replace(card, foreign=reason)))
            changes.append(control.note("card-foreign", text, node=card.node, card=card.uuid))
    return tuple(changes)


def _handed_over(control: Control) -> set[str]:
    """Cards of slots that are being taken over: what still runs there is no stranger."""
    held = (task.id for _, task in control.cluster.work.in_play() if task.takes_over)
    return {uuid for task_id in held for uuid in control.cluster.ledger.grants.get(task_id, ())}


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


def _sync_ports(control: Control, look: Observed) -> None:
    """Ports that the look shows beside those that are granted: of others, of native services, and of Berth's own tasks
    where the engine chose the number or keeps a port for what has ended. Those of a task that waits are its own again.
    """
    names = {node.engine_id: node.name for node in control.cluster.nodes.values()}
    seen: dict[str, dict[str, PortUse]] = {}
    for port in look.ports:
        task = control.cluster.task(port.holder)
        if (port.node and port.node not in names) or (task is not None and task.state in QUEUED):
            continue
        seen.setdefault(names.get(port.node, EVERY_NODE), {})[port.port] = PortUse(port.holder, port.who)
    if control.cluster.ports.put_seen(seen):
        control.wake("place")
