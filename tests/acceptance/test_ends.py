"""Every way in which a task can end frees its card exactly once, not before it is gone, and wakes the queue."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.acceptance.berth import Berth, until
from tests.acceptance.engines import host, lab, swarm  # noqa: F401 - fixtures
from tests.acceptance.mortal import Witness, containers
from tests.testbed.daemons import DockerHost
from tests.testbed.swarm import Swarm

pytestmark = [pytest.mark.engine, pytest.mark.timeout(180)]

SERVICE = """\
services:
  train:
    image: %s
    command: %s
    stop_grace_period: 3s
    deploy:
      restart_policy: {condition: none}
      resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}
"""
SOON_S = 2.0


class Bed:
    """A server with one card; `here` is the daemon of the node that has it, `manager` the one Berth speaks to."""

    def __init__(self, berth: Berth, manager: DockerHost, here: DockerHost, witness: Witness) -> None:
        self.berth = berth
        self.manager = manager
        self.here = here
        self.witness = witness
        self.asked_at = 0.0

    def deploy(self, name: str, *command: str, image: str = "bb:1") -> str:
        """A stack of one service with one card; its job's name."""
        (self.berth.folder / "stack.yml").write_text(SERVICE % (image, json.dumps(command)))
        self.berth("stack", "deploy", "-c", "stack.yml", name)
        return f"{name}_train"

    def next(self) -> str:
        """A job that waits for the card; its id."""
        job = self.berth("run", "--gpus", "1", "--detach", "--name", "next", "bb:1", "sleep", "600").strip()
        self.asked_at = time.monotonic()
        return job

    def container_of(self, name: str) -> str:
        """The id of the container that runs for the job."""
        words = ("ps", "-q", "--no-trunc", "--filter", f"label=berth.name={name}")
        found: str = until(lambda: self.here.docker(*words).strip(), 20, f"a container of {name}", step=0.05)
        return found

    def running(self, name: str) -> bool:
        """The daemon shows a running container of the job."""
        return any(one["berth.name"] == name for one in containers(self.here))

    def over(self, name: str, state: str, reason: str) -> None:
        """The job has ended so, its card was given back once, and the next one has it."""
        until(lambda: not self.running(name), 30, f"{name} is gone", step=0.02)
        gone = max(time.monotonic(), self.asked_at)
        until(lambda: self.running("next"), 10, "the next one runs", step=0.02)
        assert time.monotonic() - gone < SOON_S
        until(lambda: self.berth.job(name)["state"] not in ("running", "stopping", "starting"), 10)
        job = self.berth.job(name)
        assert (job["state"], job["reason"]) == (state, reason)
        assert self.released(job["id"]) == 1

    def released(self, job: str) -> int:
        """How often cards of the job were given back."""
        return sum(event["kind"] == "released" and event["job"] == job for event in self.berth.json("events"))


