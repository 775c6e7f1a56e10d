"""The control as a whole, step by step: who gets cards, how they come back, and what a new server makes of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from berth.control.commands import jobs as commands
from berth.control.commands import stacks
from berth.model.draft import Draft, LoadedStack
from berth.model.spec import Request, Restart, TaskSpec
from berth.ports import Store
from berth.store import make_store
from tests.control.bench import ADMIN, FOREVER, Bench, bench


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Makes the store; SQLite keeps its file from one to the next."""
    url = "memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'berth.db'}"
    return lambda: make_store(url)


@pytest.fixture
async def eight(make: Callable[[], Store]) -> AsyncIterator[Bench]:
    """A server with eight free cards."""
    async with bench(make()) as found:
        yield found


async def test_ten_submissions_for_eight_cards(eight: Bench) -> None:
    jobs = await asyncio.gather(*(eight.submit() for _ in range(10)))
    await eight.settle()
    states = [eight.task(job).state for job in jobs]
    assert states.count("running") == 8
    assert states.count("waiting") == 2
    assert eight.free() == 0


async def test_eight_releases_at_once_and_one_of_them_again(eight: Bench) -> None:
    jobs = [await eight.submit() for _ in range(8)]
    await eight.settle()
    await asyncio.gather(*(commands.cancel(eight.control, ADMIN, job.id) for job in (*jobs, jobs[3])))
    await eight.loop.look()
    await eight.loop.reconciler.run()
    await eight.called()
    await eight.loop.look()
    await eight.loop.reconciler.run()
    await eight.loop.look()
    release = eight.loop.reclaimer._release
    await asyncio.gather(*(release(eight.task(job).id) for job in (*jobs, jobs[3])))
    await eight.settle()
    assert eight.free() == 8
    assert [await eight.events("released", job) for job in jobs] == [1] * 8


async def test_a_failing_job_keeps_its_cards_from_run_to_run_and_gives_them_back_once(eight: Bench) -> None:
    restart = Restart(condition="on-failure", delay_s=2.0, max_attempts=2)
    job = await eight.submit("sh", "-c", "sleep 1; exit 3", restart=restart)
    await eight.settle()
    cards = eight.task(job).cards
    for _ in range(3):
        assert eight.free() == 7
        assert eight.task(job).cards == cards
        eight.clock.pass_(1.5)
        await eight.settle()
        eight.clock.pass_(2.5)
        await eight.settle()
    assert eight.task(job).state == "failed"
    assert eight.task(job).reason == "max-attempts"
    assert eight.task(job).attempt == 3
    assert eight.free() == 8
    assert await eight.events("released", job) == 1


async def test_a_requeued_task_gives_its_cards_back_before_it_gets_others(eight: Bench) -> None:
    job = await eight.submit(gpus=2)
    await eight.settle()
    await commands.requeue(eight.control, ADMIN, job.id)
    await eight.loop.look()
    await eight.loop.reconciler.run()
    await eight.called()
    await eight.loop.look()
    await eight.loop.reconciler.run()
    assert eight.task(job).state == "waiting"
    await eight.loop.placer.run()
    assert eight.task(job).state == "waiting"
    assert eight.control.cluster.waits[eight.task(job).id].reason == "engine"
    await eight.settle()
    assert eight.task(job).state == "running"
    assert eight.task(job).attempt == 2
    assert eight.free() == 6


async def test_a_cancel_is_one_commit(eight: Bench) -> None:
    (job,) = await eight.deploy("app", train=3)
    await eight.settle()
    heard: list[int] = []
    eight.control.listen(lambda batch: heard.append(len(batch)))
    await commands.cancel(eight.control, ADMIN, job.id)
    assert heard == [5]
    assert {eight.task(job, slot).state for slot in (1, 2, 3)} == {"stopping"}
    await eight.settle()
    assert eight.free() == 8
    assert not eight.alive()


async def test_a_removed_stack_that_is_deployed_again_is_one_job_per_service(eight: Bench) -> None:
    first = await eight.deploy("app", train=1, serve=1)
    await eight.settle()
    await stacks.remove(eight.control, ADMIN, "app")
    await eight.settle()
    second = await eight.deploy("app", train=1, serve=1)
    await eight.settle()
    third = await eight.deploy("app", train=1, serve=1)
    await eight.settle()
    assert {job.id for job in second} == {job.id for job in third}
    assert not {job.id for job in first} & {job.id for job in second}
    assert eight.free() == 6


async def test_a_stack_that_is_deployed_while_it_is_being_removed_waits_for_its_names(eight: Bench) -> None:
    (first,) = await eight.deploy("app", train=2)
    await eight.settle()
    await stacks.remove(eight.control, ADMIN, "app")
    (second,) = await eight.deploy("app", train=2)
    await eight.loop.placer.run()
    assert [eight.task(second, slot).state for slot in (1, 2)] == ["waiting"] * 2
    assert eight.control.cluster.waits[eight.task(second).id].message == (
        "what is left of an earlier app_train is being removed first"
    )
    await eight.settle()
    assert [eight.task(first, slot).state for slot in (1, 2)] == ["ended"] * 2
    assert [eight.task(second, slot).state for slot in (1, 2)] == ["running"] * 2
    assert eight.free() == 6


