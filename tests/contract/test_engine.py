"""One suite for every engine: the same promises on Debian's Docker and today's, alone and as a Swarm, and simulated."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from berth.dockerapi.address import Address
from berth.engines import load
from berth.model.errors import EngineError, Refused, StaleVersion
from berth.model.job import Network
from berth.model.launch import Handle
from berth.model.spec import FileRef, Healthcheck, Limits, Mount, NetworkUse, Request, Restart, TaskSpec
from tests.contract import beds
from tests.contract.beds import Bed, Desk, again, code, lives, named, objects, only
from tests.testbed.image import IMAGE, IMAGE_GPU, IMAGE_TERM
from tests.testbed.lab import Lab
from tests.testbed.registry import Registry

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


async def test_what_is_asked_of_it_is_what_it_can(desk: Desk, bed: Bed) -> None:
    can = desk.engine.capabilities
    has = beds.HAS[bed.kind]
    assert (bed.real, desk.slots, can.node_labels) == ("daemon" in has, "slots" in has, "node labels" in has)


async def test_its_nodes_are_seen_with_what_they_have(desk: Desk) -> None:
    seen = await desk.look()
    assert seen.ended >= seen.began > 0
    assert sorted(node.hostname for node in seen.nodes)[0] == "gpu-1"
    assert seen.nodes
    for node in seen.nodes:
        assert node.up
        assert node.available
        assert node.cpu_nano >= 10**9
        assert node.memory_bytes >= 2**28


@pytest.mark.needs("services")
async def test_a_daemon_that_cannot_place_is_refused(bed: Bed) -> None:
    worker = load("swarm")(Address(bed.hosts[1].url), beds.WallClock())
    with pytest.raises(EngineError) as refused:
        await worker.open()
    assert code(refused.value) == "not-a-manager"
    assert "--docker-host" in refused.value.problems[0].hint


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


@pytest.mark.needs("daemon")
async def test_a_start_by_another_engine_object_is_the_same_attempt(desk: Desk, bed: Bed) -> None:
    launch = desk.launch()
    first = await desk.engine.start(launch)
    await desk.life(launch)
    async with beds.desk_at(bed) as other:
        second = await other.engine.start(launch)
        assert second.object_id == first.object_id
        assert len(lives(await other.look(), launch)) == 1


async def test_a_name_that_somebody_else_holds_is_refused(desk: Desk, bed: Bed) -> None:
    launch = desk.launch()
    mine = again(launch, task="other.1", job=again(launch.job, id="other"))
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


@pytest.mark.needs("daemon")
async def test_a_stop_gives_the_grace_before_it_kills(desk: Desk, bed: Bed) -> None:
    obeys = desk.launch("sh", "-c", "trap 'exit 5' TERM; while :; do sleep 0.1; done", image=IMAGE_TERM, stop_grace_s=8)
    stubborn = desk.launch(image=IMAGE_TERM, stop_grace_s=2)
    for launch in (obeys, stubborn):
        await desk.engine.start(launch)
    handles = [named(await desk.life(launch)) for launch in (obeys, stubborn)]
    await asyncio.sleep(0.3)
    began = time.monotonic()
    for handle in handles:
        await desk.engine.stop(handle, None)
    assert time.monotonic() - began < 1.5, "a stop returns once it is asked for"
    await desk.gone(obeys)
    assert time.monotonic() - began < 5
    await desk.gone(stubborn)
    assert 1.8 < time.monotonic() - began < 7


async def test_the_next_attempt_follows_on_the_same_slot(desk: Desk) -> None:
    launch = desk.launch("sh", "-c", "exit 1")
    await desk.engine.start(launch)
    first = await desk.life(launch, "exited")
    await asyncio.sleep(1)
    seen = await desk.look()
    handle = (
        Handle(object_id=found.id, object_version=found.version) if (found := only(objects(seen, launch))) else None
    )
    second = again(launch, attempt=2, handle=handle, spec=desk.launch().spec)
    await desk.engine.start(second)
    life = await desk.life(second)
    assert life.engine_id != first.engine_id
    assert life.labels["berth.attempt"] == "2"
    await desk.engine.stop(named(life), 1.0)
    await desk.gone(second)


async def test_a_stop_of_an_earlier_attempt_leaves_the_present_one(desk: Desk) -> None:
    launch = desk.launch("sh", "-c", "exit 1")
    await desk.engine.start(launch)
    first = await desk.life(launch, "exited")
    await asyncio.sleep(1)
    found = only(objects(await desk.look(), launch))
    handle = Handle(object_id=found.id, object_version=found.version) if found else None
    second = again(launch, attempt=2, handle=handle, spec=desk.launch().spec)
    await desk.engine.start(second)
    await desk.life(second)
    await desk.engine.stop(named(first), 0.0)
    await asyncio.sleep(1)
    assert [life.state for life in lives(await desk.look(), second)] == ["running"]


async def test_a_stopped_slot_starts_again(desk: Desk) -> None:
    launch = desk.launch()
    await desk.engine.start(launch)
    await desk.engine.stop(named(await desk.life(launch)), 1.0)
    seen = await desk.gone(launch)
    handle = (
        Handle(object_id=found.id, object_version=found.version) if (found := only(objects(seen, launch))) else None
    )
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
    handle = (
        Handle(object_id=found.id, object_version=found.version) if (found := only(objects(seen, launch))) else None
    )
    await desk.engine.start(again(launch, handle=handle))
    life = await desk.life(launch)
    assert life.node == desk.node.engine_id
    seen = await desk.look()
    assert [(found.attempt, found.replicas, found.name) for found in objects(seen, launch)] == (
        [(1, 1, launch.name)] if desk.slots else []
    )


@pytest.mark.needs("slots")
async def test_a_start_with_an_old_version_does_nothing(desk: Desk) -> None:
    launch = desk.launch(stack="st")
    handle = await desk.engine.prepare(again(launch, attempt=0, node=None))
    await desk.engine.start(again(launch, handle=handle))
    await desk.life(launch)
    with pytest.raises(StaleVersion):
        await desk.engine.start(again(launch, attempt=2, handle=handle))
    assert only(objects(await desk.look(), launch)).attempt == 1


@pytest.mark.needs("slots")
async def test_a_slot_removed_while_it_waits_never_starts(desk: Desk) -> None:
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
    found = only(objects(await desk.look(), launch))
    assert (found.spec if found else life.spec) == launch.spec
    assert "x=y" not in str(found.labels if found else life.labels)


# Persons beside Berth


@pytest.mark.needs("daemon")
async def test_a_kill_by_a_person_is_told_apart(desk: Desk, bed: Bed) -> None:
    launch = desk.launch()
    await desk.engine.start(launch)
    life = await desk.life(launch)
    bed.person("kill", life.container_id)
    over = await desk.life(launch, "exited")
    assert over.killed
    assert over.exit_code == 137


@pytest.mark.needs("daemon")
async def test_a_container_removed_by_a_person_has_ended(desk: Desk, bed: Bed) -> None:
    launch = desk.launch(cards=1)
    await desk.engine.start(launch)
    life = await desk.life(launch)
    bed.person("rm", "-f", life.container_id)
    over = await desk.life(launch, "exited")
    assert over.killed
    assert over.cards == life.cards
    await desk.engine.remove(named(over))
    await desk.until(lambda seen: not lives(seen, launch))


@pytest.mark.needs("services")
async def test_a_service_removed_by_a_person_holds_its_cards_until_its_container_is_gone(desk: Desk, bed: Bed) -> None:
    launch = desk.launch(image=IMAGE_TERM, cards=1, stop_grace_s=2.0)
    await desk.engine.start(launch)
    life = await desk.life(launch)
    bed.person("service", "rm", launch.name)
    seen = await desk.until(lambda seen: not objects(seen, launch))
    assert [(one.state, one.cards) for one in lives(seen, launch)] == [("running", life.cards)]
    await desk.gone(launch)


@pytest.mark.needs("services")
async def test_a_scale_by_a_person_is_seen_and_puts_no_two_tasks_on_a_card(desk: Desk, bed: Bed) -> None:
    launch = desk.launch(cards=1)
    await desk.engine.start(launch)
    await desk.life(launch)
    settled = only(objects(await desk.look(), launch))
    bed.person("service", "scale", "-d", f"{launch.name}=3")
    seen = await desk.until(lambda seen: [one.replicas for one in objects(seen, launch)] == [3])
    await asyncio.sleep(1)
    assert sum(life.state == "running" for life in lives(await desk.look(), launch)) == 1
    scaled = only(objects(seen, launch))
    assert settled is not None
    assert scaled is not None
    assert scaled.digest != settled.digest
    await desk.engine.restore_replicas(scaled)
    await desk.until(lambda seen: [one.digest for one in objects(seen, launch)] == [settled.digest])
    assert [life.state for life in lives(await desk.look(), launch)].count("running") == 1


@pytest.mark.needs("slots")
async def test_the_engines_own_notes_are_no_edit(desk: Desk) -> None:
    launch = desk.launch(stack="st")
    handle = await desk.engine.prepare(again(launch, attempt=0, node=None))
    await desk.engine.start(again(launch, handle=handle))
    early = only(objects(await desk.look(), launch))
    await desk.life(launch)
    await asyncio.sleep(1)
    late = only(objects(await desk.look(), launch))
    assert early is not None
    assert late is not None
    assert early.digest == late.digest


@pytest.mark.needs("daemon")
async def test_what_others_run_with_cards_is_seen(desk: Desk, bed: Bed) -> None:
    make = ("service", "create", "-d", "--no-resolve-image") if bed.kind == "swarm" else ("run", "-d")
    drop = ("service", "rm") if bed.kind == "swarm" else ("rm", "-f")
    names = ("theirs-named", "theirs-all", "theirs-none", "theirs-image")
    said = (["-e", "NV_GPU=0,1"], ["-e", "NVIDIA_VISIBLE_DEVICES=all"], ["-e", "NVIDIA_VISIBLE_DEVICES=void"], [])
    try:
        for name, words in zip(names, said, strict=True):
            bed.person(*make, "--name", name, *words, IMAGE_GPU if name == "theirs-image" else IMAGE)
        seen = await desk.until(lambda seen: sum(bool(one.nodes) for one in seen.others) >= 4)
        found = {one.name: (one.takes_cards, one.cards) for one in seen.others}
        assert [found[name] for name in names] == [(True, ("0", "1")), (True, ()), (False, ()), (False, ())]
        known = {node.engine_id for node in desk.nodes.values()}
        assert all(set(one.nodes) <= known for one in seen.others)
    finally:
        bed.person(*drop, *names)


@pytest.mark.needs("services")
async def test_constraints_of_others_are_seen_before_a_label_is_written(desk: Desk, bed: Bed) -> None:
    words = ("--constraint", "node.labels.gpu.free!=0", "--reserve-cpu", "0.5", "--reserve-memory", "64m")
    bed.person("service", "create", "-d", "--no-resolve-image", "--name", "bound", *words, IMAGE)
    try:
        seen = await desk.until(lambda seen: any(one.name == "bound" and one.nodes for one in seen.others))
        found = next(one for one in seen.others if one.name == "bound")
        assert found.constraints == ("node.labels.gpu.free!=0",)
        assert (found.cpu_nano, found.memory_bytes) == (5 * 10**8, 64 * 2**20)
    finally:
        bed.person("service", "rm", "bound")


async def test_a_change_is_hinted_at(desk: Desk) -> None:
    heard = asyncio.create_task(anext(desk.engine.changes()))
    await asyncio.sleep(0.2)
    await desk.engine.start(desk.launch())
    assert await asyncio.wait_for(heard, 5)


# Nodes


@pytest.mark.needs("node labels")
async def test_labels_are_written_by_compare_and_swap(desk: Desk) -> None:
    node = desk.node
    version = await desk.engine.write_labels(node, {"gpu.free": "2", "zone": "a"}, ())
    with pytest.raises(StaleVersion):
        await desk.engine.write_labels(node, {"gpu.free": "9"}, ())
    fresh = again(node, engine_version=version)
    await desk.engine.write_labels(fresh, {"gpu.free": "1"}, ("zone",))
    seen = next(one for one in (await desk.look()).nodes if one.engine_id == node.engine_id)
    assert {key: value for key, value in seen.labels.items() if key in ("gpu.free", "zone")} == {"gpu.free": "1"}
    await desk.engine.write_labels(again(node, engine_version=seen.version), {}, ("gpu.free",))


@pytest.mark.needs("node labels")
async def test_eight_label_writes_at_once_are_one(desk: Desk) -> None:
    seen = next(one for one in (await desk.look()).nodes if one.engine_id == desk.node.engine_id)
    node = again(desk.node, engine_version=seen.version)
    writes = [desk.engine.write_labels(node, {"gpu.free": str(value)}, ()) for value in range(8)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(outcome, int) for outcome in outcomes) == 1
    assert all(isinstance(outcome, int | StaleVersion) for outcome in outcomes)


# Output


async def test_output_is_read_while_it_runs_and_after(desk: Desk) -> None:
    launch = desk.launch("sh", "-c", "echo one; sleep 1; echo two; exit 3")
    began = time.time()
    await desk.engine.start(launch)
    life = await desk.life(launch)
    async with asyncio.timeout(20):
        followed = [line async for line in desk.engine.logs(named(life), 0.0, follow=True)]
    assert [line.text for line in followed] == ["one\n", "two\n"]
    assert began - 5 < followed[0].time < followed[1].time < time.time() + 5
    over = await desk.life(launch, "exited")
    assert [line.text async for line in desk.engine.logs(named(over), 0.0, follow=False)] == ["one\n", "two\n"]
    later = [line async for line in desk.engine.logs(named(over), followed[0].time, follow=False)]
    assert [line.text for line in later] == ["two\n"]


async def test_a_container_without_cards_sees_none_whatever_its_image_says(desk: Desk) -> None:
    image = IMAGE_GPU if desk.bed.real else IMAGE
    assert await desk.output("sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES", image=image) == ["void"]
    own = (("NVIDIA_VISIBLE_DEVICES", "all"), ("DOCKER_RESOURCE_GPU", "0"), ("KEPT", "1"))
    lines = await desk.output("env", env=own)
    assert "NVIDIA_VISIBLE_DEVICES=void" in lines
    assert "KEPT=1" in lines
    assert not [line for line in lines if line.startswith("DOCKER_RESOURCE")]


async def test_granted_cards_are_named_in_the_environment(desk: Desk) -> None:
    launch = desk.launch("sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES", cards=2, env=(("NVIDIA_VISIBLE_DEVICES", "all"),))
    await desk.engine.start(launch)
    over = await desk.life(launch, "exited")
    async with asyncio.timeout(10):
        while not (text := await desk.text(named(over))):
            await asyncio.sleep(0.1)
    assert text.strip() == ",".join(card.uuid for card in launch.cards)


@pytest.mark.needs("daemon")
async def test_settings_of_the_file_reach_the_container(desk: Desk, bed: Bed) -> None:
    script = "id -u; id -G; pwd; hostname; stat -f -c %b:%S /dev/shm; grep CapBnd /proc/self/status; ls /scratch"
    launch = desk.launch(
        "sh",
        "-c",
        script,
        cards=1,
        user="1001:1001",
        groups=("video", "44"),
        workdir="/srv",
        hostname="trainer",
        shm_bytes=128 * 2**20,
        mounts=(
            Mount(kind="tmpfs", target="/scratch", tmpfs_bytes=2**20),
            Mount(kind="bind", source="/etc", target="/e"),
        ),
        limits=Limits(cpu_nano=5 * 10**8, memory_bytes=64 * 2**20, pids=50),
        request=Request(gpus=1, cpu_nano=10**8, memory_bytes=32 * 2**20),
        healthcheck=Healthcheck(test=("NONE",)),
        init=False,
    )
    await desk.engine.start(again(launch, group_ids={"video": 4711}))
    life = await desk.life(launch, "exited")
    async with asyncio.timeout(10):
        while len(lines := (await desk.text(named(life))).splitlines()) < 6:
            await asyncio.sleep(0.1)
    blocks, size = map(int, lines[4].split(":"))
    assert lines[0] == "1001"
    assert {"1001", "4711", "44"} <= set(lines[1].split())
    assert lines[2:4] == ["/srv", "trainer"]
    assert blocks * size == 128 * 2**20
    assert not int(lines[5].split()[1], 16) >> 27 & 1, "MKNOD must be gone"
    host = json.loads(bed.person("inspect", life.container_id))[0]["HostConfig"]
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == (5 * 10**8, 64 * 2**20, 50)


@pytest.mark.needs("daemon")
async def test_replicas_share_one_name(desk: Desk, bed: Bed) -> None:
    first, stack = beds.stack_of(desk.launch(stack="net"), "front")
    second = again(first, task=f"{first.job.id}.2", slot=2, name=f"{first.name}-2")
    await desk.engine.ensure_stack(stack)
    await desk.engine.ensure_stack(stack)
    for launch in (first, second):
        await desk.engine.start(launch)
        await desk.life(launch)
    asking, _ = beds.stack_of(desk.launch("sh", "-c", f"sleep 1; nslookup {first.job.service}", stack="net"), "front")
    await desk.engine.start(asking)
    over = await desk.life(asking, "exited")
    async with asyncio.timeout(10):
        while not (text := await desk.text(named(over))):
            await asyncio.sleep(0.1)
    answers = [line for line in text.split("Name:", 1)[-1].splitlines() if line.startswith("Address")]
    assert len(answers) == 2, text
    for launch in (first, second, asking):
        await desk.engine.remove(Handle(object_id="", name=launch.name))
    await desk.until(lambda seen: not seen.lives)
    await desk.engine.remove_stack(stack)
    await desk.engine.remove_stack(stack)
    assert "net_front" not in bed.person("network", "ls", "--format", "{{.Name}}").split()


@pytest.mark.needs("daemon")
async def test_what_the_file_names_and_the_engine_lacks_is_said(desk: Desk, bed: Bed) -> None:
    spec = desk.launch(secrets=(FileRef(source="nokey", target="nokey"),)).spec
    found = await desk.engine.problems(spec, (Network(name="nonet", external=True), Network(name="mine")))
    own = ["secret-missing"] if desk.engine.files is not None else []
    assert [problem.code for problem in found] == [*own, "network-missing"]
    assert all(problem.hint for problem in found)


@pytest.fixture
def registry(bed: Bed) -> Iterator[Registry]:
    """A registry with a password that this bed's hosts can reach."""
    with Registry(bed.hosts[0].lab, user="ann", password="pass word") as registry:
        yield registry


