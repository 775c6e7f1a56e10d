"""Why a task waits, node by node, in words."""

import pytest

from berth.core.explain import explain
from berth.model.node import Node
from berth.model.plan import Why
from berth.model.snapshot import Candidate, NodeView
from tests import build
from tests.core.waiting import FIFO, plan, snap, wants


def why(nodes: list[NodeView], *waiting: Candidate) -> Why:
    """The answer about the last one."""
    return explain(snap(nodes, *waiting), waiting[-1].task, FIFO)


def lines(nodes: list[NodeView], *waiting: Candidate) -> dict[str, list[tuple[str, str]]]:
    """Rule and sentence of each refusal, by node."""
    return {one.node: [(two.rule, two.message) for two in one.refusals] for one in why(nodes, *waiting).nodes}


def test_a_task_that_starts_now_says_where() -> None:
    found = why([build.view("a", 2, used=[0, 1]), build.view("b", 2)], wants("j1", 2))
    assert (found.reason, found.message, found.position, found.never) == ("", "starts now on node b", None, False)
    assert found.would_start == ("j1.1",)
    assert found.nodes[0].refusals[0].message == "0 of 2 matching cards free, 2 needed"
    assert found.nodes[1].refusals == ()


def test_a_waiting_task_says_what_is_missing_on_each_node() -> None:
    nodes = [
        build.view("a", 2, used=[0]),
        build.view("b", [build.card("b", 0, model="A10-24GB")]),
        build.view("c", 4, up=False),
        build.view("d"),
    ]
    found = why(nodes, wants("j1", 2, "gpu.model == A100"))
    assert (found.job, found.reason, found.position, found.never) == ("j1", "free-cards", 1, False)
    assert found.expected_start is None
    assert lines(nodes, wants("j1", 2, "gpu.model == A100")) == {
        "a": [("free-cards", "1 of 2 matching cards free, 2 needed")],
        "b": [("constraint", "'gpu.model == A100' does not hold: it has A10-24GB")],
        "c": [("node-silent", "does not answer")],
        "d": [("no-match", "has no cards")],
    }


def test_behind_is_told_where_the_node_could_take_it() -> None:
    nodes = [build.view("a", 2, used=[0]), build.view("b", 1, used=[0])]
    told = lines(nodes, wants("j1", 2), wants("j2", 1))
    assert told["a"] == [
        ("behind", "an earlier job is served first: train (j1) needs 2 free cards, 1 of 2 free on node a")
    ]
    assert told["b"] == [("free-cards", "0 of 1 matching cards free, 1 needed")]
    third = why(nodes, wants("j1", 2), wants("j2", 1, "gpu.index >= 0"), wants("j3", 1))
    assert third.position == 3
    assert third.message.startswith("an earlier job is served first: train (j1) needs 2")


def test_a_slot_behind_another_of_its_own_job_is_not_told_of_an_earlier_job() -> None:
    nodes = [build.view("a", 2, used=[0, 1])]
    first, second = wants("j1", 1), wants("j1", 1, task="j1.2")
    found = plan(nodes, first, second)
    assert [wait.message for wait in found.waits] == [
        "needs 1 free card, 0 of 2 free on node a",
        "slot 1 of train is served first: it needs 1 free card, 0 of 2 free on node a",
    ]
    assert lines(nodes, first, second)["a"] == [("free-cards", "0 of 2 matching cards free, 1 needed")]
    half = [build.view("a", 2, used=[0])]
    assert lines(half, wants("j1", 2), wants("j1", 1, task="j1.2"))["a"] == [
        ("behind", "slot 1 of train is served first: it needs 2 free cards, 1 of 2 free on node a")
    ]


def test_a_held_task_says_so_on_every_node() -> None:
    told = lines([build.view("a", 1)], wants("j1", 1, blocked="held", blocked_message="held by you"))
    assert told == {"a": [("held", "held by you")]}


@pytest.mark.parametrize(
    ("fields", "rule", "message"),
    [
        ({"drain": "new disk"}, "draining", "is draining: new disk"),
        ({"available": False}, "draining", "is draining: the engine has it set so"),
        ({"fence": "power off"}, "fenced", "is fenced: power off"),
        ({"gone": True}, "node-silent", "is gone"),
        ({"labels": {"gpu.schedule": "false"}}, "gpu.schedule", "gpu.schedule is false: no new work with cards"),
        ({"labels": {"gpu.enable": "false"}}, "no-match", "gpu.enable is false: the node's cards are not Berth's"),
    ],
)
def test_nodes_out_of_service(fields: dict[str, object], rule: str, message: str) -> None:
    assert lines([build.view("a", 1, **fields)], wants("j1"))["a"][0] == (rule, message)


