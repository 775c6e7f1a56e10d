"""Stacks that the real `docker stack deploy` started become Berth's: what may go on goes on, no card is used twice."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.acceptance.berth import Berth, stays, until
from tests.acceptance.mortal import Mortal
from tests.acceptance.test_stack_on_swarm import label_by_hand, labels_of, removed_by_hand, tried
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]

WORK = """["sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"]"""
STACK = f"""\
version: "3.8"
services:
  web:
    image: bb:1
    command: ["sh", "-c", "trap 'exit 0' TERM; echo hello; sleep 600 & wait"]
    environment: [MODE=quiet]
    networks: [back]
    deploy:
      replicas: 2
      labels: [team=front]
      restart_policy: {{condition: any, delay: 2s}}
  named:
    image: bb:1
    command: {WORK}
    environment: ["NV_GPU=0,1"]
    networks: [back]
    deploy:
      placement: {{constraints: ["node.labels.gpu.model == Tesla-V100"]}}
  placed:
    image: bb:1
    command: {WORK}
    deploy:
      replicas: 3
      labels: ["gpu.task=true"]
      placement: {{constraints: ["node.labels.gpu.enable == true", "node.labels.gpu.model == A100"]}}
networks:
  back:
    labels: [kept=yes]
"""
V100 = {"gpu.enable": "true", "gpu.model": "Tesla-V100", "gpu.count": "2", "gpu.free": "0"}
A100 = {"gpu.enable": "true", "gpu.model": "A100", "gpu.count": "4", "gpu.free": "1"}
PLACED = ["gpu-3/1", "gpu-3/2", "gpu-3/3"]
TAKE = ("stack", "deploy", "--take-over", "-c", "stack.yml", "team")
POINTS = r"engine (resize|take_over_native|remove|start)|taking-over|old-task|taken-over|PutJob"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own: these tests take long."""
    with Lab("tko", "10.63.0") as lab:
        yield lab


@pytest.fixture
def stacked(swarm: Swarm, tmp_path: Path) -> Iterator[Swarm]:
    """The team's stack as the docker CLI started it, on nodes that were labelled by hand."""
    label_by_hand(swarm, "gpu-2", **V100)
    label_by_hand(swarm, "gpu-3", **A100)
    path = tmp_path / "stack.yml"
    path.write_text(STACK)
    swarm.manager.docker("stack", "deploy", "-c", str(path), "team")
    until(lambda: len(containers(swarm)) == 6, 40, "six containers")
    try:
        yield swarm
    finally:
        until(lambda: not swarm.cli("service", "ls", "-q").strip() or not removed(swarm), 30)
        until(lambda: not containers(swarm), 30, "no container")
        until(lambda: tried(swarm, "network", "rm", "team_back") or "team_" not in swarm.cli("network", "ls"), 30)
        for node in ("gpu-2", "gpu-3"):
            keys = labels_of(swarm, node)
            swarm.cli("node", "update", *(word for key in keys for word in ("--label-rm", key)), node)


def removed(swarm: Swarm) -> list[str]:
    """What had to be removed of services."""
    left = swarm.cli("service", "ls", "-q").split()
    for service in left:
        tried(swarm, "service", "rm", service)
    return left


def containers(swarm: Swarm, name: str = "") -> dict[str, str]:
    """Container ids by the service slot that their names tell (team_web.1), on all nodes."""
    told = [node.docker("ps", "--format", "{{.ID}} {{.Names}}") for node in swarm.nodes]
    rows = [row.split() for lines in told for row in lines.splitlines() if row]
    return {".".join(full.split(".")[:2]): key for key, full in rows if full.startswith(f"team_{name}")}


def used(berth: Berth) -> dict[str, str]:
    """Which job holds each card that is not free."""
    cards = berth.items("/v1/cards")
    return {card["uuid"]: card["job_name"] or card["state"] for card in cards if card["state"] != "free"}


def taken_over(berth: Berth) -> bool:
    """True once every service is wholly Berth's and runs."""
    jobs = berth.items("/v1/stacks/team")
    return len(jobs) == 3 and all(
        not job["taking"] and all(task["state"] == "running" for task in job["tasks"]) for job in jobs
    )


@contextmanager
def never_too_many(swarm: Swarm) -> Iterator[list[str]]:
    """Look all the time: no more containers than cards of each kind of work."""
    over, found = Event(), list[str]()

    def watch() -> None:
        while not over.wait(0.1):
            for node, name, most in (("gpu-2", "team_named", 1), ("gpu-3", "team_placed", 3)):
                names = [row for row in swarm.node(node).docker("ps", "--format", "{{.Names}}").split() if name in row]
                found.extend([f"{node}: {names}"] if len(names) > most else [])

    thread = Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join(20)