def login(registry: Registry, password: str = "pass word") -> str:
    """The registry's X-Registry-Auth."""
    words = {"username": "ann", "password": password, "serveraddress": registry.address}
    return base64.urlsafe_b64encode(json.dumps(words).encode()).decode()


@pytest.mark.needs("daemon")
async def test_an_image_that_is_nowhere_ends_the_attempt_with_the_reason(desk: Desk, registry: Registry) -> None:
    launch = desk.launch(image=f"{registry.address}/nowhere:1")
    await desk.engine.start(again(launch, registry_auth=login(registry)))
    over = await desk.life(launch, "exited", 40)
    assert over.started_at is None
    assert over.exit_code is None
    assert "nowhere" in over.error
    await desk.engine.remove(named(over))
    await desk.until(lambda seen: not lives(seen, launch))


@pytest.mark.needs("daemon")
async def test_an_image_behind_a_password_is_pulled(desk: Desk, bed: Bed, registry: Registry) -> None:
    image = registry.push(bed.hosts[0], IMAGE)
    bed.person("rmi", image)
    launch = again(desk.launch(image=image), registry_auth=login(registry))
    await desk.engine.start(launch)
    assert (await desk.engine.start(launch)).name == launch.name
    life = await desk.life(launch)
    assert len(lives(await desk.look(), launch)) == 1
    assert registry.password not in str(bed.person("inspect", life.container_id))
    await desk.engine.remove(named(life))
    await desk.until(lambda seen: not lives(seen, launch))
    bed.person("rmi", image)


