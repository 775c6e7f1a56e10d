"""A stack that is deployed again before its old networks are removed keeps them."""

from collections.abc import AsyncIterator

import pytest

from berth.control.commands import stacks
from berth.control.reclaim import Reclaimer
from berth.store import make_store
from tests.control.bench import ADMIN, Bench, bench


@pytest.fixture
async def eight() -> AsyncIterator[Bench]:
    """A server with eight free cards."""
    async with bench(make_store("memory:")) as found:
        yield found


async def test_a_removal_that_comes_after_a_new_deployment_leaves_the_stack(eight: Bench) -> None:
    await eight.deploy("app", web=1)
    await eight.settle()
    await stacks.remove(eight.control, ADMIN, "app")
    await eight.settle(12)
    assert "app" not in eight.control.cluster.stacks
    await eight.deploy("app", web=1)
    await Reclaimer(eight.control).drop("app")
    await eight.settle(12)
    assert not eight.control.cluster.stacks["app"].removing
    assert eight.free() == 7
