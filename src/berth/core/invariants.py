"""What must hold of every decision and of the ledger, checked the slow and plain way; property tests rest on it.

Nothing here is shared with fit or decide: each rule is said once more, so that a mistake there is found.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from berth.core.constraints import Constraint, card_ok, node_ok, parse
from berth.core.constraints.keys import card_fact
from berth.model.card import WHOLE, Card, Room, Share
from berth.model.plan import Place, Plan
from berth.model.snapshot import Candidate, CardView, NodeView, PortUse, Snapshot
from berth.model.spec import Request

_FALSE = ("false", "0", "no", "off")


def broken_ledger(cards: Iterable[Card], rooms: Mapping[str, Room], grants: Iterable[tuple[str, Share]]) -> list[str]:
    """Sentences about what is wrong: each card's grants and room must add up to the whole card, never to more."""
    known = {card.uuid: card for card in cards}
    booked: dict[str, list[tuple[str, Share]]] = defaultdict(list)
    for task, share in grants:
        booked[share.card].append((task, share))
    wrong = [f"{uuid} is granted, but there is no such card" for uuid in booked if uuid not in known]
    for uuid, card in known.items():
        room = rooms.get(uuid)
        if room is None:
            wrong.append(f"{uuid} has no room in the ledger")
            continue
        milli = room.milli + sum(share.milli for _, share in booked[uuid])
        mib = room.mib + sum(share.mib for _, share in booked[uuid])
        if milli != WHOLE or mib != card.memory_mib:
            wrong.append(f"{uuid}: grants and room are {milli} milli and {mib} MiB of {WHOLE} and {card.memory_mib}")
        if room.milli < 0 or room.mib < 0 or any(share.milli <= 0 or share.mib < 0 for _, share in booked[uuid]):
            wrong.append(f"{uuid} has a negative room or grant")
        if len({task for task, _ in booked[uuid]}) != len(booked[uuid]):
            wrong.append(f"{uuid} is granted twice to one task")
    return wrong


def broken_plan(snapshot: Snapshot, plan: Plan) -> list[str]:
    """Sentences about what is wrong with a plan for this snapshot; none when it is safe and in order."""
    candidates = {one.task: one for one in snapshot.waiting}
    views = {view.node.name: view for view in snapshot.nodes}
    answered = Counter([one.task for one in plan.places] + [one.task for one in plan.waits])
    wrong = [f"{task} is not answered exactly once" for task in candidates if answered[task] != 1]
    wrong += [f"{task} is answered, but does not wait" for task in answered if task not in candidates]
    if wrong:
        return wrong
    if [wait.position for wait in plan.waits] != list(range(1, len(plan.waits) + 1)):
        wrong.append("positions are not 1, 2, 3, ...")
    for place in plan.places:
        view = views.get(place.node)
        if view is None:
            wrong.append(f"{place.task} is placed on {place.node}, which is not known")
        else:
            wrong += _broken_place(candidates[place.task], place, view)
    return (
        wrong + _given_twice(plan) + _overbooked(candidates, views, plan) + _overtaken(snapshot, plan)
        + broken_ports(snapshot, plan)
    )  # fmt: skip


def _broken_place(candidate: Candidate, place: Place, view: NodeView) -> list[str]:
    """One place by itself: a ready node, matching cards, wholly free or the task's own, as many as asked for."""
    request, seen = candidate.request, {one.card.uuid: one for one in view.cards}
    told = f"{place.task} on {place.node}"
    wrong = [f"{told}: a blocked task is placed"] if candidate.blocked else []
    if view.node.state != "ready":
        wrong.append(f"{told}: the node is {view.node.state}")
    if not _node_matches(request, view):
        wrong.append(f"{told}: the node does not match")
    for share in place.shares:
        card = seen.get(share.card)
        if card is None:
            wrong.append(f"{told}: {share.card} is not there")
        elif not _well(request, card, view):
            wrong.append(f"{told}: {share.card} does not match or is not well")
        elif not (card.free or share.card in candidate.owns):
            wrong.append(f"{told}: {share.card} is in use")
        elif (share.milli, share.mib) != (WHOLE, card.card.memory_mib):
            wrong.append(f"{told}: {share.card} is not given whole")
    if len(place.shares) != _need(request, view):
        wrong.append(f"{told}: {len(place.shares)} cards instead of {_need(request, view)}")
    return wrong


