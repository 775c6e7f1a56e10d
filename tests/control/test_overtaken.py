"""Commands that meet: one that was checked before a cancel and is carried out after it undoes nothing of it."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from berth.control.commands import jobs as commands
from berth.control.commands import stacks
from berth.model.change import PutJob
from berth.model.draft import Draft, LoadedStack
from berth.model.errors import Refused
from berth.model.spec import Request, TaskSpec
from berth.store import make_store
from tests.control.bench import ADMIN, FOREVER, Bench, bench


@pytest.fixture
async def eight() -> AsyncIterator[Bench]:
    """A server with eight free cards."""
    async with bench(make_store("memory:")) as found:
        yield found


async def test_a_scale_that_a_cancel_overtakes_is_refused_and_nothing_runs_on(eight: Bench) -> None:
    job = await eight.submit()
    await eight.settle()
    both = commands.cancel(eight.control, ADMIN, job.id), commands.scale(eight.control, ADMIN, job.id, 3)
    cancelled, scaled = await asyncio.gather(*both, return_exceptions=True)
    assert not isinstance(cancelled, BaseException)
    assert isinstance(scaled, Refused)
    assert scaled.problems[0].code == "scale-ended"
    await eight.settle()
    assert [task.state for task in eight.control.cluster.tasks_of(job.id)] == ["ended"]
    assert eight.free() == 8


async def test_a_service_that_is_cancelled_while_its_file_is_checked_becomes_a_new_job(eight: Bench) -> None:
    (old,) = await eight.deploy("app", web=2)
    await eight.settle()
    spec = TaskSpec(image="bb:1", command=(*FOREVER, "again"), request=Request(gpus=1))
    changed = LoadedStack(drafts=(Draft(name="web", service="web", spec=spec, replicas=2),))
    both = commands.cancel(eight.control, ADMIN, old.id), stacks.deploy(eight.control, ADMIN, "app", changed)
    _, (new,) = await asyncio.gather(*both)
    assert new.id != old.id
    await eight.settle(12)
    assert eight.control.cluster.jobs[old.id].ended_at is not None
    assert {task.state for task in eight.control.cluster.tasks_of(old.id)} == {"ended"}
    assert [task.state for task in eight.control.cluster.tasks_of(new.id)] == ["running", "running"]
    assert eight.free() == 6


async def test_a_repeated_cancel_ends_what_the_first_one_did_not_reach(eight: Bench) -> None:
    job = await eight.submit()
    await eight.settle()
    marked = msgspec.structs.replace(job, cancelled=True, version=job.version + 1)
    await eight.control.writer.commit((PutJob(marked, was=job.version),))
    await commands.cancel(eight.control, ADMIN, job.id)
    await eight.settle()
    assert eight.task(job).state == "ended"
    assert eight.free() == 8