def test_a_running_stack_is_refused_planned_and_taken_over(stacked: Swarm, tmp_path: Path) -> None:
    before, cli_ids = containers(stacked), stacked.cli("service", "inspect", "-f", "{{.ID}}", "team_web")
    with Berth(tmp_path, "--docker-host", stacked.manager.url) as berth, never_too_many(stacked) as too_many:
        assert set(used(berth)) == {"gpu-2/0", "gpu-2/1", *PLACED}
        refused = berth.refused("stack", "deploy", "-c", "stack.yml", "team", code=4)
        assert "stack team was not deployed by Berth: team_named, team_placed, team_web run already." in refused
        assert "berth stack deploy --take-over -c FILE team" in refused
        plan = berth(*TAKE, "--plan")
        assert "= team_web: keep; taken over in place, none of its tasks restarts\n" in plan
        assert "~ team_named: update; restarted on the same cards: down for at most 10 s to end and about 1 s" in plan
        assert "slot 1  starts now on gpu-2 with 2 cards: Tesla-V100 0, 1\n" in plan
        assert "~ team_placed: update; its 3 containers are restarted on the same cards, one after the other" in plan
        assert containers(stacked) == before
        assert berth.items("/v1/jobs") == []

        told = berth(*TAKE, "--wait", "--timeout", "120s", timeout=130)
        assert "team_web: created; running" in told
        until(lambda: taken_over(berth), 60, "wholly Berth's")
        after = containers(stacked)
        assert {slot: after[slot] for slot in ("team_web.1", "team_web.2")} == {
            slot: before[slot] for slot in ("team_web.1", "team_web.2")
        }
        slots = ("team_web.1", "team_web.2", "team_named.1", "team_placed.1", "team_placed-2.1", "team_placed-3.1")
        assert sorted(after) == sorted(slots)
        assert stacked.cli("service", "inspect", "-f", "{{.ID}}", "team_web") == cli_ids
        assert used(berth) == {"gpu-2/0": "team_named", "gpu-2/1": "team_named", **dict.fromkeys(PLACED, "team_placed")}
        until(lambda: labels_of(stacked, "gpu-3").get("gpu.free") == "1", 10)
        assert berth("logs", "team_web").count("hello") == 2
        again = berth(*TAKE)
        assert all(f"{name}: unchanged" in again for name in ("team_web", "team_named", "team_placed"))
        assert containers(stacked) == after

        removed_by_hand(stacked, "team")
        until(lambda: not used(berth), 30, "all cards free")
        until(lambda: not berth.json("stack", "ls"), 30, "no stack")
        assert not stacked.cli("service", "ls", "-q").strip()
    assert too_many == []


def test_the_server_may_die_at_each_point_of_a_take_over(stacked: Swarm, tmp_path: Path) -> None:
    before = containers(stacked, "web")
    flags = ("--engine", "swarm", "--docker-host", stacked.manager.url)
    with never_too_many(stacked) as too_many, Mortal(tmp_path, POINTS, *flags) as berth:
        berth(*TAKE)
        until(lambda: calmly(berth), 240, "wholly Berth's", step=1.0)
        assert containers(stacked, "web") == before
        assert used(berth) == {"gpu-2/0": "team_named", "gpu-2/1": "team_named", **dict.fromkeys(PLACED, "team_placed")}
        berth("stack", "rm", "-y", "team")
        until(lambda: not stacked.cli("service", "ls", "-q").strip(), 60, "no service")
        points = {point.removeprefix("before ").removeprefix("after ").split(" (")[0] for point in berth.points}
        assert {"engine resize", "engine take_over_native", "engine remove", "commit old-task-ended"} <= points
    assert too_many == []


def calmly(berth: Mortal) -> bool:
    """Whether all is taken over, as far as a server lives that can tell."""
    try:
        return taken_over(berth)
    except OSError:
        return False


def test_a_service_that_does_not_start_keeps_the_rest_as_it_is(stacked: Swarm, tmp_path: Path) -> None:
    good = f"command: {WORK}\n    deploy"
    broken = STACK.replace("team=front", "team=back").replace(good, "command: [nothing]\n    deploy")
    (tmp_path / "stack.yml").write_text(broken)
    with Berth(tmp_path, "--docker-host", stacked.manager.url) as berth:
        berth(*TAKE)
        until(lambda: "no further one is ended" in berth("why", "team_placed"), 60, "it is held", step=0.5)
        stays(lambda: len(containers(stacked, "placed")) == 2, 5, "two of three go on")
        assert "the container that the docker CLI started runs on gpu-3" in berth("stack", "ps", "team")
        (tmp_path / "stack.yml").write_text(STACK)
        berth(*TAKE)
        until(lambda: taken_over(berth), 90, "wholly Berth's")
        berth("stack", "rm", "-y", "team")
        until(lambda: not stacked.cli("service", "ls", "-q").strip() and not used(berth), 40, "all gone")


def test_a_stack_that_is_removed_in_the_middle_is_removed_whole(stacked: Swarm, tmp_path: Path) -> None:
    with Berth(tmp_path, "--docker-host", stacked.manager.url) as berth:
        berth(*TAKE)
        until(lambda: any(task["attempt"] for task in berth.items("/v1/stacks/team")[0]["tasks"]), 60, "the first slot")
        removed_by_hand(stacked, "team")
        until(lambda: not containers(stacked), 40, "no container")
        stays(lambda: not stacked.cli("service", "ls", "-q").strip(), 3, "nothing comes back")
        until(lambda: not used(berth) and not berth.json("stack", "ls"), 30, "all cards free, no stack")


def test_what_shares_a_card_is_not_taken_over(stacked: Swarm, tmp_path: Path) -> None:
    stacked.cli("service", "scale", "team_named=2")
    until(lambda: len(containers(stacked, "named")) == 2, 20, "two on the same cards")
    once = '    deploy:\n      placement: {constraints: ["node.labels.gpu.model == Tesla'
    twice = once.replace("deploy:\n", "deploy:\n      replicas: 2\n")
    (tmp_path / "stack.yml").write_text(STACK.replace(once, twice))
    before = containers(stacked)
    with Berth(tmp_path, "--docker-host", stacked.manager.url) as berth:
        refused = berth.refused(*TAKE, code=4)
        assert "team_named cannot be taken over as it runs on gpu-2: another task has its cards" in refused
        assert containers(stacked) == before
        assert berth.items("/v1/jobs") == []
