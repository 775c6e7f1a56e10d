"""One suite for every engine: the same promises on Debian's Docker and today's, alone and as a Swarm, and simulated."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from berth.model.errors import EngineError, StaleVersion
from berth.model.launch import Handle
from tests.contract import beds
from tests.contract.beds import Bed, Desk, again, code, lives, named, objects
from tests.testbed.lab import Lab

BEDS = {
    "simulated": lambda _: beds.simulated(),
    "docker-20.10": lambda lab: beds.docker(lab, "debian"),
    "docker-today": lambda lab: beds.docker(lab, "today"),
    "swarm-20.10": lambda lab: beds.swarm(lab, "debian"),
    "swarm-today": lambda lab: beds.swarm(lab, "today"),
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """The machine's part for this suite."""
    with Lab("eng", "10.91.0") as lab:
        yield lab


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name == "simulated" else pytest.mark.engine) for name in BEDS],
)
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Each engine in turn."""
    lab = None if request.param == "simulated" else request.getfixturevalue("lab")
    with BEDS[request.param](lab) as bed:
        yield bed


@pytest.fixture
async def desk(bed: Bed) -> AsyncIterator[Desk]:
    """An opened engine that is swept at the end."""
    async with beds.desk_at(bed) as desk:
        yield desk


# What it is


async def test_it_says_who_it_is_the_same_at_each_start(bed: Bed) -> None:
    told = []
    for _ in range(2):
        engine = bed.make()
        told.append(await engine.open())
        await engine.close()
    assert told[0].id
    assert told[0] == told[1]


async def test_its_nodes_are_seen_with_what_they_have(desk: Desk) -> None:
    seen = await desk.look()
    assert seen.ended >= seen.began > 0
    assert sorted(node.hostname for node in seen.nodes)[0] == "gpu-1"
    assert (len(seen.nodes) > 1) == desk.engine.capabilities.many_nodes
    for node in seen.nodes:
        assert node.up
        assert node.available
        assert node.cpu_nano >= 10**9
        assert node.memory_bytes >= 2**28


# Starts


async def test_a_start_runs_on_its_node_under_its_labels(desk: Desk) -> None:
    launch = desk.launch(cards=2, labels={"mine": "1"}, container_labels={"gpu.task": "true"})
    handle = await desk.engine.start(launch)
    assert handle.object_id or handle.engine_id
    life = await desk.life(launch)
    assert (life.job, life.node, life.exit_code) == (launch.job.id, desk.node.engine_id, None)
    assert life.cards == tuple(card.uuid for card in launch.cards)
    assert life.labels["gpu.task"] == "true"
    expected = launch.labels()
    assert {key: life.labels.get(key) for key in expected} == expected
    assert life.started_at


async def test_a_repeated_start_is_the_same_attempt(desk: Desk) -> None:
    launch = desk.launch()
    first = await desk.engine.start(launch)
    second = await desk.engine.start(launch)
    assert (second.object_id, second.engine_id) == (first.object_id, first.engine_id)
    await desk.life(launch)
    third = await desk.engine.start(launch)
    assert third.object_id == first.object_id
    assert len(lives(await desk.look(), launch)) == 1


async def test_eight_starts_at_once_are_one(desk: Desk) -> None:
    launch = desk.launch()
    handles = await asyncio.gather(*(desk.engine.start(launch) for _ in range(8)))
    assert len({(handle.object_id, handle.name) for handle in handles}) == 1
    await desk.life(launch)
    assert len(lives(await desk.look(), launch)) == 1


async def test_a_start_by_another_engine_object_is_the_same_attempt(desk: Desk, bed: Bed) -> None:
    if not bed.real:
        pytest.skip("the simulated engine lives in one process")
    launch = desk.launch()
    first = await desk.engine.start(launch)
    await desk.life(launch)
    async with beds.desk_at(bed) as other:
        second = await other.engine.start(launch)
        assert second.object_id == first.object_id
        assert len(lives(await other.look(), launch)) == 1


async def test_a_name_that_somebody_else_holds_is_refused(desk: Desk, bed: Bed) -> None:
    launch = desk.launch()
    mine = again(launch, task="other.1", job=again_job(launch, "other"))
    await desk.engine.start(launch)
    await desk.life(launch)
    with pytest.raises(EngineError) as refused:
        await desk.engine.start(mine)
    assert code(refused.value) == "name-taken"
    assert launch.name in str(refused.value)
    assert not lives(await desk.look(), mine)


# Ends


@pytest.mark.parametrize(("script", "exit_code"), [("exit 0", 0), ("exit 3", 3), ("exit 137", 137)])
async def test_an_end_keeps_its_exit_code_until_it_is_removed(desk: Desk, script: str, exit_code: int) -> None:
    launch = desk.launch("sh", "-c", script)
    await desk.engine.start(launch)
    life = await desk.life(launch, "exited")
    assert life.exit_code == exit_code
    assert life.ended_at
    assert not life.killed
    assert not life.oom
    await desk.engine.remove(named(life))
    await desk.until(lambda seen: not lives(seen, launch) and not objects(seen, launch))


async def test_a_stop_ends_it_and_a_repeat_is_harmless(desk: Desk) -> None:
    launch = desk.launch()
    await desk.engine.start(launch)
    handle = named(await desk.life(launch))
    await desk.engine.stop(handle, 1.0)
    await desk.engine.stop(handle, 1.0)
    seen = await desk.gone(launch)
    assert not any(life.killed for life in lives(seen, launch))
    assert bool(objects(seen, launch)) == desk.slots


async def test_the_next_attempt_follows_on_the_same_slot(desk: Desk) -> None:
    launch = desk.launch("sh", "-c", "exit 1")
    await desk.engine.start(launch)
    first = await desk.life(launch, "exited")
    await asyncio.sleep(1)
    seen = await desk.look()
    handle = Handle(object_id=found.id, object_version=found.version) if (found := one(objects(seen, launch))) else None
    second = again(launch, attempt=2, handle=handle, spec=desk.launch().spec)
    await desk.engine.start(second)
    life = await desk.life(second)
    assert life.engine_id != first.engine_id
    assert life.labels["berth.attempt"] == "2"
    await desk.engine.stop(named(life), 1.0)
    await desk.gone(second)


async def test_a_stopped_slot_starts_again(desk: Desk) -> None:
    launch = desk.launch()
    await desk.engine.start(launch)
    await desk.engine.stop(named(await desk.life(launch)), 1.0)
    seen = await desk.gone(launch)
    handle = Handle(object_id=found.id, object_version=found.version) if (found := one(objects(seen, launch))) else None
    second = again(launch, attempt=2, handle=handle)
    await desk.engine.start(second)
    await desk.life(second)


async def test_a_remove_takes_all_and_a_repeat_is_harmless(desk: Desk) -> None:
    launch = desk.launch()
    await desk.engine.start(launch)
    handle = named(await desk.life(launch))
    await desk.engine.remove(handle)
    await desk.until(lambda seen: not lives(seen, launch) and not objects(seen, launch))
    await desk.engine.remove(handle)
    await desk.engine.stop(handle, 1.0)


async def test_a_start_that_comes_after_the_remove_does_not_run(desk: Desk) -> None:
    launch = desk.launch()
    first = await desk.engine.start(launch)
    life = await desk.life(launch)
    await desk.engine.remove(named(life))
    await desk.until(lambda seen: not lives(seen, launch))
    with pytest.raises(EngineError):
        await desk.engine.start(again(launch, handle=first))
    await asyncio.sleep(1)
    assert not lives(await desk.look(), launch)


# Slots that wait


async def test_a_prepared_slot_waits_and_starts(desk: Desk) -> None:
    launch = desk.launch(stack="st", cards=1)
    waiting = again(launch, attempt=0, node=None, cards=())
    first = await desk.engine.prepare(waiting)
    assert (await desk.engine.prepare(waiting)).object_id == first.object_id
    seen = await desk.look()
    assert not [life for life in seen.lives if life.task == launch.task]
    assert [found.attempt for found in objects(seen, launch)] == ([0] if desk.slots else [])
    handle = Handle(object_id=found.id, object_version=found.version) if (found := one(objects(seen, launch))) else None
    await desk.engine.start(again(launch, handle=handle))
    life = await desk.life(launch)
    assert life.node == desk.node.engine_id
    seen = await desk.look()
    assert [(found.attempt, found.replicas, found.name) for found in objects(seen, launch)] == (
        [(1, 1, launch.name)] if desk.slots else []
    )


async def test_a_start_with_an_old_version_does_nothing(desk: Desk) -> None:
    if not desk.slots:
        pytest.skip("slots have no object of their own here")
    launch = desk.launch(stack="st")
    handle = await desk.engine.prepare(again(launch, attempt=0, node=None))
    await desk.engine.start(again(launch, handle=handle))
    await desk.life(launch)
    with pytest.raises(StaleVersion):
        await desk.engine.start(again(launch, attempt=2, handle=handle))
    assert one(objects(await desk.look(), launch)).attempt == 1


async def test_a_slot_removed_while_it_waits_never_starts(desk: Desk) -> None:
    if not desk.slots:
        pytest.skip("slots have no object of their own here")
    launch = desk.launch(stack="st")
    handle = await desk.engine.prepare(again(launch, attempt=0, node=None))
    await desk.engine.remove(handle)
    with pytest.raises(EngineError) as refused:
        await desk.engine.start(again(launch, handle=handle))
    assert code(refused.value) == "engine-object-gone"


async def test_what_the_job_runs_can_be_read_back(desk: Desk) -> None:
    launch = desk.launch(env=(("EPOCHS", "10"), ("SECRET_NAME", "x=y"), ("UNSET", None)))
    await desk.engine.start(launch)
    life = await desk.life(launch)
    found = one(objects(await desk.look(), launch))
    assert (found.spec if found else life.spec) == launch.spec
    assert "x=y" not in str(found.labels if found else life.labels)


def one(found):  # type: ignore[no-untyped-def]
    """The only one, or None."""
    assert len(found) <= 1
    return found[0] if found else None


def again_job(launch, key):  # type: ignore[no-untyped-def]
    import msgspec

    return msgspec.structs.replace(launch.job, id=key)
