"""A stack of the docker CLI's is taken over: which slot gets whose cards, and step by step how they change hands."""

from collections.abc import Sequence
from typing import Any

import pytest

from berth.core.expire import expire
from berth.core.handover import (
    Freed,
    Over,
    Replaced,
    Retire,
    Shrink,
    Sight,
    Step,
    TakenAway,
    handover,
    waits_for_name,
)
from berth.core.situation import Situation
from berth.core.status import job_status
from berth.core.takeover import Assigned, Wish, assign
from berth.model.job import Job, Task
from berth.model.seen import Observed, Other
from berth.model.snapshot import NodeView
from berth.model.spec import Request
from berth.ports import Capabilities
from tests import build


def service(name: str = "s_train", *tasks: str, nodes: Sequence[str] = (), **fields: Any) -> Other:
    """A service of the stack s; its tasks run on node a unless told."""
    where = tuple(f"id-{node}" for node in nodes) or ("id-a",) * len(tasks)
    base = {"stack": "s", "replicas": len(tasks), "takes_cards": bool(fields.get("cards"))}
    return Other(id=f"id-{name}", name=name, kind="service", nodes=where, tasks=tasks, **{**base, **fields})


def assigned(nodes: list[NodeView], *wishes: Wish, others: Sequence[Other] = ()) -> Assigned:
    return assign(wishes, nodes, (*(wish.service for wish in wishes), *others))


def wish(other: Other, request: Request = Request(gpus=1), replicas: int | None = None) -> Wish:  # noqa: B008 - frozen
    return Wish(other.name, request, len(other.tasks) if replicas is None else replicas, other)


def cards(found: Assigned, name: str = "s_train") -> list[tuple[int, str, str, tuple[str, ...]]]:
    return [(one.slot, one.task, one.node, one.cards) for one in found.slots[name]]


def test_tasks_keep_the_cards_that_they_name() -> None:
    train = service("s_train", "t1", cards=("0", "1"))
    found = assigned([build.view("a", 4)], wish(train, Request(named=("0", "1"))))
    assert cards(found) == [(1, "t1", "a", ("GPU-a-0", "GPU-a-1"))]
    assert found.problems == ()


def test_tasks_placed_by_labels_get_what_was_counted_for_them_then_what_nobody_has() -> None:
    train = service("s_train", "t1", "t2", "t3")
    view = build.view("a", 5, used=[0], taken={"GPU-a-4": "id-s_train", "GPU-a-3": "id-other"})
    found = assigned([view], wish(train))
    assert cards(found) == [
        (1, "t1", "a", ("GPU-a-4",)),
        (2, "t2", "a", ("GPU-a-3",)),
        (3, "t3", "a", ("GPU-a-1",)),
    ]


def test_cards_that_another_service_names_are_left_to_it() -> None:
    named, placed = service("s_named", "n1", cards=("0",)), service("s_placed", "p1")
    found = assigned(
        [build.view("a", 3)], wish(placed), wish(named), others=[service("x", "x1", cards=("1",), stack="x")]
    )
    assert (cards(found, "s_named"), cards(found, "s_placed")) == (
        [(1, "n1", "a", ("GPU-a-0",))],
        [(1, "p1", "a", ("GPU-a-2",))],
    )


def test_a_service_without_cards_keeps_its_nodes_and_surplus_tasks_get_no_slot() -> None:
    other = service("s_train", "t1", "t2", nodes=("a", "b"))
    found = assigned([build.view("a"), build.view("b")], wish(other, Request(), replicas=1))
    assert cards(found) == [(1, "t1", "a", ())]


