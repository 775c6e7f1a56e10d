"""Commands on nodes and cards: label, drain, fence, remove, adopt; all for admins only."""

from collections.abc import Iterable

import msgspec

from berth.control.context import Control
from berth.control.permit import must_be_admin
from berth.control.rescale import stop_task
from berth.control.turns import change_card, change_in_turn, change_node
from berth.core.labels import OUTPUT
from berth.model.card import Card
from berth.model.change import DropCard, DropNode, PutCard
from berth.model.declared import declared
from berth.model.errors import BadInput, EngineError, NotFound, Refused, StaleVersion
from berth.model.node import Node
from berth.model.token import Actor
from berth.model.wire import Refresh


async def label(control: Control, actor: Actor, name: str, changes: dict[str, str | None]) -> Node:
    """Set (or, with None, remove) labels of a node. Labels that Berth writes are refused, but `gpu.count` of a
    hand-labelled node changes how many cards it declares, and a node without an agent may be declared by labels
    as long as Berth has not adopted it. Raises BadInput, NotFound, Refused.
    """
    must_be_admin(actor, "label a node")
    node = _node(control, name)
    count = changes.get("gpu.count")
    if "gpu.count" in changes and node.adopted and not node.agent and count is not None:
        await _recount(control, node, count)
        changes = {key: value for key, value in changes.items() if key != "gpu.count"}
    _leave_to_berth(control, node, changes)
    node = control.cluster.nodes[name]
    await _write(control, node, changes)
    text = ", ".join(f"{key}={value}" if value is not None else f"{key} removed" for key, value in changes.items())
    if changes:
        await control.writer.commit((control.note("labelled", f"{name}: {text}", actor=actor.name, node=name),))
    control.wake("observe", "place", "label")
    return control.cluster.nodes[name]


def _leave_to_berth(control: Control, node: Node, changes: Iterable[str]) -> None:
    """Raise BadInput for labels that Berth writes itself: no hand can make more cards free, or of another model."""
    by_hand = control.engine.capabilities.node_labels and not node.agent and not node.adopted
    kept = {"gpu.free"} if by_hand else set(OUTPUT)
    ours = sorted(key for key in changes if key in kept or key in node.written)
    if not ours:
        return
    verb = "is" if len(ours) == 1 else "are"
    if by_hand:
        hint = f"To declare its cards: berth node label {node.name} gpu.enable=true gpu.model=MODEL gpu.count=N"
    elif node.adopted and not node.agent:
        hint = f"To change how many cards it declares: berth node label {node.name} gpu.count=N"
    else:
        hint = f"Set a label of your own: berth node label {node.name} zone=idc"
    text = f"{', '.join(ours)} of {node.name} {verb} written by Berth itself, from its cards and its ledger."
    raise BadInput.of("label-of-berth", text, hint, field=ours[0])


async def _write(control: Control, node: Node, changes: dict[str, str | None]) -> None:
    put = {key: value for key, value in changes.items() if value is not None}
    drop = tuple(key for key, value in changes.items() if value is None)
    if not changes:
        return
    if not control.engine.capabilities.node_labels or not node.engine_id:
        await change_node(control, node.name, lambda now: _kept_here(now, put, drop))
        return
    for _ in range(5):
        try:
            version = await control.engine.write_labels(control.cluster.nodes[node.name], put, drop)
        except StaleVersion:
            await control.refresh()
            continue
        await change_node(control, node.name, lambda now: _labelled(now, put, drop, version))  # noqa: B023
        return
    raise EngineError.of("label-busy", f"the labels of {node.name} change too fast to be written.", "Try again")


def _kept_here(node: Node, put: dict[str, str], drop: tuple[str, ...]) -> Node:
    extra = {key: value for key, value in {**node.extra, **put}.items() if key not in drop}
    return msgspec.structs.replace(node, extra=extra)


def _labelled(node: Node, put: dict[str, str], drop: tuple[str, ...], version: int) -> Node:
    labels = {key: value for key, value in {**node.labels, **put}.items() if key not in drop}
    return msgspec.structs.replace(node, labels=labels, engine_version=max(version, node.engine_version))


async def _recount(control: Control, node: Node, count: str) -> None:
    """Another number of declared cards: new ones appear, surplus ones that nothing holds go."""
    if not (count.isascii() and count.isdigit() and int(count) <= 1024):
        raise BadInput.of(
            "label-count", f"gpu.count={count} is not a number of cards from 0 to 1024.", field="gpu.count"
        )
    labels = {**node.all_labels, "gpu.count": count, "gpu.free": count}
    labels.pop("gpu.cards", None)
    wanted = {card.uuid: card for card in declared(node.name, labels).cards}
    have = control.cluster.ledger.on_node(node.name)
    held = sorted(uuid for uuid in have - wanted.keys() if control.cluster.ledger.holders[uuid])
    if held:
        raise Refused.of(
            "label-count-held",
            f"{', '.join(held)} are in use.",
            f"Wait, or cancel what 'berth cards' shows on {node.name}",
        )
    await change_in_turn(
        control,
        lambda: (
            *(DropCard(uuid) for uuid in sorted(have - wanted.keys()) if not control.cluster.ledger.holders[uuid]),
            *(PutCard(card) for uuid, card in wanted.items() if uuid not in have),
        ),
    )