def _given_twice(plan: Plan) -> list[str]:
    counts = Counter(share.card for place in plan.places for share in place.shares)
    return [f"{card} is given {count} times" for card, count in counts.items() if count > 1]


def _overbooked(candidates: Mapping[str, Candidate], views: Mapping[str, NodeView], plan: Plan) -> list[str]:
    cpu, memory = Counter[str](), Counter[str]()
    for place in plan.places:
        cpu[place.node] += candidates[place.task].request.cpu_nano
        memory[place.node] += candidates[place.task].request.memory_bytes
    wrong = []
    for name in {place.node for place in plan.places} & views.keys():
        view = views[name]
        if cpu[name] and view.cpu_nano is not None and cpu[name] > view.cpu_nano:
            wrong.append(f"{name}: more CPU is given than is left")
        if memory[name] and view.memory_bytes is not None and memory[name] > view.memory_bytes:
            wrong.append(f"{name}: more memory is given than is left")
    return wrong


def broken_ports(snapshot: Snapshot, plan: Plan) -> list[str]:
    """No host port of a node twice, and an ingress port never beside the same port of anybody on any node."""
    candidates = {one.task: one for one in snapshot.waiting}
    taken = {(view.node.name, port): use.holder for view in snapshot.nodes for port, use in view.ports.items()}
    wrong = []
    for place in plan.places:
        request = candidates[place.task].request
        told = f"{place.task} on {place.node}"
        here = {port: holder for (name, port), holder in taken.items() if name == place.node}
        wrong += [f"{told}: {here[p]} has port {p}" for p in request.ports if here.get(p, place.task) != place.task]
        for (name, port), holder in taken.items():
            if port in request.ingress and holder != place.task:
                wrong.append(f"{told}: {holder} has ingress port {port} on {name}")
        taken |= {(place.node, port): place.task for port in request.ports}
        taken |= {(view.node.name, port): place.task for view in snapshot.nodes for port in request.ingress}
    return wrong


def ports_free(candidate: Candidate, view: NodeView, nodes: Iterable[NodeView]) -> bool:
    """True when nobody else has a port that the task needs: on this node, or for ingress on any."""
    own = candidate.task if candidate.home else ""
    others = {port for port, use in view.ports.items() if use.holder != own}
    spread = {port for one in nodes for port, use in one.ports.items() if use.holder != own}
    return not (others & set(candidate.request.ports) or spread & set(candidate.request.ingress))


def _overtaken(snapshot: Snapshot, plan: Plan) -> list[str]:
    """Strict first come: nobody is placed past an earlier one that waits and could ever get one of the same cards.

    A changed task that is placed with nothing but its own cards passes nobody.
    """
    waits = {wait.task for wait in plan.waits}
    places = {place.task: place for place in plan.places}
    views = list(snapshot.nodes)
    ahead: list[tuple[str, set[str]]] = []
    wrong = []
    for candidate in sorted(snapshot.waiting, key=lambda one: one.rank):
        if candidate.task in waits and not candidate.blocked:
            near = [view for view in views if ports_free(candidate, view, views)]
            ahead.append((candidate.task, sharable(candidate.request, near, waiting=True)))
        elif candidate.task in places:
            views = [_with_ports(view, candidate, places[candidate.task].node) for view in views]
            given = {share.card for share in places[candidate.task].shares}
            if given <= set(candidate.owns):
                continue
            mine = sharable(candidate.request, snapshot.nodes)
            wrong += [f"{candidate.task} passes {first}" for first, cards in ahead if cards & mine]
    return wrong


def _with_ports(view: NodeView, candidate: Candidate, node: str) -> NodeView:
    request = candidate.request
    more = (*request.ports, *request.ingress) if view.node.name == node else request.ingress
    use = PortUse(candidate.task, candidate.name)
    return msgspec.structs.replace(view, ports={**view.ports, **dict.fromkeys(more, use)}) if more else view


