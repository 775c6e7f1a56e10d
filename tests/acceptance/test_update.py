"""Updates across slots on a real Swarm (three nodes, two cards each) and on a Docker host: rounds on the same cards,
failures, rollbacks, and a client or a server that dies in the middle.
"""

import json
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.berth import Berth, stays, until
from tests.acceptance.mortal import Mortal, Witness, containers
from tests.testbed.daemons import DockerHost
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

STACK = """\
services:
  web:
    image: bb:1
    command: ["sh", "-c", "trap 'exit 0' TERM; {command}; sleep 600 & wait"]
    labels: {{version: "{version}"}}
    {health}
    deploy:
      replicas: {replicas}
      restart_policy: {{condition: any, delay: 1s}}
      update_config: {{{update}}}
      resources: {{reservations: {{devices: [{{capabilities: [gpu], count: 1}}]}}}}
  other:
    image: bb:1
    command: ["sleep", "600"]
    labels: {{version: "0"}}
    stop_grace_period: 1s
    deploy: {{resources: {{reservations: {{devices: [{{capabilities: [gpu], count: 1}}]}}}}}}
"""
CHECK = "healthcheck: {test: [CMD, test, -e, /tmp/ok], interval: 1s, timeout: 1s, retries: 2, start_period: 1s}"
QUICK = "monitor: 2s"


