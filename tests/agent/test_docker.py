"""The agent beside a real Docker daemon with NVIDIA's real runtime on stand-in device nodes."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from berth.agent.agent import AgentSettings
from berth.agent.link import InProcessLink
from berth.dockerapi.address import Address
from berth.model.errors import Problem
from berth.model.wire import Cards, Container, FindImage, Foreign, FoundImage, Hello, Refresh, Saw, Uses
from berth.ports import Vendor
from berth.vendors import detect
from berth.vendors.nvidia import Nvidia
from tests.agent.server import Server, agent, hello_of
from tests.testbed import build, nvidia
from tests.testbed.daemons import DockerHost
from tests.testbed.image import IMAGE, IMAGE_GPU
from tests.testbed.nvml import FakeCard, FakeNvml, FakeProcess

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


def started(host: DockerHost, task: str, cards: tuple[str, ...], *options: str, image: str = IMAGE) -> str:
    """Start a container with Berth's labels for these granted cards, as an engine does; its id."""
    visible = ",".join(cards) or "void"
    labels = {"job": "j", "task": task, "attempt": "2", "cards": ",".join(cards)}
    words = [word for key, value in labels.items() for word in ("--label", f"berth.{key}={value}")]
    return host.docker("run", "--detach", *words, "--env", f"NVIDIA_VISIBLE_DEVICES={visible}", *options, image)


def cards_file(host: DockerHost, folder: Path) -> Path:
    """The host's stand-in cards as a --cards file."""
    file = folder / "cards.json"
    file.write_text(json.dumps([{"uuid": card.uuid, "index": card.index, "model": "T4"} for card in host.cards]))
    return file


@asynccontextmanager
async def watching(host: DockerHost, vendor: Vendor) -> AsyncIterator[Server]:
    """A server that hears an agent of this host."""
    settings = AgentSettings(vendor=lambda _: vendor, docker=Address(host.url), interval_s=0.2)
    server = Server()
    async with agent(settings, InProcessLink(server.serve)):
        await server.wait(Hello)
        yield server


@pytest.fixture
def vendor(host: DockerHost, tmp_path: Path) -> Vendor:
    """NVIDIA's own bindings on a library that lists the host's stand-in cards."""
    fake = FakeNvml(
        tmp_path / "nvml", [FakeCard(card.uuid, pci=f"00000000:{card.index:02X}:00.0") for card in host.cards]
    )
    fake.write()
    fake.preload(build.nvml())
    return Nvidia("gpu-1")


async def run(host: DockerHost, task: str, cards: tuple[str, ...], *options: str, image: str = IMAGE) -> str:
    """The same beside the loop."""
    return await asyncio.to_thread(started, host, task, cards, *options, image=image)


async def docker(host: DockerHost, *words: str) -> str:
    """The docker CLI beside the loop."""
    return await asyncio.to_thread(host.docker, *words)


async def test_hello_names_the_daemon_and_what_runs(host: DockerHost, vendor: Vendor) -> None:
    card = host.cards[1].uuid
    container = await run(host, "j.1", (card,))
    async with watching(host, vendor) as server:
        hello = hello_of(server)
    info = json.loads(host.docker("info", "--format", "{{json .}}"))
    assert (hello.hostname, hello.engine_id, hello.swarm_node_id) == ("gpu-1", info["ID"], "")
    assert hello.facts["docker"] == info["ServerVersion"]
    assert [found.uuid for found in hello.cards] == [made.uuid for made in host.cards]
    assert hello.containers == (Saw(task="j.1", attempt=2, container=container, cards=(card,)),)
    assert hello.problems == ()
    await docker(host, "rm", "--force", container)


async def test_a_started_container_is_looked_at_within_a_second(host: DockerHost, vendor: Vendor) -> None:
    first, second = (card.uuid for card in host.cards)
    async with watching(host, vendor) as server:
        for task, granted in (("a.1", (first,)), ("b.1", (first, second)), ("c.1", ())):
            container = await run(host, task, granted, image=IMAGE_GPU)
            begun = time.monotonic()
            saw = await server.wait(Saw, lambda told, task=task: told.task == task)  # type: ignore[misc]
            assert time.monotonic() - begun < 1
            assert saw == Saw(task=task, attempt=2, container=container, cards=granted)
            start = await server.wait(Container, lambda told, task=task: told.task == task)  # type: ignore[misc]
            assert (start.action, start.attempt, start.container) == ("start", 2, container)
            await docker(host, "rm", "--force", container)