def test_cards_out_of_service() -> None:
    cards = [build.card("a", 0, fence="Xid 79"), build.card("a", 1, lost=True), build.card("a", 2, quarantine="left")]
    told = lines([build.view("a", cards)], wants("j1"))["a"]
    assert told[0] == (
        "fenced",
        "card 0 is fenced (Xid 79), card 1 is lost (the vendor's driver no longer reports this card), "
        "card 2 is quarantined (left)",
    )
    foreign = lines([build.view("a", [build.card("a", 0, foreign="uid 1001")])], wants("j1"))["a"]
    assert foreign[0] == ("free-cards", "card 0 is foreign (uid 1001)")
    beside = [build.card("a", 0), build.card("a", 1, fence="hot")]
    named = lines([build.view("a", beside)], wants("j1", 0, "gpu.free >= 2", named=("0",)))["a"]
    assert named[0] == ("fenced", "card 1 is fenced (hot)")


def test_what_does_not_match_names_the_rule() -> None:
    mixed = build.view("a", [build.card("a", 0, model="A10-24GB", memory_mib=24576), build.card("a", 1)])
    assert lines([mixed], wants("j1", 1, "gpu.model == A10", "gpu.memory >= 40GiB"))["a"] == [
        ("no-match", "no card meets all constraints together")
    ]
    assert lines([mixed], wants("j1", 0, "node.labels.zone == x", "node.role == manager"))["a"] == [
        ("constraint", "'node.labels.zone == x' does not hold"),
        ("constraint", "'node.role == manager' does not hold"),
    ]
    unnamed = build.view("a", [build.card("a", 0, model="")])
    assert lines([unnamed], wants("j1", 1, "gpu.model == A10"))["a"] == [
        ("constraint", "'gpu.model == A10' does not hold")
    ]
    assert lines([mixed], wants("j1", 1, pinned_node="b"))["a"] == [
        ("volume", "the task is tied to node b by its volume")
    ]
    assert lines([mixed], wants("j1", 0, named=("0", "7")))["a"] == [("no-match", "has not all of the cards 0, 7")]
    broken = lines([mixed], wants("j1", 1, "node.labels.x = y"))["a"]
    assert broken[0][0] == "constraint"
    assert "'=' is not an operator" in broken[0][1]


def test_counts_and_resources_are_told_with_their_numbers() -> None:
    node = NodeView(Node(name="a", engine="swarm", cpu_nano=4 * 10**9, memory_bytes=2**30), build.view("a", 2).cards,
                    10**9, 2**29)  # fmt: skip
    assert lines([node], wants("j1", 3))["a"] == [
        ("capacity", "has 2 matching cards, 3 needed"), ("free-cards", "2 of 2 matching cards free, 3 needed"),
    ]  # fmt: skip
    assert lines([node], wants("j1", 1, cpu_nano=8 * 10**9))["a"][0] == (
        "capacity", "has 4 CPUs and 1024 MiB of memory in all, 8 CPUs asked for",
    )  # fmt: skip
    assert lines([node], wants("j1", 1, cpu_nano=2 * 10**9, memory_bytes=600 * 2**20))["a"] == [
        ("cpu", "1 CPU not reserved yet, 2 CPUs asked for"),
        ("memory", "512 MiB of memory not reserved yet, 600 MiB of memory asked for"),
    ]
    assert lines([build.view("a", 2, used=[0])], wants("j1", 1, "gpu.free >= 2"))["a"] == [
        ("free-cards", "'gpu.free >= 2' does not hold: the node has 1 free")
    ]
    assert lines([node], wants("j1", 1, "gpu.free >= 3"))["a"][0] == (
        "capacity", "'gpu.free >= 3' can never hold here",
    )  # fmt: skip


def test_a_task_that_does_not_wait_is_not_explained() -> None:
    with pytest.raises(KeyError):
        explain(snap([]), "j9.1", FIFO)
