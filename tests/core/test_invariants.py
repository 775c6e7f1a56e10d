"""The checks themselves: each wrong plan is found. (That right ones pass is what tests/property shows.)"""

from berth.core.invariants import broken_plan
from berth.model.card import Share
from berth.model.plan import Place, Plan, Wait
from berth.model.snapshot import Candidate, NodeView
from berth.model.spec import Request
from tests import build
from tests.core.waiting import snap, wants


def whole(card: str) -> Share:
    return Share(card, 1000, 81920)


def found(nodes: list[NodeView], waiting: list[Candidate], *made: Place | Wait) -> str:
    places = tuple(one for one in made if isinstance(one, Place))
    waits = tuple(one for one in made if isinstance(one, Wait))
    return "; ".join(broken_plan(snap(nodes, *waiting), Plan(places, waits)))


def test_each_is_answered_once() -> None:
    nodes, place = [build.view("a", 2)], Place("j1.1", "a", (whole("GPU-a-0"),))
    assert found(nodes, [wants("j1")], place) == ""
    assert "not answered exactly once" in found(nodes, [wants("j1")])
    assert "not answered exactly once" in found(nodes, [wants("j1")], place, Wait("j1.1", "held", "", 1))
    assert "does not wait" in found(nodes, [], place)
    assert "positions" in found(nodes, [wants("j1", 5)], Wait("j1.1", "capacity", "", 2))


def test_cards_are_free_whole_well_matching_and_there() -> None:
    a = build.view("a", [build.card("a", 0), build.card("a", 1, fence="x"), build.card("a", 2)], used=[2])
    for card, told in (("GPU-a-1", "not well"), ("GPU-a-2", "in use"), ("GPU-b-0", "not there")):
        assert told in found([a], [wants("j1")], Place("j1.1", "a", (whole(card),)))
    assert "not given whole" in found([a], [wants("j1")], Place("j1.1", "a", (Share("GPU-a-0", 500, 1),)))
    assert "1 cards instead of 2" in found([a], [wants("j1", 2)], Place("j1.1", "a", (whole("GPU-a-0"),)))
    model = wants("j1", 1, "gpu.model == V100")
    assert "does not match" in found([a], [model], Place("j1.1", "a", (whole("GPU-a-0"),)))
    own = wants("j1", 1, owns=("GPU-a-2",), home="a")
    assert found([a], [own], Place("j1.1", "a", (whole("GPU-a-2"),))) == ""


def test_nodes_are_known_ready_and_matching() -> None:
    place = Place("j1.1", "a", (whole("GPU-a-0"),))
    assert "not known" in found([build.view("b", 1)], [wants("j1")], place)
    assert "node is silent" in found([build.view("a", 1, up=False)], [wants("j1")], place)
    off = build.view("a", 1, labels={"gpu.schedule": "false"})
    assert "node does not match" in found([off], [wants("j1")], place)
    assert "blocked task" in found([build.view("a", 1)], [wants("j1", blocked="held")], place)


def test_no_card_and_no_cpu_twice() -> None:
    places = [Place(f"j{n}.1", "a", (whole("GPU-a-0"),)) for n in (1, 2)]
    assert "GPU-a-0 is given 2 times" in found([build.view("a", 1)], [wants("j1"), wants("j2")], *places)
    node = NodeView(build.node("a"), (), 5, 5)
    both = [wants(f"j{n}", request=Request(cpu_nano=3, memory_bytes=3)) for n in (1, 2)]
    told = found([node], both, Place("j1.1", "a"), Place("j2.1", "a"))
    assert "more CPU" in told
    assert "more memory" in told


def test_nobody_is_passed() -> None:
    nodes, waiting = [build.view("a", 2, used=[1])], [wants("j1", 2), wants("j2", 1)]
    place, wait = Place("j2.1", "a", (whole("GPU-a-0"),)), Wait("j1.1", "free-cards", "", 1)
    assert found(nodes, waiting, place, wait) == "j2.1 passes j1.1"
    assert found(nodes, [wants("j1", 2, blocked="held"), wants("j2", 1)], place, wait) == ""
    assert found(nodes, [wants("j1", 3), wants("j2", 1)], place, wait) == ""
