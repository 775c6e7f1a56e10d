"""Brings nodes in line with the last look: new, changed and gone ones; hand-labelled ones are adopted (core.adopt)."""

import msgspec

from berth.control.context import Control
from berth.control.others import sync_others
from berth.control.turns import change_in_turn
from berth.core.adopt import adopted
from berth.model.change import Batch, Change, DropCard, PutCard, PutNode
from berth.model.node import Node
from berth.model.seen import Observed, SeenNode


async def sync_nodes(control: Control, look: Observed) -> None:
    """Commit what the look says about nodes and cards; nothing is written where nothing changed."""
    before = control.look if control.look is not look else None
    if before is None or before.nodes != look.nodes:
        await _sync_all(control, look)
    await sync_others(control, look, before)


async def _sync_all(control: Control, look: Observed) -> None:
    names = _names(control, look.nodes)

    def derive() -> Batch:
        parts = (_node_changes(control, names[seen.engine_id], seen, look) for seen in look.nodes)
        return tuple(change for part in parts for change in part)

    if await change_in_turn(control, derive):
        control.wake("place", "label", "reconcile")
    for node in list(control.cluster.nodes.values()):
        if node.engine_id and node.engine_id not in names and not node.gone:
            await change_in_turn(control, lambda name=node.name: _gone(control, name))  # type: ignore[misc]


def _names(control: Control, seen: tuple[SeenNode, ...]) -> dict[str, str]:
    """A name per engine id: the hostname, or for the later of two with one hostname `NAME-` and part of its id."""
    names = {node.engine_id: node.name for node in control.cluster.nodes.values() if not node.gone and node.engine_id}
    taken = set(names.values())
    for node in seen:
        if node.engine_id not in names:
            name = node.hostname if node.hostname not in taken else f"{node.hostname}-{node.engine_id[:6]}"
            names[node.engine_id] = name
            taken.add(name)
    live = {node.engine_id for node in seen}
    return {engine_id: name for engine_id, name in names.items() if engine_id in live}


def _node_changes(control: Control, name: str, seen: SeenNode, look: Observed) -> Batch:
    old = control.cluster.nodes.get(name)
    base = old if old is not None else Node(name=name, engine=control.settings.engine)
    new = msgspec.structs.replace(
        base, engine_id=seen.engine_id, engine_version=seen.version, hostname=seen.hostname, ip=seen.ip,
        role=seen.role, os=seen.os, arch=seen.arch, labels=seen.labels, engine_labels=seen.engine_labels,
        cpu_nano=seen.cpu_nano, memory_bytes=seen.memory_bytes, up=seen.up, available=seen.available, gone=False,
        seen_at=base.seen_at or control.clock.now(),
    )  # fmt: skip
    if old is not None and old.engine_id == seen.engine_id and seen.version < old.engine_version:
        return ()  # a look that began before our own label write ended
    changes: list[Change] = [*_told(control, old, new)]
    taken = None if new.agent or control.cluster.ledger.on_node(name) else adopted(new, look)
    if taken is not None:
        text = f"node {name} was labelled by hand: Berth takes over its {len(taken.cards)} cards and their labels"
        changes += [*(PutCard(card) for card in taken.cards), control.note("node-adopted", text, node=name)]
        new = taken.node
    if new != old:
        changes.insert(0, PutNode(new))
    return tuple(changes)


def _told(control: Control, old: Node | None, new: Node) -> Batch:
    if old is None:
        return (control.note("node-joined", f"node {new.name} is here", node=new.name),)
    if old.state != new.state:
        return (control.note("node-state", f"node {new.name}: {old.state} -> {new.state}", node=new.name),)
    return ()


def _gone(control: Control, name: str) -> Batch:
    """The engine no longer lists the node: its cards are out, those that tasks hold are kept until that is settled."""
    node = control.cluster.nodes[name]
    cards: list[Change] = []
    for uuid in control.cluster.ledger.on_node(node.name):
        if control.cluster.ledger.holders[uuid]:
            why = f"node {node.name} was removed from the engine while its cards were in use"
            cards.append(PutCard(msgspec.structs.replace(control.cluster.cards[uuid], quarantine=why)))
        else:
            cards.append(DropCard(uuid))
    note = control.note("node-gone", f"node {node.name} is no longer part of the engine", node=node.name)
    new = msgspec.structs.replace(node, gone=True, up=False, adopted=False, written={}, before={}, engine_id="")
    return (PutNode(new), *cards, note)