@pytest.mark.parametrize(
    ("granted", "options", "told"),
    [
        ((0,), ("--env", "NVIDIA_VISIBLE_DEVICES=all"), "its environment says NVIDIA_VISIBLE_DEVICES=all"),
        ((), ("--env", "NVIDIA_VISIBLE_DEVICES=0"), "its environment says NVIDIA_VISIBLE_DEVICES=0"),
        ((0,), ("--device-cgroup-rule", "c 195:1 rw"), "a device cgroup rule permits it"),
        ((0, 1), ("--env", "NVIDIA_VISIBLE_DEVICES=0"), "does not see"),
        ((0,), ("--runtime", "runc"), "does not see"),
    ],
)
async def test_other_cards_than_granted_are_reported_with_the_cause(
    host: DockerHost, vendor: Vendor, granted: tuple[int, ...], options: tuple[str, ...], told: str
) -> None:
    cards = tuple(host.cards[index].uuid for index in granted)
    async with watching(host, vendor) as server:
        container = await run(host, "w.1", cards, *options)
        saw = await server.wait(Saw, lambda said: said.container == container)
    assert told in saw.problem
    await docker(host, "rm", "--force", container)


async def test_a_container_without_limits_reaches_every_card(host: DockerHost, vendor: Vendor) -> None:
    # The older runc asks for capabilities that root may lack, so there the rules alone are lifted.
    limitless = {"today": ("--privileged",), "debian": ("--device-cgroup-rule", "c *:* rw")}[host.variant]
    async with watching(host, vendor) as server:
        container = await run(host, "p.1", (host.cards[0].uuid,), *limitless)
        saw = await server.wait(Saw, lambda said: said.container == container)
    assert saw.cards == tuple(card.uuid for card in host.cards)
    assert {"today": "it runs privileged", "debian": "a device cgroup rule permits it"}[host.variant] in saw.problem
    await docker(host, "rm", "--force", container)