@pytest.mark.needs("daemon")
async def test_a_program_that_cannot_be_run_leaves_nothing(desk: Desk, bed: Bed) -> None:
    launch = desk.launch("/no/such/program")
    if bed.kind == "docker":
        with pytest.raises(EngineError, match="/no/such/program"):
            await desk.engine.start(launch)
        assert not lives(await desk.look(), launch)
        return
    await desk.engine.start(launch)
    over = await desk.life(launch, "exited")
    assert "/no/such/program" in over.error
    assert over.started_at is None


# Swarm's own store and services


@pytest.mark.needs("services")
async def test_secrets_and_configs_are_mounted(desk: Desk, bed: Bed) -> None:
    source = bed.hosts[0].folder / "value"
    source.write_text("s3cret")
    for kind in ("secret", "config"):
        bed.person(kind, "create", "key", str(source))
    file = FileRef(source="key", target="key", uid="1001", mode=0o400)
    shown = await desk.output(
        "sh",
        "-c",
        "cat /run/secrets/key; echo; cat /etc/key; stat -c ' %u %a' /run/secrets/key",
        secrets=(file,),
        configs=(FileRef(source="key", target="/etc/key"),),
    )
    assert shown == ["s3cret", "s3cret 1001 400"]
    assert await desk.engine.problems(desk.launch(secrets=(file,)).spec, ()) == ()