def fits_now(candidate: Candidate, view: NodeView, nodes: Sequence[NodeView]) -> bool:
    """True when the task could start on this node (of `nodes`) at this moment, were it alone."""
    request = candidate.request
    if not ports_free(candidate, view, nodes):
        return False
    if candidate.blocked or view.node.state != "ready" or not _node_matches(request, view):
        return False
    own = set(candidate.owns) if candidate.home == view.node.name else set()
    free = {seen.card.uuid for seen in view.cards if seen.free or (seen.card.usable and seen.card.uuid in own)}
    mine = {seen.card.uuid for seen in view.cards if seen.card.uuid in free and _well(request, seen, view)}
    rules = all(node_ok(rule, view, len(free)) for rule in _rules(request) if rule.key == "gpu.free")
    cpu = view.cpu_nano is None or view.cpu_nano >= request.cpu_nano
    memory = view.memory_bytes is None or view.memory_bytes >= request.memory_bytes
    capacity = _has_room(request, view)
    return len(mine) >= _need(request, view) and rules and cpu and memory and capacity


def sharable(request: Request, nodes: Iterable[NodeView], waiting: bool = False) -> set[str]:
    """The cards that a request could get from ready nodes that are large enough.

    With `waiting` only those that it would get once all that runs has ended: what wants a partly used node
    (`gpu.free < 2`) keeps nobody off.
    """
    found: set[str] = set()
    if not request.wants_cards:
        return found
    for view in nodes:
        well = {seen.card.uuid for seen in view.cards if _well(request, seen, view)}
        if view.node.state == "ready" and _large_enough(request, view, well, waiting):
            found |= well
    return found


def _large_enough(request: Request, view: NodeView, well: set[str], empty: bool) -> bool:
    need, usable = _need(request, view), sum(seen.card.usable for seen in view.cards)
    free = [rule for rule in _rules(request) if rule.key == "gpu.free"]
    possible = any(all(node_ok(rule, view, n) for rule in free) for n in range(usable if empty else need, usable + 1))
    return _node_matches(request, view) and 0 < need <= len(well) and _has_room(request, view) and possible


def _has_room(request: Request, view: NodeView) -> bool:
    cpu = not view.node.cpu_nano or view.node.cpu_nano >= request.cpu_nano
    return cpu and (not view.node.memory_bytes or view.node.memory_bytes >= request.memory_bytes)


def _rules(request: Request) -> Sequence[Constraint]:
    return [parse(text) for text in request.constraints]


def _node_matches(request: Request, view: NodeView) -> bool:
    """All that is asked of the node itself, but for the number of free cards."""
    labels = {key: value.strip().lower() for key, value in view.node.all_labels.items()}
    if request.wants_cards and (labels.get("gpu.enable") in _FALSE or labels.get("gpu.schedule") in _FALSE):
        return False
    pinned = request.pinned_node in ("", view.node.name)
    return pinned and all(node_ok(rule, view) for rule in _rules(request) if rule.key != "gpu.free")


def _matching(request: Request, view: NodeView) -> list[Card]:
    rules = [rule for rule in _rules(request) if card_fact(rule.key)]
    cards = [seen.card for seen in view.cards]
    found = [card for card in cards if all(card_ok(rule, card, view.node) for rule in rules)]
    if not request.named:
        return found
    named = [_named(name, cards) for name in request.named]
    whole = all(card is not None and card in found for card in named) and len(set(map(id, named))) == len(named)
    return [card for card in found if card in named] if whole else []


def _named(name: str, cards: Sequence[Card]) -> Card | None:
    meant = [
        card for card in cards
        if name in (card.uuid, f"{card.node}/{card.index}", str(card.index))
        or (name[:4] in ("GPU-", "MIG-") and len(name) > 4 and card.uuid.startswith(name))
    ]  # fmt: skip
    return min(meant, key=lambda card: card.lost, default=None)


def _well(request: Request, seen: CardView, view: NodeView) -> bool:
    return seen.card.usable and seen.card in _matching(request, view)


def _need(request: Request, view: NodeView) -> int:
    if request.named:
        return len(request.named)
    if request.all_matching:
        return max(1, sum(not card.lost for card in _matching(request, view)))
    return request.gpus
