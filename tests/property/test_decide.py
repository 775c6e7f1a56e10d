"""Safety of the decision on random clusters: invariants, the same plan again, memo or not, and explain agrees."""

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from berth.core.decide import Memo, decide
from berth.core.explain import explain
from berth.core.invariants import broken_ledger, broken_plan, fits_now
from berth.core.policies import load
from berth.model.card import WHOLE, Room, Share
from berth.model.plan import Plan
from berth.model.snapshot import Candidate, CardView, NodeView, PortUse, Snapshot
from tests.effort import examples
from tests.property.clusters import emptied, publishers, requests, snapshots, views

FIFO = load("fifo")
slow = settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@slow
@given(snapshots())
def test_every_plan_is_safe_and_in_order(snapshot: Snapshot) -> None:
    assert broken_plan(snapshot, decide(snapshot, FIFO)) == []


@slow
@given(snapshots(), st.randoms(use_true_random=False))
def test_the_same_snapshot_gives_the_same_plan_however_it_is_listed(snapshot: Snapshot, random: object) -> None:
    shuffled = list(snapshot.waiting)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    again = msgspec.structs.replace(snapshot, waiting=tuple(shuffled))
    assert decide(again, FIFO) == decide(snapshot, FIFO)


@slow
@given(snapshots())
def test_alone_a_task_starts_exactly_when_some_node_can_take_it(snapshot: Snapshot) -> None:
    for candidate in snapshot.waiting:
        alone = msgspec.structs.replace(snapshot, waiting=(candidate,))
        assert bool(decide(alone, FIFO).places) is any(
            fits_now(candidate, view, snapshot.nodes) for view in snapshot.nodes
        )


@slow
@given(st.lists(snapshots(), min_size=2, max_size=5), st.lists(requests(), max_size=2))
def test_a_memo_changes_nothing_over_a_stream_of_changes(stream: list[Snapshot], more: list[object]) -> None:
    memo, last = Memo(), stream[0]
    for snapshot in stream:
        for seen in (snapshot, msgspec.structs.replace(snapshot, nodes=last.nodes), snapshot):
            assert decide(seen, FIFO, memo) == decide(seen, FIFO)
        last = snapshot


@slow
@given(snapshots())
def test_why_never_contradicts_the_plan(snapshot: Snapshot) -> None:
    plan, memo = decide(snapshot, FIFO), Memo()
    places = {place.task: place for place in plan.places}
    waits = {wait.task: wait for wait in plan.waits}
    for candidate in snapshot.waiting:
        why = explain(snapshot, candidate.task, FIFO, memo)
        assert why.would_start == tuple(places)
        assert [one.node for one in why.nodes] == [view.node.name for view in snapshot.nodes]
        against = {one.node: one.refusals for one in why.nodes}
        if candidate.task in places:
            assert (why.reason, why.position, why.never) == ("", None, False)
            assert against[places[candidate.task].node] == ()
        else:
            wait = waits[candidate.task]
            assert (why.reason, why.message, why.position) == (wait.reason, wait.message, wait.position)
            assert all(refusals and all(one.rule and one.message for one in refusals) for refusals in against.values())


@slow
@given(snapshots())
def test_never_means_never_and_not_yet_means_that_it_can(snapshot: Snapshot) -> None:
    for wait in decide(snapshot, FIFO).waits:
        candidate = next(one for one in snapshot.waiting if one.task == wait.task)
        if candidate.blocked:
            assert not wait.never
            continue
        if _depends_on_use(snapshot, candidate):
            continue
        alone = msgspec.structs.replace(candidate, owns=(), home="")
        starts = bool(decide(emptied(snapshot, alone), FIFO).places)
        assert starts is not wait.never or (starts and wait.reason == "behind")


def _depends_on_use(snapshot: Snapshot, candidate: Candidate) -> bool:
    """True when an emptied cluster is another one: few free cards are asked for, or a lost card would be counted."""
    texts = candidate.request.constraints
    lost = any(seen.card.lost for view in snapshot.nodes for seen in view.cards)
    return "gpu.free < 2" in texts or "gpu.free == 1" in texts or ("gpu.count >= 2" in texts and lost)