async def test_a_stack_that_has_ended_runs_again_when_it_is_deployed_again(eight: Bench) -> None:
    draft = Draft(
        name="train", service="train", spec=TaskSpec(image="bb:1", command=("true",), request=Request(gpus=1))
    )
    (first,) = await stacks.deploy(eight.control, ADMIN, "app", LoadedStack(drafts=(draft,)))
    await eight.settle()
    assert eight.task(first).state == "ended"
    assert eight.control.object_of(eight.task(first).id)
    (second,) = await stacks.deploy(eight.control, ADMIN, "app", LoadedStack(drafts=(draft,)))
    assert second.id != first.id
    await eight.settle()
    assert (eight.task(second).state, eight.task(second).attempt) == ("ended", 1)
    assert not eight.control.object_of(eight.task(first).id)


async def test_two_deployments_of_one_stack_at_once_are_one_stack(eight: Bench) -> None:
    one, two = await asyncio.gather(eight.deploy("app", train=1), eight.deploy("app", train=1))
    assert [job.id for job in one] == [job.id for job in two]
    await eight.settle()
    assert eight.free() == 7


async def test_slots_scaled_away_and_back_while_they_stop_run_again(eight: Bench) -> None:
    (job,) = await eight.deploy("app", train=3)
    await eight.settle()
    await commands.scale(eight.control, ADMIN, job.id, 1)
    await commands.scale(eight.control, ADMIN, job.id, 3)
    await eight.settle(10)
    assert [eight.task(job, slot).state for slot in (1, 2, 3)] == ["running"] * 3
    await commands.scale(eight.control, ADMIN, job.id, 1)
    await eight.loop.look()
    await eight.loop.reconciler.run()
    await eight.called()
    await eight.loop.look()
    await eight.loop.reconciler.run()
    await commands.scale(eight.control, ADMIN, job.id, 2)
    await eight.settle(10)
    assert [eight.task(job, slot).state for slot in (1, 2)] == ["running"] * 2
    assert eight.task(job, 1).attempt == 1
    assert eight.free() == 6


async def test_a_changed_service_with_the_same_cards_runs_again_on_them(eight: Bench) -> None:
    (job,) = await eight.deploy("app", train=2)
    await eight.settle()
    cards = [eight.task(job, slot).cards for slot in (1, 2)]
    spec = TaskSpec(image="bb:2", command=FOREVER, request=Request(gpus=1))
    draft = Draft(name="train", service="train", spec=spec, replicas=2)
    await stacks.deploy(eight.control, ADMIN, "app", LoadedStack(drafts=(draft,)))
    await eight.settle(12)
    assert [eight.task(job, slot).cards for slot in (1, 2)] == cards
    assert [eight.task(job, slot).attempt for slot in (1, 2)] == [2, 2]
    assert eight.free() == 6


async def test_a_changed_service_that_wants_more_cards_gets_them_with_its_own(eight: Bench) -> None:
    (job,) = await eight.deploy("app", train=1)
    await eight.settle()
    had = set(eight.task(job).cards)
    spec = TaskSpec(image="bb:1", command=FOREVER, request=Request(gpus=4))
    draft = Draft(name="train", service="train", spec=spec)
    await stacks.deploy(eight.control, ADMIN, "app", LoadedStack(drafts=(draft,)))
    await eight.settle(10)
    assert eight.task(job).state == "running"
    assert had <= set(eight.task(job).cards)
    assert eight.free() == 4


async def test_an_object_that_a_person_removes_is_a_cancel(eight: Bench) -> None:
    (job,) = await eight.deploy("app", train=1)
    await eight.settle()
    await eight.take_away(eight.task(job))
    await eight.settle()
    assert (eight.task(job).state, eight.task(job).reason) == ("ended", "removed-on-engine")
    assert eight.free() == 8
    assert await eight.events("released", job) == 1


async def test_a_new_server_takes_up_what_runs(make: Callable[[], Store]) -> None:
    store = make()
    async with bench(store) as first:
        (job,) = await first.deploy("app", train=2)
        other = await first.submit(gpus=2)
        await first.settle()
        before = {task.id: (task.attempt, task.cards) for _, task in first.control.cluster.work.unfinished()}
        engine, clock = first.engine, first.clock
    again = store if store.__class__.__name__ == "MemoryStore" else make()
    async with bench(again, engine, clock) as second:
        await second.settle()
        found = {task.id: (task.attempt, task.cards) for _, task in second.control.cluster.work.unfinished()}
        assert found == before
        assert second.free() == 4
        await commands.cancel(second.control, ADMIN, other.id)
        await commands.cancel(second.control, ADMIN, job.id)
        await second.settle()
        assert second.free() == 8


async def test_a_lost_database_is_rebuilt_before_the_first_grant() -> None:
    async with bench(make_store("memory:")) as first:
        (job,) = await first.deploy("app", train=2)
        await first.submit(gpus=2, name="train")
        await first.submit(gpus=1, name="train")
        await first.settle()
        unfinished = first.control.cluster.work.unfinished()
        before = {task.id: (task.state, task.attempt, task.cards) for _, task in unfinished}
        names = {one.engine_name for one in first.control.cluster.jobs.values()}
        engine, clock = first.engine, first.clock
    async with bench(make_store("memory:"), engine, clock) as second:
        late = await second.submit(gpus=4)
        await second.settle()
        unfinished = second.control.cluster.work.unfinished()
        found = {task.id: (task.state, task.attempt, task.cards) for _, task in unfinished}
        assert before.items() <= found.items()
        assert second.task(late).state == "waiting"
        assert second.free() == 3
        jobs = second.control.cluster.jobs
        assert {one.engine_name for one in jobs.values() if one.id != late.id} == names
        await second.kill(second.task(jobs[job.id], 2))
        await second.settle()
        second.clock.pass_(6.0)
        await second.settle()
        assert second.task(jobs[job.id], 2).attempt == 2
        assert second.task(jobs[job.id], 2).state == "running"