async def test_a_native_service_is_the_engines_to_place(desk: Desk, bed: Bed) -> None:
    if not desk.engine.capabilities.native:
        with pytest.raises(Refused):
            await desk.engine.apply_native(desk.launch())
        return
    spec = {"request": Request(constraints=("node.role == worker",)), "restart": Restart(condition="any")}
    plain = desk.launch(stack="nat", **spec)
    launch = again(plain, job=again(plain.job, replicas=2, native=True), attempt=0, node=None)
    first = await desk.engine.apply_native(launch)
    seen = await desk.until(lambda seen: sum(one.state == "running" for one in seen.lives) == 2)
    workers = {node.engine_id for node in seen.nodes if node.role == "worker"}
    assert {one.node for one in seen.lives} <= workers
    assert {one.task for one in seen.lives} == {f"{launch.job.id}.1", f"{launch.job.id}.2"}
    assert [(one.native, one.replicas, one.attempt) for one in seen.objects] == [(True, 2, 0)]
    again_made = await desk.engine.apply_native(launch)
    assert again_made.object_id == first.object_id
    await desk.engine.apply_native(again(launch, job=again(launch.job, replicas=1)))
    await desk.until(lambda seen: sum(one.state == "running" for one in seen.lives) == 1)
    assert await desk.engine.remove(Handle(object_id=first.object_id)) is None