@pytest.mark.parametrize(
    ("view", "other", "request_", "why"),
    [
        (build.view("b", 1), service("s_train", "t1"), Request(gpus=1), "Berth does not know that node"),
        (build.view("a", 1), service("s_train", "t1"), Request(gpus=2), "asks for 2 matching cards, and a has 1"),
        (
            build.view("a", 1), service("s_train", "t1"), Request(gpus=1, constraints=("gpu.model == V100",)),
            "asks for 1 matching card, and a has 0",
        ),
        (build.view("a", 2), service("s_train", "t1", cards=("1",)), Request(gpus=2), "the cards named 1"),
        (build.view("a", 1, used=[0]), service("s_train", "t1"), Request(gpus=1), "another task has its cards"),
        (
            build.view("a", 1), service("s_train", "t1", "t2", cards=("0",)), Request(named=("0",)),
            "another task has its cards",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_a_problem(view: NodeView, other: Other, request_: Request, why: str) -> None:
    (problem,) = assigned([view], wish(other, request_)).problems
    assert problem.code == "take-over-cards"
    assert why in problem.message
    assert problem.field == "services.train"


def held(slot: int, task: str = "", **fields: Any) -> Task:
    base = {"state": "restarting", "node": "a", "takes_over": task, "cards": (f"GPU-a-{slot}",), "gone": False}
    return build.task("j1", slot, **{**base, **fields})


def runs(slot: int, **fields: Any) -> Task:
    return build.task("j1", slot, **{"state": "running", "attempt": 1, "node": "a", "gone": False, **fields})


JOB = build.job(name="s_train", stack="s", taking="id-s_train", replicas=2)


def look(*others: Other) -> Observed:
    return build.observed(others=others)


def steps(tasks: Sequence[Task], *others: Other, job: Job = JOB, settled: float = 0.0) -> list[Step]:
    return handover([(job, tasks)], Sight(look(*others), {"a": "id-a", "b": "id-b"}, {job.id: settled}))


def test_one_old_task_after_the_other_ends_and_its_slot_starts_before_the_next() -> None:
    both = [held(1, "t1"), held(2, "t2")]
    assert steps(both, service("s_train", "t1", "t2")) == [Shrink("j1", "id-s_train", 1)]
    assert steps(both, service("s_train", "t1", "t2", replicas=1)) == []
    assert steps(both, service("s_train", "t1")) == [Freed("j1.2")]
    for state in ("restarting", "starting", "failed", "stopping", "unknown"):
        moved = build.task("j1", 2, state=state, attempt=1, node="a")
        assert steps([held(1, "t1"), moved], service("s_train", "t1")) == []
    assert steps([held(1, "t1"), runs(2)], service("s_train", "t1")) == [Shrink("j1", "id-s_train", 0)]
    assert steps([held(1, "t1"), runs(2)], service("s_train")) == [Freed("j1.1"), Retire("j1", "id-s_train")]
    retiring = build.job(name="s_train", stack="s", taking="id-s_train", retiring=True)
    assert steps([held(1), runs(2)], service("s_train"), job=retiring) == [Retire("j1", "id-s_train")]
    assert steps([held(1), runs(2)], job=retiring) == [Over("j1")]


def test_swarm_chooses_and_slot_one_waits_for_the_name() -> None:
    assert steps([held(1, "t1"), held(2, "t2")], service("s_train", "t2")) == [Freed("j1.1")]
    assert steps([held(1), held(2, "t2")], service("s_train", "t2")) == [Shrink("j1", "id-s_train", 0)]
    assert (waits_for_name(JOB, 1), waits_for_name(JOB, 2)) == (True, False)
    assert not waits_for_name(build.job(taking="x", native=True), 1)


def test_a_call_that_is_under_way_is_waited_for() -> None:
    assert steps([held(1, "t1")], service("s_train", "t1"), settled=float("inf")) == []


def test_a_task_that_swarm_itself_started_anew_holds_the_cards() -> None:
    """No slot is freed while one of the old tasks is missing: its next one may come to the same cards."""
    both = [held(1, "t1"), held(2, "t2")]
    assert steps(both, service("s_train", "t2", replicas=2)) == [Shrink("j1", "id-s_train", 1)]
    assert steps(both, service("s_train", "t9", "t2")) == [Replaced("j1.1", "t9")]
    elsewhere = service("s_train", "t9", "t2", nodes=("b", "a"))
    assert steps(both, elsewhere) == [Freed("j1.1")]


def test_surplus_old_tasks_end_too() -> None:
    one = [held(1, "t1")]
    assert steps(one, service("s_train", "t1", "t2")) == [Shrink("j1", "id-s_train", 1)]
    assert steps(one, service("s_train", "t2")) == [Replaced("j1.1", "t2")]
    assert steps([held(1, "t2")], service("s_train", "t2")) == [Shrink("j1", "id-s_train", 0)]


def test_services_of_one_stack_take_their_turns() -> None:
    second = build.job("j2", name="s_two", stack="s", taking="id-s_two", seq=1)
    other = build.task("j2", 1, state="restarting", node="a", takes_over="u1")
    pair = [(second, [other]), (JOB, [held(1, "t1")])]
    seen = look(service("s_train", "t1"), service("s_two", "u1"))
    assert handover(pair, Sight(seen, {"a": "id-a"}, {})) == [Shrink("j1", "id-s_train", 0)]
    assert handover(pair[:1], Sight(seen, {"a": "id-a"}, {})) == [Shrink("j2", "id-s_two", 0)]


def test_a_person_who_removes_the_old_service_means_the_job() -> None:
    assert steps([held(1, "t1")]) == [Freed("j1.1"), TakenAway("j1")]
    ending = service("s_train", "t1", stack="", replicas=None)
    assert steps([held(1, "t1")], ending) == [TakenAway("j1")]
    gone = build.job(name="s_train", stack="s", taking="id-s_train", cancelled=True, retiring=True)
    assert steps([held(1, "t1", state="ended")], ending, job=gone) == []


def test_a_cancelled_job_takes_the_old_service_with_it_and_frees_no_card_before_it_is_gone() -> None:
    job = build.job(name="s_train", stack="s", taking="id-s_train", cancelled=True)
    over = held(1, "t1", state="ended", reason="cancelled")
    assert steps([over], service("s_train", "t1"), job=job) == [Retire("j1", "id-s_train")]
    situation = Situation(
        observed=look(service("s_train", "t1")), capabilities=Capabilities(), cluster=build.CLUSTER, now=1000.0,
        nodes={}, settled={},
    )  # fmt: skip
    assert list(expire([over], {"j1.1"}, situation)) == []
    assert [one.task for one in expire([held(1, state="ended", reason="cancelled")], {"j1.1"}, situation)] == ["j1.1"]


def test_how_far_it_is_is_told() -> None:
    status = job_status(JOB, [held(1, "t1"), runs(2)], {})
    assert (status.state, status.reason) == ("running", "engine")
    assert status.message == "is being taken over: 1 of 2 slots still run as the docker CLI started them"
    failed = build.task("j1", 2, state="failed", attempt=1, error="no such image")
    assert job_status(JOB, [held(1, "t1"), failed], {}).message.endswith(
        "no further one is ended, since slot 2 is failed (no such image)"
    )
