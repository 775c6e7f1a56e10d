"""Nodes whose cards a person declared by labels."""

from typing import Any

import pytest

from berth.core.adopt import Adopted, adopted
from berth.model.seen import Other
from tests import build

LABELS = {"gpu.enable": "true", "gpu.count": "2", "zone": "x"}


def taken_over(labels: dict[str, str], *others: Other, lives: tuple[Any, ...] = (), **fields: Any) -> Adopted | None:
    """What becomes of a node with these labels."""
    return adopted(build.node(labels=labels, **fields), build.observed(*lives, others=others))


def test_a_node_is_taken_over_once_with_its_cards_and_what_a_person_had_written() -> None:
    found = taken_over(LABELS)
    assert found is not None
    assert [card.uuid for card in found.cards] == ["gpu-1/0", "gpu-1/1"]
    assert (found.node.adopted, found.node.before) == (True, {"gpu.count": "2"})
    assert taken_over(LABELS, adopted=True) is None


@pytest.mark.parametrize(
    "labels",
    [{"gpu.count": "2"}, {**LABELS, "gpu.enable": "false"}, {**LABELS, "gpu.schedule": "no"}, {"gpu.enable": "true"}],
)
def test_a_node_that_is_not_berths_or_declares_no_cards_is_left_alone(labels: dict[str, str]) -> None:
    assert taken_over(labels) is None


COUNTED = {**LABELS, "gpu.free": "1"}


def test_a_card_that_was_counted_off_is_the_service_s_that_asks_for_such_labels() -> None:
    service = Other(id="s1", name="web", kind="service", nodes=("id-gpu-1",), constraints=("node.labels.gpu.free>0",))
    found = taken_over(COUNTED, service)
    assert found is not None
    assert found.node.taken == {"gpu-1/1": "s1"}
    assert [card.fence for card in found.cards] == ["", ""]


def test_a_card_that_was_counted_off_for_nobody_is_fenced() -> None:
    found = taken_over(COUNTED)
    assert found is not None
    assert [bool(card.fence) for card in found.cards] == [False, True]


def test_what_is_seen_to_use_a_card_explains_the_count() -> None:
    ours = build.life(cards=("gpu-1/0",))
    theirs = Other(id="c1", name="x", kind="container", nodes=("id-gpu-1",), takes_cards=True)
    for found in (taken_over(COUNTED, lives=(ours,)), taken_over(COUNTED, theirs)):
        assert found is not None
        assert [card.fence for card in found.cards] == ["", ""]
