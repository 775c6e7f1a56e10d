"""What an inventory of a node changes."""

import msgspec
import pytest

from berth.core.inventory import compared, owed
from berth.model.card import Card
from berth.model.change import DropCard, PutCard, RenameCard, Take
from tests import build

HERE = build.card(index=0)
STAND_IN = build.card(uuid="gpu-1/0", declared=True, model="A100", fence="noisy")


def changed(have: tuple[Card, ...], found: tuple[Card, ...], held: tuple[str, ...] = ()) -> tuple[object, object]:
    """The changes and the lost, where `held` cards are held by a task."""
    holders = {card.uuid: (("j1.1",) if card.uuid in held else ()) for card in have}
    return compared({card.uuid: card for card in have}, holders, found)


def test_a_new_card_is_put_and_one_that_is_as_it_was_is_left_alone() -> None:
    assert changed((), (HERE,)) == ((PutCard(HERE),), ())
    assert changed((HERE,), (HERE,)) == ((), ())


def test_new_facts_of_a_card_keep_what_stands_against_it() -> None:
    fenced = msgspec.structs.replace(HERE, fence="noisy", foreign="used by x", quarantine="two")
    newer = msgspec.structs.replace(HERE, driver="570.1")
    assert changed((fenced,), (newer,)) == ((PutCard(msgspec.structs.replace(fenced, driver="570.1")),), ())


def test_a_declared_card_becomes_the_found_one_of_its_index_and_keeps_its_old_model_as_an_alias() -> None:
    found = msgspec.structs.replace(HERE, fence="noisy", aliases=("A100",))
    assert changed((STAND_IN,), (HERE,), held=(STAND_IN.uuid,)) == ((RenameCard("gpu-1/0", found),), ())


@pytest.mark.parametrize("held", [(), (HERE.uuid,)])
def test_a_card_that_is_not_found_any_more_is_lost_and_told_of_once(held: tuple[str, ...]) -> None:
    lost = msgspec.structs.replace(HERE, lost=True)
    assert changed((HERE,), (), held) == ((PutCard(lost),), (HERE.uuid,))
    assert changed((lost,), (), held) == ((), ())


def test_a_declared_card_that_is_not_found_goes_unless_a_task_holds_it() -> None:
    assert changed((STAND_IN,), ()) == ((DropCard("gpu-1/0"),), ())
    assert changed((STAND_IN,), (), held=(STAND_IN.uuid,))[1] == ("gpu-1/0",)


def test_a_card_that_appears_while_a_task_runs_on_it_is_booked() -> None:
    running = build.task(state="running", cards=(HERE.uuid,))
    assert owed(HERE, [running], {}) == (Take("j1.1", build.whole(HERE)),)
    assert owed(HERE, [running], {"j1.1": (HERE.uuid,)}) == ()
    assert owed(HERE, [build.task(state="ended", cards=(HERE.uuid,))], {}) == ()
