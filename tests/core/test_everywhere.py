"""Which slots a service of `mode: global` with cards has, as nodes come, drain, fall silent and go."""

from typing import Any

from berth.core.everywhere import Slots, covers_nodes, slots
from berth.model.job import Job, Task
from berth.model.snapshot import NodeView
from berth.model.spec import Request
from tests.build import job, spec, task, view


def service(**fields: Any) -> Job:
    """A service with one card on each node."""
    return job(spec=spec(1, mode="global", **fields), replicas=0)


def on(name: str, slot: int, **fields: Any) -> Task:
    """The slot of a node."""
    return task(slot=slot, for_node=name, **{"state": "running", "node": name, **fields})


def after(tasks: tuple[Task, ...], *nodes: NodeView) -> Slots:
    return slots(service(), tasks, nodes)


def names(found: tuple[Task, ...]) -> list[str]:
    return [one.for_node for one in found]


def test_each_node_with_a_card_has_one_slot_in_the_order_of_names() -> None:
    found = after((), view("g1", 2), view("g2", 1), view("cpu"))
    assert [(one.slot, one.for_node) for one in found.fresh] == [(1, "g1"), (2, "g2")]
    assert (found.count, found.end, found.again) == (2, (), ())


def test_a_node_that_joins_gets_the_next_slot_and_nobody_else_moves() -> None:
    found = after((on("g2", 1),), view("g1", 1), view("g2", 1))
    assert [(one.slot, one.for_node) for one in found.fresh] == [(2, "g1")]
    assert (found.count, found.end) == (2, ())


def test_a_full_node_has_its_slot_too_and_waits() -> None:
    assert names(after((), view("g1", 1, used=[0])).fresh) == ["g1"]


def test_a_draining_node_gets_none_and_keeps_what_runs() -> None:
    draining = view("g1", 1, drain="new disk")
    assert after((), draining).count == 0
    assert after((on("g1", 1),), draining).end == ()
    assert names(after((on("g1", 1, state="waiting", node=""),), draining).end) == ["g1"]


def test_a_silent_node_keeps_its_slot() -> None:
    found = after((on("g1", 1, state="unknown"),), view("g1", 1, up=False))
    assert (found.count, found.end, found.fresh) == (1, (), ())


def test_a_node_that_no_longer_meets_the_constraints_loses_its_slot_and_gets_the_same_one_again() -> None:
    wanted = service(request=Request(gpus=1, constraints=("node.labels.zone == a",)))
    before = (on("g1", 1),)
    found = slots(wanted, before, (view("g1", 1, labels={"zone": "b"}),))
    assert (names(found.end), found.count) == (["g1"], 0)
    dropped = (on("g1", 1, state="ended", reason="cancelled"),)
    found = slots(wanted, dropped, (view("g1", 1, labels={"zone": "a"}),))
    assert (names(found.again), found.fresh, found.count) == (["g1"], (), 1)


def test_only_what_berth_places_is_spread_by_berth() -> None:
    assert covers_nodes(service())
    assert not covers_nodes(job(spec=spec(0, mode="global"), native=True))
    assert not covers_nodes(job())
