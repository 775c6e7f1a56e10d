"""By which names a card is meant."""

import pytest

from tests import build

CARD = build.card("gpu-1", 3, uuid="GPU-aaaaaaaa-0000")


@pytest.mark.parametrize("name", ["GPU-aaaaaaaa-0000", "GPU-aaaa", "GPU-a", "gpu-1/3", "3"])
def test_a_card_has_these_names(name: str) -> None:
    assert CARD.is_named(name)


@pytest.mark.parametrize("name", ["", "GPU-", "GPU-b", "gpu-1/2", "gpu-2/3", "aaaa", "33", "all"])
def test_a_card_does_not_have_these(name: str) -> None:
    assert not CARD.is_named(name)


def test_a_declared_card_is_not_meant_by_the_beginning_of_its_place() -> None:
    assert not build.card("gpu-1", 11, uuid="gpu-1/11").is_named("gpu-1/1")