class Place:
    """A Berth on an engine, and the daemons below it."""

    def __init__(self, folder: Path, engine: str, daemons: Sequence[DockerHost], simulate: str) -> None:
        self.daemons = daemons
        self.folder = folder
        self.flags = ("--engine", engine, "--docker-host", daemons[0].url, "--simulate", simulate)
        self.berth = Berth(folder, *self.flags)

    def write(
        self, version: int, command: str = "true", health: str = "", update: str = QUICK, replicas: int = 3
    ) -> None:
        """The file of this version of the service `web`."""
        text = STACK.format(version=version, command=command, health=health, update=update, replicas=replicas)
        (self.folder / "stack.yml").write_text(text)

    def deploy(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """`berth stack deploy` of the file, whatever its exit code."""
        return self.berth.run("stack", "deploy", "-c", "stack.yml", "app", *words)

    def first(self, **fields: Any) -> dict[str, str]:
        """Version 1, all running; the cards of each slot."""
        self.write(1, **fields)
        done = self.deploy("--wait", "--timeout", "60s")
        assert done.returncode == 0, done.stderr
        return self.cards()

    def cards(self) -> dict[str, str]:
        """What each slot of `web` holds, by the ledger."""
        return {task["id"]: ",".join(task["cards"]) for task in self.berth.job("app_web")["tasks"]}

    def running(self) -> dict[str, tuple[str, str]]:
        """Version and cards of each container of `web` that runs, by its task."""
        found = [one for daemon in self.daemons for one in containers(daemon) if one["berth.name"] == "app_web"]
        return {one["berth.task"]: (one["version"], one["berth.cards"]) for one in found}

    def phase(self) -> str:
        """How the update stands."""
        return (self.berth.job("app_web")["rollout"] or {}).get("state", "")

    def most_down(self, since: float) -> int:
        """The most slots of `web` that were down at one moment since then, by the daemons' own events."""
        happened = [event for daemon in self.daemons for event in _events(daemon, since)]
        down, worst = dict[str, int](), 0
        for event in sorted(happened, key=lambda one: int(one["timeNano"])):
            down[event["Actor"]["Attributes"]["berth.task"]] = event["Action"] == "die"
            worst = max(worst, sum(down.values()))
        return worst


def _events(daemon: DockerHost, since: float) -> list[dict[str, Any]]:
    filters = [word for one in ("event=start", "event=die", "label=berth.name=app_web") for word in ("--filter", one)]
    span = ("--since", f"{since:.3f}", "--until", f"{time.time():.3f}")
    return [
        json.loads(line) for line in daemon.docker("events", *span, *filters, "--format", "{{json .}}").splitlines()
    ]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own."""
    with Lab("upd", "10.66.0") as lab:
        yield lab


@pytest.fixture(scope="module")
def swarm(lab: Lab) -> Iterator[Swarm]:
    """Three nodes."""
    with Swarm(lab, 3) as swarm:
        yield swarm


@pytest.fixture(scope="module")
def host(lab: Lab) -> Iterator[DockerHost]:
    """One Docker host, named single."""
    with DockerHost(lab, "single") as host:
        yield host


@pytest.fixture(params=["swarm", "docker"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A server on each of the two; afterwards nothing is left."""
    found = at(request.param, request, tmp_path)
    with found.berth as berth:
        yield found
        berth.run("stack", "rm", "app", "-y")
        until(lambda: not berth.json("jobs") and not berth.json("stack", "ls"), 30, "nothing is left")
        assert all(card["state"] == "free" for card in berth.json("cards"))


def at(engine: str, request: pytest.FixtureRequest, folder: Path) -> Place:
    """A server that does not run yet."""
    if engine == "swarm":
        nodes = request.getfixturevalue("swarm").nodes
        return Place(folder, "swarm", nodes, ",".join(f"{node.name}=A100-SXM4-80GB:2" for node in nodes))
    return Place(folder, "docker", [request.getfixturevalue("host")], "single=A100-SXM4-80GB:5")


def test_slots_change_one_after_the_other_on_their_cards(place: Place) -> None:
    cards, other = place.first(replicas=4), place.berth.job("app_other")["tasks"]
    since = time.time()
    place.write(2, replicas=4, update=f"{QUICK}, order: start-first")
    planned = place.deploy("--plan")
    assert "4 slots change in 4 rounds (1; 2; 3; 4), stop-first, on failure: pause" in planned.stdout
    assert "start-first is done as stop-first" in planned.stderr
    assert {version for version, _ in place.running().values()} == {"1"}
    done = place.deploy("--wait", "--timeout", "90s")
    assert done.returncode == 0, done.stderr
    assert "start-first is done as stop-first" in done.stderr
    assert "4 slots change, 1 at a time; on failure: pause" in done.stdout
    assert place.running() == {task: ("2", card) for task, card in cards.items()}
    assert place.most_down(since) == 1
    assert place.berth.job("app_other")["tasks"] == other
    kinds = [event["kind"] for event in place.berth.json("events")]
    assert kinds.count("update-step") == 4
    assert "update-completed" in kinds
    assert any("start-first is done as stop-first" in event["message"] for event in place.berth.json("events"))
    ends = [one["reason"] for one in place.berth.json("history", "app_web")]
    assert ends.count("replaced") == 4


def test_two_at_a_time_and_a_delay(place: Place) -> None:
    place.first(replicas=4)
    since = time.time()
    place.write(2, replicas=4, update=f"{QUICK}, parallelism: 2, delay: 4s")
    place.deploy()
    until(lambda: [version for version, _ in place.running().values()].count("2") == 2, 20, "the first round")
    stays(lambda: [version for version, _ in place.running().values()].count("2") == 2, 2, "the delay")
    table = place.berth("stack", "ps", "app")
    assert table.count("still runs an earlier form") == 2
    until(lambda: place.phase() == "completed", 30)
    assert {version for version, _ in place.running().values()} == {"2"}
    assert place.most_down(since) == 2


def test_a_failing_health_check_brings_the_old_version_back_on_the_same_cards(place: Place) -> None:
    cards = place.first(command="touch /tmp/ok", health=CHECK)
    place.write(2, health=CHECK, update=f"{QUICK}, failure_action: rollback")
    done = place.deploy("--wait", "--timeout", "90s")
    assert done.returncode == 1, done.stdout
    assert "was rolled back to the earlier form, since slot 1 was not healthy" in done.stderr
    assert place.running() == {task: ("1", card) for task, card in cards.items()}
    events = {event["kind"]: event["time"] for event in place.berth.json("events")}
    assert seconds(events["rolled-back"]) - seconds(events["rolling-back"]) < 30
    assert "rolled back" in place.berth("why", "app_web")
    assert "rolled back" in place.berth("jobs")
    assert {one["attempt"] for one in place.berth.json("history", "app_web") if one["slot"] > 1} == {1}
    assert any(one["reason"] == "unhealthy" for one in place.berth.json("history", "app_web"))


def test_a_failure_pauses_and_a_new_file_goes_on(place: Place) -> None:
    cards = place.first()
    place.write(2, command="sleep 1; exit 7", update="delay: 3s, monitor: 5s")
    done = place.deploy("--wait", "--timeout", "60s")
    assert done.returncode == 1, done.stdout
    assert "its update stands still, since slot 1 ended with exit code 7" in done.stderr
    stays(lambda: [version for version, _ in place.running().values()].count("1") == 2, 3, "the others run on")
    assert "stands still" in place.berth("why", "app_web")
    place.write(3)
    assert place.deploy("--wait", "--timeout", "60s").returncode == 0
    assert place.running() == {task: ("3", card) for task, card in cards.items()}


def test_a_client_that_dies_leaves_one_version(place: Place) -> None:
    place.first()
    for version, moment in ((2, 0.0), (3, 0.25), (4, 0.45), (5, 1.5)):
        place.write(version)
        words = [sys.executable, "-m", "berth", "stack", "deploy", "-c", "stack.yml", "app", "--wait"]
        client = subprocess.Popen(
            words, cwd=place.folder, env=place.berth.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(moment)
        client.send_signal(signal.SIGKILL)
        client.wait()
        time.sleep(0.3)
        until(lambda: place.phase() in ("", "completed"), 60)
        until(lambda: len(place.running()) == 3, 10)
        assert len({version for version, _ in place.running().values()}) == 1
    assert {version for version, _ in place.running().values()} == {"5"}


def test_a_native_service_is_updated_by_swarm_and_waited_for(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = at("swarm", request, tmp_path)
    stack = """\
services:
  front:
    image: bb:1
    command: ["sh", "-c", "trap 'exit 0' TERM; %s; sleep 600 & wait"]
    deploy: {replicas: 2, update_config: {monitor: 2s, failure_action: %s}}
"""
    with place.berth as berth:
        file = tmp_path / "stack.yml"
        file.write_text(stack % ("true", "pause"))
        assert place.deploy("--wait", "--timeout", "60s").returncode == 0
        file.write_text(stack % ("true true", "pause"))
        assert place.deploy("--wait", "--timeout", "60s").returncode == 0
        assert berth.job("app_front")["rollout"]["state"] == "completed"
        file.write_text(stack % ("exit 3", "rollback"))
        done = place.deploy("--wait", "--timeout", "60s")
        assert done.returncode == 1, done.stdout
        assert "rollback completed" in done.stderr
        file.write_text(stack % ("exit 3", "pause"))
        assert place.deploy("--wait", "--timeout", "60s").returncode == 1
        assert berth.job("app_front")["rollout"]["state"] == "paused"
        berth("stack", "rm", "app", "-y")
        until(lambda: not berth.json("jobs") and not berth.json("stack", "ls"), 30)


POINTS = r"commit (.*(update|roll|ended \(restarting|unhealthy|PutTask|PutAttempt))|engine (stop|start again)"
"""Around every commit and every call of an update."""
MET = ("commit updated", "commit update-step", "commit update-completed", "commit rolling-back", "commit rolled-back",
       "commit ended (restarting", "engine stop", "engine start again")  # fmt: skip


@pytest.mark.parametrize("engine", ["swarm", "docker"])
def test_a_server_may_die_around_each_step_of_an_update(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = at(engine, request, tmp_path)
    with Witness(place.daemons) as witness, Mortal(tmp_path, POINTS, *place.flags) as berth:
        place.berth = berth
        cards = place.first()
        died = defaultdict[int, int](int)
        for number in range(6):
            before, version = len(berth.points), 2 + 2 * number
            place.write(version)
            since = time.time()
            place.deploy()
            until(lambda: place.phase() == "completed", 120, "the update")
            assert all(found[0] == str(version) for found in place.running().values())
            assert place.most_down(since) == 1
            place.write(version + 1, command="sleep 1; exit 3", update=f"{QUICK}, failure_action: rollback")
            place.deploy()
            until(lambda: place.phase() == "rolled-back", 120, "the rollback")
            until(lambda: len(place.running()) == len(cards), 20)
            assert place.running() == {task: (str(version), card) for task, card in cards.items()}
            died[number] = len(berth.points) - before
            print(f"round {number}: {died[number]} deaths", flush=True)
            if not died[number]:
                break
        assert not died[number], f"there are ever new points: {berth.points}"
        print(*berth.points, sep="\n")
        wanted = [f"{side} {point}" for side in ("before", "after") for point in MET]
        assert not [point for point in wanted if not any(met.startswith(point) for met in berth.points)]
        berth.run("stack", "rm", "app", "-y")
        until(lambda: not berth.json("jobs"), 60)
    assert not witness.twice


def seconds(stamp: str) -> float:
    """A time as seconds since the epoch."""
    return datetime.fromisoformat(stamp).timestamp()