async def test_a_node_that_joins_a_swarm_says_its_new_name_there(
    host: DockerHost, vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("berth.agent.watch.CHECK_S", 0.2)
    async with watching(host, vendor) as server:
        await docker(host, "swarm", "init", "--advertise-addr", host.address)
        hello = await server.wait(Hello, lambda told: bool(told.swarm_node_id))
        assert hello.swarm_node_id == await docker(host, "info", "--format", "{{.Swarm.NodeID}}")
        assert hello.instance == server.all(Hello)[0].instance
    await docker(host, "swarm", "leave", "--force")


async def test_a_toolkit_that_maps_uuids_to_other_cards_is_found(host: DockerHost, vendor: Vendor) -> None:
    file = host.folder / "run" / "cdi" / "nvidia.json"
    right = file.read_text()
    wrong = json.loads(right)
    for device in wrong["devices"]:
        if device["name"] == host.cards[0].uuid:
            device["containerEdits"]["deviceNodes"] = [{"path": "/dev/nvidia1", "hostPath": str(host.cards[1].node)}]
    file.write_text(json.dumps(wrong))
    async with watching(host, vendor) as server:
        container = await run(host, "t.1", (host.cards[0].uuid,))
        saw = await server.wait(Saw)
    file.write_text(right)
    assert saw.cards == (host.cards[1].uuid,)
    assert "the container toolkit of this node maps the granted cards to others" in saw.problem
    await docker(host, "rm", "--force", container)


async def test_a_second_look_finds_a_card_that_was_taken_away(host: DockerHost, vendor: Vendor) -> None:
    container = await run(host, "l.1", (host.cards[0].uuid,))
    async with watching(host, vendor) as server:
        assert hello_of(server).containers[0].problem == ""
        nvidia.lose(container, host.cards[0])
        await server.peers[0].send(Refresh())
        saw = await server.wait(Saw)
    assert saw.cards == ()
    assert "may not open it: its device rules were replaced" in saw.problem
    await docker(host, "rm", "--force", container)


async def test_how_a_container_ended(host: DockerHost, vendor: Vendor) -> None:
    async with watching(host, vendor) as server:
        exits = await asyncio.to_thread(_finish, host, "e.1", "exit 3")
        die = await server.wait(Container, lambda told: told.container == exits and told.action == "die")
        assert (die.oom, die.task) == (False, "e.1")
        killed = await run(host, "k.1", ())
        await docker(host, "kill", "--signal", "KILL", killed)
        await server.wait(Container, lambda told: told.container == killed and told.action == "die")
        await docker(host, "rm", "--force", killed, exits)
        await server.wait(Container, lambda told: told.container == killed and told.action == "destroy")
        assert [told.action for told in server.all(Container) if told.container == killed] == [
            "start", "kill", "die", "destroy",
        ]  # fmt: skip


async def test_an_end_for_lack_of_memory_is_known_as_one(host: DockerHost, vendor: Vendor) -> None:
    async with watching(host, vendor) as server:
        hungry = await run(host, "o.1", (), "--memory", "16m", "--memory-swap", "16m")
        await docker(host, "exec", hungry, "sh", "-c", "true")
        await asyncio.to_thread(_eat, host, hungry)
        oom = await server.wait(Container, lambda told: told.container == hungry and told.action == "oom")
        await docker(host, "rm", "--force", hungry)
        die = await server.wait(Container, lambda told: told.container == hungry and told.action == "die")
    assert oom.task == "o.1"
    assert die.oom


async def test_explicit_cards_of_somebody_else_are_foreign_until_they_end(host: DockerHost, vendor: Vendor) -> None:
    first, second = (card.uuid for card in host.cards)
    before = await docker(host, "run", "--detach", "--name", "theirs", "--user", "1005", "--gpus", "device=1", IMAGE)
    async with watching(host, vendor) as server:
        (use,) = hello_of(server).foreign
        assert (use.container, use.name, use.image, use.uid, use.cards) == (before, "theirs", IMAGE, 1005, (second,))
        inherited = await docker(host, "run", "--detach", IMAGE_GPU)
        by_hand = await docker(host, "run", "--detach", "--env", f"NVIDIA_VISIBLE_DEVICES={first}", IMAGE_GPU)
        foreign = await server.wait(Foreign)
        assert {told.container: told.cards for told in foreign.uses} == {before: (second,), by_hand: (first,)}
        await docker(host, "rm", "--force", before, by_hand, inherited)
        await server.wait(Foreign, lambda told: told.uses == ())
        assert server.all(Saw) == []


async def test_a_process_on_a_card_makes_its_container_foreign_unless_it_is_ours(
    host: DockerHost, tmp_path: Path
) -> None:
    fake = FakeNvml(tmp_path / "nvml", [FakeCard(card.uuid) for card in host.cards])
    fake.write()
    fake.preload(build.nvml())
    first, second = (card.uuid for card in host.cards)
    ours = await run(host, "m.1", (first,))
    theirs = await docker(host, "run", "--detach", "--name", "squatter", IMAGE)
    async with watching(host, Nvidia("gpu-1")) as server:
        assert hello_of(server).foreign == ()
        for index, container in enumerate((ours, theirs)):
            fake.cards[index].processes = [FakeProcess(host.inspect(container)["State"]["Pid"], 100)]
        fake.write()
        foreign = await server.wait(Foreign)
        uses = await server.wait(Uses, lambda told: all(use.pids for use in told.uses))
        fake.cards[1].processes = []
        fake.write()
        await server.wait(Foreign, lambda told: told.uses == ())
    assert [(use.name, use.container, use.cards) for use in foreign.uses] == [("squatter", theirs, (second,))]
    assert uses.uses[0].pids == (host.inspect(ours)["State"]["Pid"],)
    await docker(host, "rm", "--force", ours, theirs)


async def test_simulated_cards_need_not_show_but_real_nodes_must_fit(host: DockerHost, tmp_path: Path) -> None:
    vendor = detect("simulated", "gpu-1", cards=cards_file(host, tmp_path))
    first = host.cards[0].uuid
    async with watching(host, vendor) as server:
        quiet = await run(host, "s.1", (first,), "--runtime", "runc")
        assert (await server.wait(Saw, lambda told: told.task == "s.1")).problem == ""
        bad = await run(host, "s.2", (first,), "--env", "NVIDIA_VISIBLE_DEVICES=1")
        assert "did not grant" in (await server.wait(Saw, lambda told: told.task == "s.2")).problem
    await docker(host, "rm", "--force", quiet, bad)


async def test_a_container_that_is_gone_at_once_is_said_to_be(host: DockerHost, vendor: Vendor) -> None:
    async with watching(host, vendor) as server:
        gone = await asyncio.to_thread(_finish, host, "g.1", "true")
        await server.wait(Container, lambda told: told.container == gone and told.action == "die")
        saw = await server.wait(Saw, lambda told: told.container == gone)
        assert saw.problem == ""
        await docker(host, "rm", "--force", gone)


async def test_an_image_is_found_or_not_and_only_its_demands_are_told(host: DockerHost, vendor: Vendor) -> None:
    made = host.docker("create", IMAGE).strip()
    host.docker("commit", "--change", 'ENV NVIDIA_REQUIRE_CUDA="cuda>=12.4" API_KEY=x', made, "team/needs:1")
    host.docker("rm", made)
    async with watching(host, vendor) as server:
        await server.peers[0].send(FindImage(image="team/needs:1"))
        found = await server.wait(FoundImage)
        assert found == FoundImage(image="team/needs:1", here=True, env={"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"})
        await server.peers[0].send(FindImage(image="team/other:1"))
        other = await server.wait(FoundImage, lambda told: told.image != found.image)
        assert other == FoundImage(image="team/other:1", here=False)


async def test_through_a_restart_of_the_daemon(host: DockerHost, vendor: Vendor) -> None:
    async with watching(host, vendor) as server:
        await server.wait(Uses)
        await asyncio.to_thread(host.stop)
        away = await server.wait(Hello, lambda told: bool(told.problems))
        assert [problem.code for problem in away.problems] == ["engine-away"]
        assert len(away.cards) == 2
        server.heard.clear()
        await asyncio.to_thread(host.start)
        await server.wait(Hello, lambda told: not told.problems, seconds=30)
        container = await run(host, "r.1", (host.cards[0].uuid,))
        saw = await server.wait(Saw)
        assert (saw.container, saw.cards) == (container, (host.cards[0].uuid,))
        await docker(host, "rm", "--force", container)


async def test_a_lost_card_is_told_and_comes_back(host: DockerHost, tmp_path: Path) -> None:
    fake = FakeNvml(tmp_path / "nvml", [FakeCard(card.uuid) for card in host.cards])
    fake.write()
    fake.preload(build.nvml())
    async with watching(host, Nvidia("gpu-1")) as server:
        await server.wait(Uses)
        fake.lose(fake.cards[0])
        lost = await server.wait(Cards)
        fake.cards[0].error = 0
        fake.write()
        back = await server.wait(Cards, lambda told: len(told.cards) == 2)
    assert [card.uuid for card in lost.cards] == [host.cards[1].uuid]
    assert [problem.code for problem in lost.problems] == ["card-lost"]
    assert back.problems == ()


async def test_without_a_daemon_the_cards_are_still_told(tmp_path: Path) -> None:
    vendor = detect("simulated", "elsewhere", cards=_one_card(tmp_path))
    settings = AgentSettings(
        vendor=lambda _: vendor, docker=Address(f"unix://{tmp_path}/absent.sock"), node="elsewhere"
    )
    server = Server()
    async with agent(settings, InProcessLink(server.serve)):
        hello = await server.wait(Hello)
    problem: Problem
    (problem,) = hello.problems
    assert (hello.hostname, len(hello.cards), problem.code) == ("elsewhere", 1, "engine-away")


def _one_card(folder: Path) -> Path:
    file = folder / "cards.json"
    file.write_text('[{"model": "T4"}]')
    return file


def _finish(host: DockerHost, task: str, command: str) -> str:
    """Run a command in a container of Berth's to its end; the container's id."""
    name = f"finish-{os.getpid()}-{time.monotonic_ns()}"
    words = ["--label", "berth.job=j", "--label", f"berth.task={task}", "--label", "berth.attempt=1"]
    host.docker("create", "--name", name, *words, IMAGE, "sh", "-c", command)
    host.docker("start", name)
    host.docker("wait", name)
    return str(host.inspect(name)["Id"])


def _eat(host: DockerHost, container: str) -> None:
    """Have a process in the container take more memory than it may."""
    eat = "x=$(head -c 33554432 /dev/zero | tr '\\0' x); echo ${#x}"
    host.docker("exec", container, "sh", "-c", f"({eat}) >/dev/null 2>&1; true")