async def drain(
    control: Control, actor: Actor, name: str, reason: str, move: bool = False, grace_s: float | None = None
) -> Node:
    """No new work on the node; what runs there finishes, or with `move` is stopped and placed elsewhere."""
    must_be_admin(actor, "drain a node")
    _need_reason(reason, f"berth node drain {name} --reason TEXT")
    fields = {"drain": reason, "drain_grace_s": grace_s}
    node = await _put(control, actor, name, "drained", **fields)
    if move:
        for _, task in list(control.cluster.work.unfinished()):
            if task.node == name and task.state in ("starting", "running"):
                await stop_task(control, task.id, "move")
    return node


async def undrain(control: Control, actor: Actor, name: str) -> Node:
    """Let the node take work again; what stood against its cards is taken as seen, and its agent is asked to look again
    whether it still does.
    """
    must_be_admin(actor, "undrain a node")
    node = await _put(control, actor, name, "undrained", drain="", drain_grace_s=None, flag="", mistrust="")
    if name in control.peers:
        await control.peers[name].send(Refresh())
    return node


async def fence(control: Control, actor: Actor, name: str, reason: str) -> Node:
    """The actor vouches that the node is off: its tasks may run elsewhere. Raises Refused while it answers."""
    must_be_admin(actor, "fence a node")
    _need_reason(reason, f"berth node fence {name} --reason TEXT")
    node = _node(control, name)
    if node.up and not node.gone:
        raise Refused.of(
            "fence-alive",
            f"node {name} answers: fencing says that it is off, and its cards would be given twice.",
            f"To keep new work away from it: berth node drain {name} --reason TEXT",
        )
    return await _put(control, actor, name, "fenced", fence=reason)


async def unfence(control: Control, actor: Actor, name: str) -> Node:
    """Take the node back."""
    must_be_admin(actor, "unfence a node")
    return await _put(control, actor, name, "unfenced", fence="")


async def remove(control: Control, actor: Actor, name: str) -> Node:
    """Forget a node that the engine no longer has. Raises Refused while it is there or holds work."""
    must_be_admin(actor, "remove a node")
    node = _node(control, name)
    uuids = control.cluster.ledger.on_node(name)
    if not node.gone and node.up:
        raise Refused.of(
            "node-alive",
            f"node {name} is part of the engine and answers.",
            f"Take it out of the engine first (Swarm: docker node rm {name})",
        )
    if any(control.cluster.ledger.holders[uuid] for uuid in uuids) and not node.fence:
        raise Refused.of(
            "node-holds-work", f"cards of {name} are held by work.", f"berth node fence {name} --reason 'it is off'"
        )
    note = control.note("node-removed", name, actor=actor.name, node=name)
    await change_in_turn(control, lambda: (*(DropCard(uuid) for uuid in sorted(uuids)), DropNode(name), note))
    control.wake("place", "label")
    return node


async def permit_labels(control: Control, actor: Actor, name: str) -> Node:
    """Permit the label writes that were withheld because they would kill work of others."""
    must_be_admin(actor, "permit label writes")
    return await _put(control, actor, name, "labels-permitted", labels_permitted=True)


async def fence_card(control: Control, actor: Actor, uuid: str, reason: str) -> Card:
    """Keep new work off one card; what runs on it goes on."""
    must_be_admin(actor, "fence a card")
    _need_reason(reason, f"berth card fence {uuid} --reason TEXT")
    return await _put_card(control, actor, uuid, "card-fenced", fence=reason)


async def unfence_card(control: Control, actor: Actor, uuid: str) -> Card:
    """Let the card take work again; a quarantine is lifted, too."""
    must_be_admin(actor, "unfence a card")
    return await _put_card(control, actor, uuid, "card-unfenced", fence="", quarantine="")


async def _put(control: Control, actor: Actor, name: str, kind: str, **fields: object) -> Node:
    reason = str(fields.get("drain") or fields.get("fence") or "")
    text = _node(control, name).name + (f": {reason}" if reason else "")
    note = control.note(kind, text, actor=actor.name, node=name)
    await change_node(control, name, lambda now: msgspec.structs.replace(now, **fields), (note,))
    control.wake("observe", "place", "label", "reconcile", "reclaim")
    return _node(control, name)


async def _put_card(control: Control, actor: Actor, given: str, kind: str, **fields: object) -> Card:
    card = _card(control, given)
    text = card.uuid + (f": {fields['fence']}" if fields.get("fence") else "")
    note = control.note(kind, text, actor=actor.name, node=card.node, card=card.uuid)
    await change_card(control, card.uuid, lambda now: msgspec.structs.replace(now, **fields), (note,))
    control.wake("place", "label")
    return _card(control, card.uuid)


def _need_reason(reason: str, usage: str) -> None:
    if not reason.strip():
        raise BadInput.of(
            "no-reason", "a reason is needed: whoever finds it later wants to know.", usage, field="reason"
        )


def _node(control: Control, name: str) -> Node:
    node = control.cluster.nodes.get(name)
    if node is None:
        known = ", ".join(sorted(control.cluster.nodes)) or "none"
        raise NotFound.of("no-such-node", f"there is no node {name}; the nodes are: {known}.", "List them: berth nodes")
    return node


def _card(control: Control, name: str) -> Card:
    cards = control.cluster.cards
    found = [cards[name]] if name in cards else [card for card in cards.values() if card.is_named(name)]
    if len(found) == 1:
        return found[0]
    what = "fits several cards" if found else "is no card that Berth knows"
    raise NotFound.of("no-such-card", f"{name} {what}.", "The full UUIDs are in: berth cards --json")
