"""Brings nodes and cards in line with the last look: new and gone nodes, hand-labelled ones adopted, foreign use."""

from collections.abc import Mapping

import msgspec

from berth.control.context import Control
from berth.control.facts import change_facts
from berth.control.mirror.booked import NOTHING, Load
from berth.core.foreign import foreign_cards
from berth.core.labels import OUTPUT
from berth.model.card import WHOLE, Card, Share
from berth.model.change import Batch, Change, DropCard, PutCard, PutNode, RenameCard, Take
from berth.model.declared import Declared, declared, is_ours
from berth.model.lifecycle import OCCUPYING
from berth.model.node import Node
from berth.model.seen import Observed, SeenNode


async def sync_nodes(control: Control, look: Observed) -> None:
    """Commit what the look says about nodes and cards; nothing is written where nothing changed."""
    before = control.look if control.look is not look else None
    if before is None or before.nodes != look.nodes:
        await _sync_all(control, look)
    if look.others or control.agent_foreign or any(card.foreign for card in control.cluster.cards.values()):
        await _sync_foreign(control, look)
    if before is None or before.others != look.others:
        _sync_others(control, look)


async def _sync_all(control: Control, look: Observed) -> None:
    names = _names(control, look.nodes)

    def derive() -> Batch:
        parts = (_node_changes(control, names[seen.engine_id], seen, look) for seen in look.nodes)
        return tuple(change for part in parts for change in part)

    if await change_facts(control, derive):
        control.wake("place", "label", "reconcile")
    for node in list(control.cluster.nodes.values()):
        if node.engine_id and node.engine_id not in names and not node.gone:
            await change_facts(control, lambda name=node.name: _gone(control, name))  # type: ignore[misc]


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
    if not new.agent:
        adopted, more = _adopt(control, new, look)
        new, changes = adopted, [*changes, *more]
    if new != old:
        changes.insert(0, PutNode(new))
    return tuple(changes)


def _told(control: Control, old: Node | None, new: Node) -> Batch:
    if old is None:
        return (control.note("node-joined", f"node {new.name} is here", node=new.name),)
    if old.state != new.state:
        return (control.note("node-state", f"node {new.name}: {old.state} -> {new.state}", node=new.name),)
    return ()


def _adopt(control: Control, node: Node, look: Observed) -> tuple[Node, list[Change]]:
    """Cards that a person declared by labels, taken over once; from then on they are Berth's to count."""
    wanted = node.all_labels.get("gpu.enable", "").lower() == "true" and is_ours(node.all_labels)
    if node.adopted or not wanted or control.cluster.ledger.on_node(node.name):
        return node, []
    found = declared(node.name, node.all_labels)
    if not found.cards:
        return node, []
    before = {key: value for key, value in node.labels.items() if key in OUTPUT}
    text = f"node {node.name} was labelled by hand: Berth takes over its {len(found.cards)} cards and their labels"
    note = control.note("node-adopted", text, node=node.name)
    cards, taken = _counted_as_used(node, found, look)
    adopted = msgspec.structs.replace(node, adopted=True, before=before, taken=taken)
    return adopted, [*(PutCard(card) for card in cards), note]


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


def _sync_others(control: Control, look: Observed) -> None:
    """What others' running tasks reserve on each node is not there for Berth."""
    names = {node.engine_id: node.name for node in control.cluster.nodes.values()}
    booked: dict[str, Load] = {}
    for other in look.others:
        for name in (names[engine_id] for engine_id in other.nodes if engine_id in names):
            booked[name] = booked.get(name, NOTHING).plus(Load(other.cpu_nano, other.memory_bytes))
    control.cluster.booked.put_others(booked)


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

    await change_facts(control, derive)
    control.wake("place", "label", "reconcile")


def _inventory_changes(control: Control, name: str, cards: tuple[Card, ...], facts: dict[str, object]) -> Batch:
    cluster, node = control.cluster, control.cluster.nodes[name]
    have = {uuid: cluster.cards[uuid] for uuid in cluster.ledger.on_node(node.name)}
    stand_ins = {card.index: card for card in have.values() if card.declared}
    changes: list[Change] = [PutNode(msgspec.structs.replace(node, **facts))]
    for card in cards:
        changes += _found(have, stand_ins, msgspec.structs.replace(card, node=node.name))
        changes += _owed(control, card) if card.uuid not in have else ()
    seen = {card.uuid for card in cards}
    for card in have.values():
        if card.uuid in seen or (card.declared and any(card.index == other.index for other in cards)):
            continue
        if cluster.ledger.holders[card.uuid] or not card.declared:
            if not card.lost:
                note = control.note("card-lost", f"card {card.uuid} is lost", node=node.name, card=card.uuid)
                changes += [PutCard(msgspec.structs.replace(card, lost=True)), note]
        else:
            changes.append(DropCard(card.uuid))
    return tuple(changes)


def _owed(control: Control, card: Card) -> Batch:
    """A card that appears while a task runs on it (its ledger was rebuilt before its agent came) is booked at once."""
    return tuple(
        Take(task.id, (Share(card.uuid, WHOLE, card.memory_mib),))
        for _, task in control.cluster.work.unfinished()
        if card.uuid in task.cards
        and task.state in OCCUPYING
        and card.uuid not in control.cluster.ledger.held_by(task.id)
    )[:1]


def _found(have: dict[str, Card], stand_ins: dict[int, Card], card: Card) -> list[Change]:
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