@pytest.mark.needs("services")
async def test_a_native_service_equals_what_stack_deploy_makes(desk: Desk, bed: Bed) -> None:
    file = bed.hosts[0].folder / "stack.yml"
    file.write_text(STACK)
    bed.person("stack", "deploy", "--resolve-image", "never", "-c", str(file), "twin")
    try:
        theirs = json.loads(bed.person("service", "inspect", "twin_web"))[0]["Spec"]
        spec = TaskSpec(
            image=IMAGE,
            command=None,
            args=("sleep", "600"),
            env=(("A", "1"),),
            labels={"team": "x"},
            networks=(NetworkUse("twin_default"),),
            request=Request(constraints=("node.role == worker",), cpu_nano=10**8),
            limits=Limits(memory_bytes=64 * 2**20),
            restart=Restart(condition="on-failure", delay_s=2.0, max_attempts=3),
        )
        plain = desk.launch(stack="twin2")
        job = again(plain.job, stack="twin", service="web", native=True, replicas=2, spec=spec)
        await desk.engine.apply_native(again(plain, job=job, spec=spec, attempt=0, node=None))
        ours = json.loads(bed.person("service", "inspect", plain.name))[0]["Spec"]
        for part in ("ContainerSpec", "Resources", "RestartPolicy", "Placement", "Networks"):
            assert without_berth(ours["TaskTemplate"].pop(part)) == without_berth(theirs["TaskTemplate"].pop(part))
        assert without_berth(ours) == {**without_berth(theirs), "Name": plain.name}
    finally:
        bed.person("service", "rm", plain.name)
        bed.person("stack", "rm", "twin")


