"""Commands on cards find the card that a person means."""

import pytest

from berth.control.commands.nodes import fence_card, unfence_card
from berth.model.errors import NotFound
from berth.store import make_store
from tests.control.bench import ADMIN, bench


async def test_a_card_is_found_by_its_place_its_uuid_and_the_beginning_of_that() -> None:
    async with bench(make_store("memory:")) as eight:
        card = next(card for card in eight.control.cluster.cards.values() if card.place == "n1/2")
        for name in (card.uuid, card.uuid[:12], "n1/2"):
            assert (await fence_card(eight.control, ADMIN, name, "noisy")).fence == "noisy"
            assert (await unfence_card(eight.control, ADMIN, name)).uuid == card.uuid


@pytest.mark.parametrize(
    ("name", "told"), [("2", "2 fits several cards"), ("n1/9", "n1/9 is no card that Berth knows")]
)
async def test_a_name_that_fits_none_or_several_is_refused(name: str, told: str) -> None:
    async with bench(make_store("memory:")) as eight:
        with pytest.raises(NotFound, match=told):
            await fence_card(eight.control, ADMIN, name, "noisy")