@pytest.fixture(scope="module")
def swarm_bed(swarm: Swarm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:  # noqa: F811
    """The worker of a Swarm has the one card."""
    flags = ("--engine", "swarm", "--docker-host", swarm.manager.url, "--simulate", "gpu-2=A100-SXM4-80GB:1")
    with Witness(swarm.nodes) as witness, Berth(tmp_path_factory.mktemp("swarm"), *flags) as berth:
        yield Bed(berth, swarm.manager, swarm.node("gpu-2"), witness)


@pytest.fixture(scope="module")
def docker_bed(host: DockerHost, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:  # noqa: F811
    """A Docker host with one card."""
    flags = ("--engine", "docker", "--docker-host", host.url, "--simulate", "single=A100-SXM4-80GB:1")
    with Witness([host]) as witness, Berth(tmp_path_factory.mktemp("docker"), *flags) as berth:
        yield Bed(berth, host, host, witness)


@pytest.fixture(params=["docker", "swarm"])
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Each engine; afterwards nothing is left and the card is free."""
    found: Bed = request.getfixturevalue(f"{request.param}_bed")
    yield found
    _clean(found)


@pytest.fixture
def on_swarm(swarm_bed: Bed) -> Iterator[Bed]:
    """The Swarm alone."""
    yield swarm_bed
    _clean(swarm_bed)


def _clean(bed: Bed) -> None:
    for stack in bed.berth.json("stack", "ls"):
        bed.berth("stack", "rm", stack["name"], "-y")
    live = [job["id"] for job in bed.berth.json("jobs")]
    if live:
        bed.berth("cancel", *live, "-y")
    until(lambda: not bed.berth.json("jobs") and not bed.berth.json("stack", "ls"), 30, "all is over")
    assert bed.berth.free() == 1
    until(lambda: not containers(bed.here), 15, "no container is left")
    assert not bed.witness.twice


@pytest.mark.parametrize(
    ("command", "state", "reason", "code"),
    [("sleep 2; exit 0", "succeeded", "exit", 0), ("sleep 2; exit 137", "failed", "exit", 137)],
)
def test_an_exit_frees_the_card(bed: Bed, command: str, state: str, reason: str, code: int) -> None:
    name = bed.deploy("app", "sh", "-c", command)
    until(lambda: bed.berth.job(name)["state"] not in ("waiting", "starting"), 20, "it has begun")
    bed.next()
    bed.over(name, state, reason)
    assert bed.berth.job(name)["exit_code"] == code


def test_a_container_removed_by_force_frees_the_card(bed: Bed) -> None:
    name = bed.deploy("app", "sleep", "600")
    bed.next()
    bed.here.docker("rm", "-f", bed.container_of(name))
    until(lambda: bed.berth.job(name)["state"] == "failed", 15)
    bed.over(name, "failed", bed.berth.job(name)["reason"])


def test_a_removed_service_gives_its_card_only_when_its_container_is_gone(on_swarm: Bed) -> None:
    name = on_swarm.deploy("app", "sleep", "600", image="bb-term:1")
    old = on_swarm.container_of(name)
    on_swarm.next()
    on_swarm.manager.docker("service", "rm", name)
    until(lambda: on_swarm.berth.job(name)["state"] == "stopping", 5)
    assert old in on_swarm.here.docker("ps", "-q", "--no-trunc")
    assert on_swarm.berth.free() == 0
    on_swarm.over(name, "cancelled", "removed-on-engine")


def test_a_stack_that_is_deployed_while_it_is_being_removed_runs_when_the_old_one_is_gone(bed: Bed) -> None:
    name = bed.deploy("app", "sleep", "600", image="bb-term:1")
    old, first = bed.container_of(name), bed.berth.job(name)["id"]
    bed.berth("stack", "rm", "app", "-y")
    bed.deploy("app", "sleep", "600", image="bb-term:1")
    second = bed.berth.job(name)["id"]
    assert second != first
    until(lambda: bed.berth.job(second)["state"] == "running", 20)
    assert bed.container_of(name) != old
    assert bed.berth.job(first)["state"] == "cancelled"
    assert bed.released(first) == 1


def test_a_stack_that_has_ended_runs_again_when_it_is_deployed_again(bed: Bed) -> None:
    for _ in range(2):
        assert bed.deploy("app", "true") == "app_train"
        until(lambda: bed.berth.job("app_train")["state"] == "succeeded", 20)
    ended = [job for job in bed.berth.json("jobs", "--all") if job["name"] == "app_train"][:2]
    assert [job["state"] for job in ended] == ["succeeded"] * 2
    assert [bed.released(job["id"]) for job in ended] == [1, 1]


@pytest.mark.parametrize("by", ["berth", "docker"])
def test_a_removed_stack_frees_the_card(on_swarm: Bed, by: str) -> None:
    name = on_swarm.deploy("app", "sleep", "600")
    on_swarm.container_of(name)
    on_swarm.next()
    if by == "berth":
        on_swarm.berth("stack", "rm", "app", "-y")
    else:
        on_swarm.manager.docker("stack", "rm", "app")
    on_swarm.over(name, "cancelled", "cancelled" if by == "berth" else "removed-on-engine")


def test_a_cancel_while_it_runs_waits_for_its_end(bed: Bed) -> None:
    name = bed.deploy("app", "sleep", "600", image="bb-term:1")
    bed.container_of(name)
    bed.next()
    bed.berth("cancel", name, "-y")
    assert bed.berth.free() == 0
    assert bed.running(name)
    bed.over(name, "cancelled", "cancelled")


def test_a_cancel_while_it_waits_ends_it_at_once_and_frees_nothing(bed: Bed) -> None:
    first = bed.next()
    until(lambda: bed.running("next"), 15)
    name = bed.deploy("app", "sleep", "600")
    until(lambda: bed.berth.job(name)["reason"] == "free-cards", 10)
    bed.berth("cancel", name, "-y")
    until(lambda: bed.berth.job(name)["state"] == "cancelled", 5)
    assert bed.released(bed.berth.job(name)["id"]) == 0
    assert bed.berth.job(first)["state"] == "running"


def test_a_cancel_while_it_is_prepared_takes_its_service_away(on_swarm: Bed) -> None:
    on_swarm.next()
    until(lambda: on_swarm.running("next"), 15)
    name = on_swarm.deploy("app", "sleep", "600")
    until(lambda: "Pending" in on_swarm.manager.docker("service", "ps", name), 10)
    on_swarm.berth("cancel", name, "-y")
    until(lambda: name not in on_swarm.manager.docker("service", "ls"), 10, "its service is gone")
    assert on_swarm.berth.job(name)["state"] == "cancelled"
    assert on_swarm.released(on_swarm.berth.job(name)["id"]) == 0


def test_a_cancel_just_after_the_submit_leaves_nothing(bed: Bed) -> None:
    for _ in range(4):
        job = bed.berth("run", "--gpus", "1", "--detach", "bb:1", "sleep", "600").strip()
        bed.berth("cancel", job, "-y")
    until(lambda: not bed.berth.json("jobs"), 30)
    assert {job["state"] for job in bed.berth.json("jobs", "--all")[:4]} == {"cancelled"}


def test_a_cancel_while_it_starts_frees_once_and_nothing_comes_later(bed: Bed) -> None:
    bed.here.pause()
    try:
        job = bed.berth("run", "--gpus", "1", "--detach", "--name", "slow", "bb:1", "sleep", "600").strip()
        until(lambda: bed.berth.job(job)["state"] == "starting", 5)
        bed.next()
        bed.berth("cancel", job, "-y")
        time.sleep(1)
    finally:
        bed.here.resume()
    until(lambda: bed.running("next"), 30, "the next one runs")
    assert not bed.running("slow")
    until(lambda: bed.berth.job(job)["state"] == "cancelled", 10)
    assert bed.released(job) == 1