@pytest.mark.needs("services")
async def test_a_silent_node_makes_its_lives_unknown_until_it_returns(desk: Desk, bed: Bed) -> None:
    away = bed.hosts[1]
    launch = again(desk.launch(cards=1), node=desk.nodes[away.name])
    await desk.engine.start(launch)
    await desk.life(launch)
    away.kill()
    try:
        unknown = await desk.life(launch, "unknown", 40)
        assert unknown.cards == tuple(card.uuid for card in launch.cards)
        assert not next(one for one in (await desk.look()).nodes if one.hostname == away.name).up
    finally:
        away.start()
    await desk.life(launch, "exited", 40)


STACK = f"""
version: "3.8"
services:
  web:
    image: {IMAGE}
    command: sleep 600
    environment: [A=1]
    deploy:
      replicas: 2
      labels: {{team: x}}
      placement: {{constraints: [node.role == worker]}}
      resources: {{reservations: {{cpus: "0.1"}}, limits: {{memory: 64M}}}}
      restart_policy: {{condition: on-failure, delay: 2s, max_attempts: 3}}
"""


def without_berth(value: Any) -> Any:
    """A service's spec without Berth's labels, its void of cards, and what the CLI writes that means nothing."""
    if isinstance(value, dict):
        kept = {key: without_berth(one) for key, one in value.items() if not key.startswith("berth.")}
        return {key: one for key, one in kept.items() if one not in ({}, [], None, "default") and key != "ForceUpdate"}
    if isinstance(value, list):
        return [without_berth(one) for one in value if one != "NVIDIA_VISIBLE_DEVICES=void"]
    return value
