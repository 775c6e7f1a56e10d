"""Updates across slots through the whole control: rounds, cards, failures, rollbacks, servers that end in between."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from berth.control.commands import jobs as commands
from berth.control.commands import stacks
from berth.model.draft import Draft, LoadedStack
from berth.model.job import Job
from berth.model.spec import Request, Restart, Rollout, TaskSpec
from berth.store import make_store
from tests.control.bench import ADMIN, FOREVER, Bench, bench

BROKEN = ("sh", "-c", "sleep 1; exit 3")
QUICK = Rollout(monitor_s=5.0)
BACK = Rollout(failure_action="rollback")


@pytest.fixture
async def eight() -> AsyncIterator[Bench]:
    """A server with eight free cards."""
    async with bench(make_store("memory:")) as found:
        yield found


async def deploy(on: Bench, version: int, replicas: int = 3, command: tuple[str, ...] = FOREVER, **fields: Any) -> Job:
    """The service `app_web` in this version."""
    gpus = fields.pop("gpus", 1)
    spec = TaskSpec(
        image=f"bb:{version}", command=command, request=Request(gpus=gpus),
        restart=fields.pop("restart", Restart(condition="any", delay_s=1.0)), **fields,
    )  # fmt: skip
    draft = Draft(name="web", service="web", spec=spec, replicas=replicas)
    (job,) = await stacks.deploy(on.control, ADMIN, "app", LoadedStack(drafts=(draft,)))
    return job


async def play(on: Bench, seconds: int) -> int:
    """Let time pass, second by second; the most slots that did not run at one moment."""
    worst = 0
    for _ in range(seconds * 4):
        await on.step()
        now = [task for tasks in on.control.cluster.tasks.values() for task in tasks.values()]
        worst = max(worst, sum(task.state != "running" for task in now))
        on.clock.pass_(0.25)
    return worst


def phase(on: Bench, job: Job) -> str:
    """How far the update is."""
    state = on.control.cluster.jobs[job.id].rollout
    return state.phase if state is not None else ""


def images(on: Bench, job: Job) -> list[str]:
    """What each slot runs, by the generation of its attempt."""
    now = on.control.cluster.jobs[job.id]
    return [now.spec_of(task.generation).image for task in on.control.cluster.tasks_of(job.id)]


@pytest.mark.parametrize(("parallelism", "down"), [(1, 1), (2, 2), (0, 4)])
async def test_no_more_slots_are_down_at_once_than_asked(eight: Bench, parallelism: int, down: int) -> None:
    job = await deploy(eight, 1, 4)
    await play(eight, 2)
    cards = [task.cards for task in eight.control.cluster.tasks_of(job.id)]
    await deploy(eight, 2, 4, update=Rollout(parallelism=parallelism))
    assert await play(eight, 20) == down
    assert (phase(eight, job), images(eight, job)) == ("completed", ["bb:2"] * 4)
    assert [task.cards for task in eight.control.cluster.tasks_of(job.id)] == cards
    assert [task.attempt for task in eight.control.cluster.tasks_of(job.id)] == [2] * 4


async def test_the_delay_lies_between_two_rounds(eight: Bench) -> None:
    job = await deploy(eight, 1)
    await play(eight, 2)
    await deploy(eight, 2, update=Rollout(delay_s=30.0))
    await play(eight, 25)
    assert images(eight, job) == ["bb:2", "bb:1", "bb:1"]
    await play(eight, 30)
    assert images(eight, job) == ["bb:2", "bb:2", "bb:1"]
    await play(eight, 40)
    assert (phase(eight, job), images(eight, job)) == ("completed", ["bb:2"] * 3)


async def test_a_failure_pauses_and_the_other_slots_run_on(eight: Bench) -> None:
    job = await deploy(eight, 1)
    await play(eight, 2)
    await deploy(eight, 2, command=BROKEN, update=Rollout(delay_s=3.0))
    await play(eight, 12)
    state = eight.control.cluster.jobs[job.id].rollout
    assert state is not None
    assert (state.phase, state.message) == ("paused", "slot 1 ended with exit code 3")
    assert images(eight, job)[1:] == ["bb:1", "bb:1"]
    assert [eight.task(job, slot).attempt for slot in (2, 3)] == [1, 1]
    await deploy(eight, 3)
    await play(eight, 20)
    assert (phase(eight, job), images(eight, job)) == ("completed", ["bb:3"] * 3)


async def test_the_same_file_lets_a_paused_update_go_on(eight: Bench) -> None:
    job = await deploy(eight, 1)
    await play(eight, 2)
    for _ in range(2):
        await deploy(eight, 2, command=BROKEN, update=Rollout(delay_s=3.0))
        await play(eight, 12)
    assert phase(eight, job) == "paused"
    assert images(eight, job)[2] == "bb:1"
    assert eight.task(job, 2).attempt > 1


@pytest.mark.parametrize("restart", [Restart(), Restart(condition="on-failure", max_attempts=1), Restart("any", 60.0)])
async def test_a_rollback_brings_the_old_version_back_on_the_same_cards(eight: Bench, restart: Restart) -> None:
    job = await deploy(eight, 1, restart=restart)
    await play(eight, 2)
    for _ in range(8):
        await eight.submit()
    await play(eight, 2)
    assert eight.free() == 0
    cards = [task.cards for task in eight.control.cluster.tasks_of(job.id)]
    await deploy(eight, 2, command=BROKEN, restart=restart, update=BACK)
    await play(eight, 20)
    assert (phase(eight, job), images(eight, job)) == ("rolled-back", ["bb:1"] * 3)
    tasks = eight.control.cluster.tasks_of(job.id)
    assert [(task.state, task.cards) for task in tasks] == [("running", held) for held in cards]
    assert tasks[2].attempt == 1
    assert await eight.events("rolling-back", job) == 1


async def test_a_rollback_gives_extra_cards_and_slots_back(eight: Bench) -> None:
    job = await deploy(eight, 1, 2)
    await play(eight, 2)
    await deploy(eight, 2, 3, command=BROKEN, gpus=2, update=BACK)
    await play(eight, 30)
    now = eight.control.cluster.jobs[job.id]
    assert (phase(eight, job), now.replicas, now.spec.request.gpus) == ("rolled-back", 2, 1)
    running = [task for task in eight.control.cluster.tasks_of(job.id) if task.state == "running"]
    assert [len(task.cards) for task in running] == [1, 1]
    assert eight.free() == 6


async def test_more_cards_are_asked_for_slot_by_slot(eight: Bench) -> None:
    job = await deploy(eight, 1, 2)
    await play(eight, 2)
    await deploy(eight, 2, 2, gpus=3)
    assert await play(eight, 20) == 1
    assert phase(eight, job) == "completed"
    assert [len(eight.task(job, slot).cards) for slot in (1, 2)] == [3, 3]
    assert eight.free() == 2


async def test_an_update_while_another_one_runs_replaces_its_target(eight: Bench) -> None:
    job = await deploy(eight, 1)
    await play(eight, 2)
    await deploy(eight, 2, update=Rollout(delay_s=10.0))
    await play(eight, 4)
    assert images(eight, job) == ["bb:2", "bb:1", "bb:1"]
    await deploy(eight, 1)
    await play(eight, 15)
    assert (phase(eight, job), images(eight, job)) == ("completed", ["bb:1"] * 3)
    assert [eight.task(job, slot).attempt for slot in (1, 2, 3)] == [3, 1, 1]


async def test_a_failed_fix_goes_back_to_the_last_version_that_all_ran(eight: Bench) -> None:
    job = await deploy(eight, 1)
    await play(eight, 2)
    await deploy(eight, 2, command=BROKEN)
    await play(eight, 6)
    assert phase(eight, job) == "paused"
    await deploy(eight, 3, command=BROKEN, update=BACK)
    await play(eight, 15)
    assert (phase(eight, job), images(eight, job)) == ("rolled-back", ["bb:1"] * 3)


async def test_scaling_during_a_rollout_and_its_rollback_keeps_the_number(eight: Bench) -> None:
    job = await deploy(eight, 1)
    await play(eight, 2)
    await deploy(eight, 2, update=Rollout(delay_s=2.0, failure_action="rollback"))
    await eight.step()
    await commands.scale(eight.control, ADMIN, job.id, 5)
    await play(eight, 25)
    assert (phase(eight, job), images(eight, job)) == ("completed", ["bb:2"] * 5)
    await deploy(eight, 3, 5, command=BROKEN, update=BACK)
    await eight.step()
    await commands.scale(eight.control, ADMIN, job.id, 4)
    await play(eight, 20)
    assert (phase(eight, job), images(eight, job)[:4]) == ("rolled-back", ["bb:2"] * 4)


async def test_what_waits_takes_the_new_version_and_blocks_nothing(eight: Bench) -> None:
    job = await deploy(eight, 1, 10)
    await play(eight, 2)
    await deploy(eight, 2, 10, update=Rollout(parallelism=4))
    await play(eight, 20)
    state = eight.control.cluster.jobs[job.id].rollout
    assert state is not None
    assert state.phase == "completed"
    assert state.message == "2 of 10 slots wait and start in the new form"
    assert images(eight, job)[:8] == ["bb:2"] * 8


async def test_a_slot_in_its_restart_delay_starts_in_the_new_version_at_once(eight: Bench) -> None:
    job = await deploy(eight, 1, 1, command=BROKEN, restart=Restart("any", 600.0))
    await play(eight, 3)
    assert eight.task(job).state == "restarting"
    await deploy(eight, 2, 1, restart=Restart("any", 600.0))
    await play(eight, 10)
    assert (eight.task(job).state, phase(eight, job)) == ("running", "completed")


async def test_slots_that_had_failed_for_good_try_the_new_version(eight: Bench) -> None:
    job = await deploy(eight, 1, 1, restart=Restart())
    await play(eight, 2)
    await eight.kill(eight.task(job))
    await commands.scale(eight.control, ADMIN, job.id, 2)
    await play(eight, 2)
    assert [task.state for task in eight.control.cluster.tasks_of(job.id)] == ["failed", "running"]
    await deploy(eight, 2, 2, restart=Restart())
    await play(eight, 12)
    assert [task.state for task in eight.control.cluster.tasks_of(job.id)] == ["running", "running"]
    assert (phase(eight, job), images(eight, job)) == ("completed", ["bb:2"] * 2)


async def test_a_changed_way_of_updating_restarts_nothing(eight: Bench) -> None:
    job = await deploy(eight, 1)
    await play(eight, 2)
    await deploy(eight, 1, update=BACK)
    await play(eight, 5)
    assert [task.attempt for task in eight.control.cluster.tasks_of(job.id)] == [1, 1, 1]
    assert eight.control.cluster.jobs[job.id].spec.update == BACK
    assert phase(eight, job) == ""


async def test_a_cancel_ends_a_rollout(eight: Bench) -> None:
    job = await deploy(eight, 1)
    await play(eight, 2)
    await deploy(eight, 2)
    await eight.step()
    await commands.cancel(eight.control, ADMIN, job.id)
    await play(eight, 5)
    assert eight.control.cluster.jobs[job.id].ended_at is not None
    assert eight.free() == 8


@pytest.mark.parametrize("steps", range(1, 26, 3))
@pytest.mark.parametrize("command", [FOREVER, BROKEN])
async def test_a_server_that_ends_in_the_middle_leaves_one_version(steps: int, command: tuple[str, ...]) -> None:
    store = make_store("memory:")
    async with bench(store) as first:
        job = await deploy(first, 1)
        await play(first, 2)
        await deploy(first, 2, command=command, update=BACK)
        for _ in range(steps):
            await first.step()
            first.clock.pass_(0.25)
        engine, clock = first.engine, first.clock
    async with bench(store, engine, clock) as second:
        await play(second, 20)
        ended = ("completed", ["bb:2"] * 3) if command == FOREVER else ("rolled-back", ["bb:1"] * 3)
        assert (phase(second, job), images(second, job)) == ended
        assert {task.state for task in second.control.cluster.tasks_of(job.id)} == {"running"}


async def test_what_runs_keeps_its_own_limits_until_it_is_changed(eight: Bench) -> None:
    job = await deploy(eight, 1, 2)
    await play(eight, 2)
    now = await deploy(eight, 2, 2, time_limit_s=1.0, update=Rollout(delay_s=100.0, failure_action="continue"))
    await play(eight, 6)
    assert now.spec_of(1) == msgspec.structs.replace(now.spec_of(1), image="bb:1", time_limit_s=None)
    assert eight.task(job, 2).attempt == 1
    assert eight.task(job, 2).state == "running"


async def test_cards_granted_for_a_form_that_is_given_up_go_back_at_once(eight: Bench) -> None:
    job = await deploy(eight, 1, 1)
    await play(eight, 2)
    await deploy(eight, 2, 1, gpus=3)
    while not eight.task(job).next_cards:
        await eight.loop.placer.run()
        await eight.loop.reconciler.roller.run()
    assert eight.free() == 5
    await deploy(eight, 3, 1)
    assert (eight.task(job).next_cards, eight.free()) == ((), 7)
    await play(eight, 10)
    assert (phase(eight, job), images(eight, job), eight.free()) == ("completed", ["bb:3"], 7)


async def test_a_rollback_after_a_scale_keeps_the_number(eight: Bench) -> None:
    job = await deploy(eight, 1, 3)
    await play(eight, 2)
    await deploy(eight, 2, 3, command=BROKEN, update=Rollout(failure_action="rollback", delay_s=5.0))
    await eight.step()
    await commands.scale(eight.control, ADMIN, job.id, 5)
    await play(eight, 25)
    now = eight.control.cluster.jobs[job.id]
    assert (phase(eight, job), now.replicas) == ("rolled-back", 5)
    assert images(eight, job) == ["bb:1"] * 5
