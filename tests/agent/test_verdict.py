"""What is judged wrong, and the cause that is named for it."""

from typing import Any

from berth.agent.inspected import Inspected
from berth.agent.sight import Sight
from berth.agent.verdict import Verdict, judge
from berth.model.card import Card

A, B, C = "GPU-aaaa", "GPU-bbbb", "GPU-cccc"
CARDS = tuple(
    Card(uuid=uuid, node="gpu-1", index=index, vendor="nvidia", model="T4", minor=minor)
    for index, (uuid, minor) in enumerate(((A, 0), (B, 2), (C, 1)))
)


def container(*granted: str, **facts: Any) -> Inspected:
    """A task's container with this grant."""
    return Inspected(id="c", name="x", pid=1, image="i", image_name="i", task="j.1", granted=granted, **facts)


def nodes(*minors: int) -> Sight:
    """A container that sees these nodes, on cgroup v2."""
    return Sight(frozenset(minors))


def test_exactly_the_granted_cards() -> None:
    assert judge(nodes(2, 1), container(B, C), CARDS, strict=True) == Verdict((C, B))
    assert judge(nodes(), container(), CARDS, strict=True) == Verdict()


def test_another_card_than_granted_names_the_toolkit() -> None:
    found = judge(nodes(2), container(A, visible=A), CARDS, strict=True)
    assert found.cards == (B,)
    assert found.problem.startswith("The container can open GPU-bbbb (/dev/nvidia2), which Berth did not grant: ")
    assert "the container toolkit" in found.problem


def test_more_cards_than_granted_names_what_let_them_in() -> None:
    both = nodes(0, 1)

    def cause(sight: Sight = both, **facts: Any) -> str:
        return judge(sight, container(A, **facts), CARDS, strict=True).problem.partition(" did not grant: ")[2]

    assert cause(privileged=True) == "it runs privileged."
    assert cause(devices=("/dev/nvidia1",)) == "it was started with the device /dev/nvidia1."
    assert cause(mounts=("/dev",)) == "it mounts /dev of the host."
    assert cause(visible="all") == "its environment says NVIDIA_VISIBLE_DEVICES=all."
    assert cause(Sight(frozenset({0}), frozenset({0, 1}))) == "a device cgroup rule permits it."


def test_a_card_without_a_grant() -> None:
    found = judge(nodes(0), container(visible="all"), CARDS, strict=False)
    assert found.cards == (A,)
    assert found.problem.endswith("its environment says NVIDIA_VISIBLE_DEVICES=all.")


def test_a_granted_card_that_is_not_there() -> None:
    found = judge(nodes(0), container(A, B), CARDS, strict=True)
    assert found.cards == (A,)
    assert "does not see GPU-bbbb (/dev/nvidia2), which Berth granted" in found.problem


def test_a_granted_card_whose_rules_were_replaced() -> None:
    found = judge(Sight(frozenset({0}), frozenset()), container(A), CARDS, strict=True)
    assert found == Verdict(
        (), "The container has the node of GPU-aaaa (/dev/nvidia0) but may not open it: its device rules were replaced."
    )


def test_a_privileged_container_reaches_every_card_of_a_real_driver() -> None:
    assert "GPU-bbbb" in judge(nodes(), container(A, privileged=True), CARDS, strict=True).problem
    assert judge(nodes(), container(A, B, C, privileged=True), CARDS, strict=True).problem == ""


def test_cards_that_are_not_there_for_real_need_not_show() -> None:
    assert judge(nodes(), container(A), CARDS, strict=False) == Verdict()
    assert judge(Sight(everything=True), container(A, privileged=True), CARDS, strict=False) == Verdict()
    assert "does not see GPU-aaaa" in judge(nodes(), container(A), CARDS, strict=True).problem


def test_but_where_nodes_are_they_must_be_the_granted_ones() -> None:
    assert "/dev/nvidia1" in judge(nodes(1), container(A), CARDS, strict=False).problem
    assert judge(nodes(0), container(A), CARDS, strict=False) == Verdict((A,))


def test_a_card_that_the_agent_does_not_know() -> None:
    found = judge(nodes(0, 9), container(A), CARDS, strict=True)
    assert found.problem.startswith("The container can open /dev/nvidia9, which Berth did not grant")


def test_declared_names_mean_the_index() -> None:
    assert judge(nodes(2), container("gpu-1/1"), CARDS, strict=True) == Verdict((B,))
    assert "GPU-bbbb" in judge(nodes(2), container("gpu-1/0"), CARDS, strict=True).problem
    assert judge(nodes(1), container("gpu-9/1"), (), strict=False) == Verdict()


def test_a_grant_of_a_card_that_is_unknown_here_is_not_judged() -> None:
    assert judge(nodes(0), container("GPU-elsewhere"), CARDS, strict=True) == Verdict((A,))
