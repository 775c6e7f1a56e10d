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
from berth.model.spec import Request, Restart, TaskSpec
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


async def test_a_cancel_that_overtakes_another_grant_of_a_changed_service_ends_it(eight: Bench) -> None:
    (web,) = await eight.deploy("app", web=1)
    fillers = [await eight.submit(gpus=number) for number in (3, 4)]
    await eight.settle()
    spec = TaskSpec(image="bb:1", command=FOREVER, request=Request(gpus=2), restart=Restart(condition="any"))
    changed = LoadedStack(drafts=(Draft(name="web", service="web", spec=spec),))
    await stacks.deploy(eight.control, ADMIN, "app", changed)
    await eight.settle()
    assert eight.task(web).wants_replace
    await commands.cancel(eight.control, ADMIN, fillers[1].id)
    while eight.free() == 0:  # its cards are free, and the decision has not been asked yet
        await eight.loop.look()
        await eight.loop.reconciler.run()
        await eight.called()
        await eight.loop.reclaimer.run()
    await commands.cancel(eight.control, ADMIN, web.id)
    await eight.loop.placer.run()
    assert (eight.task(web).state, eight.task(web).stop_for) == ("stopping", "cancelled")
    await eight.settle()
    assert (eight.task(web).state, eight.task(web).reason) == ("ended", "cancelled")
    assert eight.free() == 5