@slow
@given(snapshots(), st.data())
def test_over_time_no_card_is_given_twice_and_everybody_gets_a_turn(snapshot: Snapshot, data: st.DataObject) -> None:
    """Grants are booked, tasks end in any order, and in the end only what never fits is left waiting."""
    waiting = {one.task: msgspec.structs.replace(one, owns=(), home="", blocked="") for one in snapshot.waiting}
    nodes = list(emptied(snapshot).nodes)
    running: dict[str, tuple[str, tuple[Share, ...]]] = {}
    memo = Memo()
    for _ in range(4 * len(waiting) + 1):
        now = Snapshot(0.0, tuple(nodes), tuple(waiting.values()))
        plan = decide(now, FIFO, memo)
        assert broken_plan(now, plan) == []
        for place in plan.places:
            running[place.task] = place.node, place.shares
            asked = waiting.pop(place.task)
            nodes = [_published(_booked(view, place.shares, -1), asked, place.node) for view in nodes]
        assert _ledger(nodes, running) == []
        if not running:
            break
        ended = data.draw(st.sampled_from(sorted(running)))
        _, shares = running.pop(ended)
        nodes = [_freed(_booked(view, shares, 1), ended) for view in nodes]
        assert _ledger(nodes, running) == []
    final = _final(nodes, waiting, memo)
    assert all(wait.never or "gpu.free" in _texts(snapshot, wait.task) for wait in final.waits)


def _texts(snapshot: Snapshot, task: str) -> str:
    return " ".join(next(one for one in snapshot.waiting if one.task == task).request.constraints)


def _final(nodes: list[NodeView], waiting: dict[str, object], memo: Memo) -> Plan:
    return decide(Snapshot(0.0, tuple(nodes), tuple(waiting.values())), FIFO, memo)  # type: ignore[arg-type]


def _booked(view: NodeView, shares: tuple[Share, ...], sign: int) -> NodeView:
    """The node after a Take (-1) or Give (1) of these shares; CPU and memory are not counted here."""
    taken = {share.card: share for share in shares}
    found = []
    for seen in view.cards:
        share = taken.get(seen.card.uuid)
        room = seen.room
        if share is not None:
            room = Room(room.milli + sign * share.milli, room.mib + sign * share.mib)
        found.append(CardView(seen.card, room))
    return msgspec.structs.replace(view, cards=tuple(found))


def _published(view: NodeView, candidate: Candidate, node: str) -> NodeView:
    """The node after a task that was placed on `node` has taken its ports."""
    mine = candidate.request.ports if view.node.name == node else ()
    use = PortUse(candidate.task, candidate.name)
    ports = dict.fromkeys((*mine, *candidate.request.ingress), use)
    return msgspec.structs.replace(view, ports={**view.ports, **ports})


def _freed(view: NodeView, task: str) -> NodeView:
    ports = {port: use for port, use in view.ports.items() if use.holder != task}
    return msgspec.structs.replace(view, ports=ports)


def _ledger(nodes: list[NodeView], running: dict[str, tuple[str, tuple[Share, ...]]]) -> list[str]:
    cards = [seen.card for view in nodes for seen in view.cards]
    rooms = {seen.card.uuid: seen.room for view in nodes for seen in view.cards}
    grants = [(task, share) for task, (_, shares) in running.items() for share in shares]
    return broken_ledger(cards, rooms, grants)


@given(views("n0"))
def test_the_ledger_check_finds_what_is_wrong(view: NodeView) -> None:
    cards = [seen.card for seen in view.cards]
    rooms = {card.uuid: Room(WHOLE, card.memory_mib) for card in cards}
    assert broken_ledger(cards, rooms, []) == []
    for card in cards:
        whole = Share(card.uuid, WHOLE, card.memory_mib)
        assert broken_ledger(cards, rooms, [("a", whole)])
        assert broken_ledger(cards, {**rooms, card.uuid: Room(0, 0)}, [("a", whole)]) == []
        assert broken_ledger(cards, {**rooms, card.uuid: Room(0, 0)}, [("a", whole), ("b", whole)])
        half = Share(card.uuid, 500, 0)
        assert broken_ledger(cards, {**rooms, card.uuid: Room(0, card.memory_mib)}, [("a", half), ("a", half)])
        assert broken_ledger(cards, {**rooms, card.uuid: Room(-1, 0)}, [("a", Share(card.uuid, 1001, card.memory_mib))])
        assert broken_ledger(cards, {uuid: room for uuid, room in rooms.items() if uuid != card.uuid}, [])
    assert broken_ledger(cards, rooms, [("a", Share("ghost", 1, 0))]) == ["ghost is granted, but there is no such card"]


@slow
@given(publishers())
def test_among_tasks_that_publish_ports_none_is_given_twice(snapshot: Snapshot) -> None:
    assert broken_plan(snapshot, decide(snapshot, FIFO)) == []


@slow
@given(st.lists(publishers(), min_size=2, max_size=4))
def test_a_memo_changes_nothing_where_ports_are_published(stream: list[Snapshot]) -> None:
    memo = Memo()
    for snapshot in (*stream, *stream):
        assert decide(snapshot, FIFO, memo) == decide(snapshot, FIFO)
