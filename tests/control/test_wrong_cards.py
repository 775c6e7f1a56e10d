"""What follows when an agent says that a container sees other cards than granted."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from berth.agent.link import InProcessLink
from berth.control.agents import Agents
from berth.control.commands import jobs as commands
from berth.control.commands import nodes
from berth.control.turns import change_node
from berth.control.wrong_cards import found_wrong_cards
from berth.model.errors import Problem
from berth.model.job import Job
from berth.model.wire import Heartbeat, Hello, Refresh, Saw, Welcome
from berth.store import make_store
from tests.control.bench import ADMIN, Bench, bench

SAID = "it sees GPU-1, which Berth did not grant."


@pytest.fixture
async def eight() -> AsyncIterator[Bench]:
    """A server with eight free cards."""
    async with bench(make_store("memory:")) as found:
        yield found


async def saw(eight: Bench, job: Job, attempt: int = 1, problem: str = SAID) -> None:
    """The agent of the task's node tells what its container sees."""
    task = eight.task(job)
    await found_wrong_cards(
        eight.control, task.node, Saw(task=task.id, attempt=attempt, container="c", problem=problem)
    )


async def test_the_attempt_fails_and_its_node_is_drained_until_somebody_says_that_it_is_mended(eight: Bench) -> None:
    job = await eight.submit()
    await eight.settle()
    name = eight.task(job).node
    await saw(eight, job)
    node = eight.control.cluster.nodes[name]
    assert (node.mistrust, node.complaint, node.state) == (SAID, f"wrong cards: {SAID}", "draining")
    await eight.settle()
    assert (eight.task(job).state, eight.task(job).reason, eight.task(job).error) == ("failed", "wrong-cards", SAID)
    assert await eight.events("wrong-cards", job) == 1
    mended = await nodes.undrain(eight.control, ADMIN, name)
    assert (mended.complaint, mended.state) == ("", "ready")


async def test_an_agent_that_complains_of_something_else_does_not_wipe_the_mistrust_out(eight: Bench) -> None:
    job = await eight.submit()
    await eight.settle()
    await saw(eight, job)
    name = eight.task(job).node
    await change_node(eight.control, name, lambda node: msgspec.structs.replace(node, flag="slow"))
    assert eight.control.cluster.nodes[name].complaint == f"wrong cards: {SAID}; slow"


async def test_the_agent_of_an_undrained_node_is_asked_whether_what_it_said_still_stands(
    eight: Bench,
) -> None:
    name = "n1"
    agents = Agents(eight.control)
    stream = await InProcessLink(lambda peer: agents.serve(peer, name)).connect()
    lost = Problem(code="card-lost", message="card 3 fell off the bus")
    await stream.send(Hello(agent="1", instance="i", hostname=name, problems=(lost,)))
    assert isinstance(await stream.receive(), Welcome)
    await stream.send(Heartbeat())
    while not eight.control.cluster.nodes[name].flag:
        await asyncio.sleep(0)
    await nodes.drain(eight.control, ADMIN, name, "to mend it")
    assert (await nodes.undrain(eight.control, ADMIN, name)).complaint == ""
    assert isinstance(await stream.receive(), Refresh)
    await stream.close()


@pytest.mark.parametrize(("attempt", "problem"), [(1, ""), (2, SAID)])
async def test_what_is_right_or_not_this_attempt_changes_nothing(eight: Bench, attempt: int, problem: str) -> None:
    job = await eight.submit()
    await eight.settle()
    await saw(eight, job, attempt, problem)
    await eight.settle()
    assert eight.task(job).state == "running"
    assert not any(node.mistrust for node in eight.control.cluster.nodes.values())


async def test_a_cancel_stays_a_cancel(eight: Bench) -> None:
    job = await eight.submit()
    await eight.settle()
    await commands.cancel(eight.control, ADMIN, job.id)
    await saw(eight, job)
    await eight.settle()
    assert (eight.task(job).state, eight.task(job).reason) == ("ended", "cancelled")
