"""kill -9 around each commit and each call of the engine: nothing is lost, no card is given twice, all is free at the end."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.berth import Failed, until
from tests.acceptance.mortal import Mortal, Witness
from tests.testbed.daemons import DockerHost
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

STACK = """\
services:
  train:
    image: bb:1
    command: ["sleep", "600"]
    deploy:
      replicas: 2
      resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}
  serve:
    image: bb:1
    command: ["sleep", "%s"]
    networks: [back]
    deploy:
      resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}
  front:
    image: bb:1
    command: ["sleep", "600"]
    networks: [back]
networks:
  back: {}
"""
FAILING = {
    "name": "failing", "image": "bb:1", "gpus": 1, "command": ["sh", "-c", "sleep 0.3; exit 3"],
    "restart": {"condition": "on-failure", "delay": "0s", "max_attempts": 1},
}  # fmt: skip
SHORT = {"name": "short", "image": "bb:1", "gpus": 1, "command": ["true"]}
LONG = {"name": "long", "image": "bb:1", "gpus": 1, "command": ["sleep", "600"]}
MUST_DIE_AT = {
    "before commit granted (starting)", "after commit granted (starting)",
    "before engine start first", "after engine start first", "before engine start again", "after engine start again",
    "before commit running (running)", "after commit running (running)",
    "before engine stop", "after engine stop", "before engine remove", "after engine remove",
    "before commit submitted (waiting)", "after commit submitted (waiting)",
    "before engine ensure_stack", "after engine ensure_stack", "before engine remove_stack", "after engine remove_stack",
    "before engine observe", "after engine observe", "before commit job-ended", "after commit job-ended",
}  # fmt: skip
CARDS = 4


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of this file alone."""
    with Lab("crs", "10.97.0") as lab:
        yield lab


@pytest.fixture(scope="module")
def swarm(lab: Lab) -> Iterator[Swarm]:
    """Two nodes, one of which has the cards."""
    with Swarm(lab, 2, variant="debian") as swarm:
        yield swarm


@pytest.fixture(scope="module")
def host(lab: Lab) -> Iterator[DockerHost]:
    """One Docker host."""
    with DockerHost(lab, "single") as host:
        yield host


def test_a_swarm_server_may_die_at_every_point(swarm: Swarm, tmp_path: Path) -> None:
    flags = ("--engine", "swarm", "--docker-host", swarm.manager.url, "--simulate", "gpu-2=A100-SXM4-80GB:4")
    with Witness(swarm.nodes) as witness, Mortal(tmp_path, *flags) as berth:
        live_until_no_point_is_new(berth, witness)
        until(lambda: not swarm.cli("service", "ls", "-q").strip(), 20, "no service is left")
        until(lambda: "app_back" not in swarm.cli("network", "ls"), 20, "no network is left")
    native = {"before engine apply_native first", "after engine apply_native first"}
    missing = (MUST_DIE_AT | native | {"before engine prepare", "after engine prepare"}) - set(berth.points)
    assert not missing
    assert not witness.twice


def test_a_server_on_a_docker_host_may_die_at_every_point(host: DockerHost, tmp_path: Path) -> None:
    flags = ("--engine", "docker", "--docker-host", host.url, "--simulate", "single=A100-SXM4-80GB:4")
    with Witness([host]) as witness, Mortal(tmp_path, *flags) as berth:
        live_until_no_point_is_new(berth, witness)
        until(lambda: not host.docker("ps", "-aq", "--filter", "label=berth.task"), 20, "no container is left")
        until(lambda: "app_back" not in host.docker("network", "ls"), 20, "no network is left")
    assert not MUST_DIE_AT - set(berth.points)
    assert not witness.twice


def live_until_no_point_is_new(berth: Mortal, witness: Witness) -> None:
    """One life of a stack and some jobs after the other, until one of them passes without a death."""
    for number in range(8):
        before = len(berth.points)
        one_life(berth, witness, number)
        print(f"life {number}: {len(berth.points) - before} deaths", flush=True)
        if len(berth.points) == before:
            return
    raise Failed(f"there are ever new points: {berth.points[before:]}")


def one_life(berth: Mortal, witness: Witness, number: int) -> None:
    """Deploy, submit, fail, change, cancel and remove; each with its right end whatever died meanwhile."""
    (berth.folder / "docker-compose.yml").write_text(STACK % 600)
    berth("stack", "deploy", "-c", "docker-compose.yml", "app")
    until(lambda: states(berth, "app_") == {"app_front": "running", "app_serve": "running", "app_train": "running"}, 40)
    short, failing, long = (submit(berth, job, number) for job in (SHORT, FAILING, LONG))
    until(lambda: job_of(berth, short)["state"] == "succeeded", 40, "the short job ends well")
    until(lambda: job_of(berth, failing)["state"] == "failed", 40, "the failing job fails")
    assert [one["exit_code"] for one in berth.json("history", failing)] == [3, 3]
    assert [one["exit_code"] for one in berth.json("history", short)] == [0]
    until(lambda: job_of(berth, long)["state"] == "running", 40, "the long job runs")
    kept = {one["berth.task"]: one["berth.attempt"] for one in witness.running() if "serve" not in one["berth.name"]}
    (berth.folder / "docker-compose.yml").write_text(STACK % 601)
    berth("stack", "deploy", "-c", "docker-compose.yml", "app")
    until(lambda: changed(witness), 40, "the changed service runs in its new form")
    assert kept.items() <= {one["berth.task"]: one["berth.attempt"] for one in witness.running()}.items()
    berth("cancel", long, "-y")
    until(lambda: job_of(berth, long)["state"] == "cancelled", 40, "the long job is cancelled")
    berth.run("stack", "rm", "app", "-y")
    until(lambda: not states(berth, "app_"), 40, "the stack is gone")
    until(lambda: free(berth) == CARDS, 20, "all cards are free")
    assert not [one for one in witness.running() if "berth.attempt" in one]
    names = [job["name"] for job in berth.json("jobs", "--all")]
    assert names.count("short") == names.count("failing") == names.count("long") == number + 1


def submit(berth: Mortal, body: dict[str, Any], number: int) -> str:
    """POST a job under one key until an answer comes; the job's id."""
    key = f"{body['name']}-{number}"
    end = time.monotonic() + 40
    while time.monotonic() < end:
        token = berth.folder / "data" / "admin.token"
        try:
            headers = {"Authorization": f"Bearer {token.read_text().strip()}", "Idempotency-Key": key}
            headers["Content-Type"] = "application/json"
            request = urllib.request.Request(f"{berth.url}/v1/jobs", json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=20) as answer:
                job: str = json.loads(answer.read())["id"]
                return job
        except urllib.error.HTTPError as error:
            with error:
                raise Failed(f"{error.code}: {error.read().decode()}") from None
        except OSError:
            time.sleep(0.05)
    raise Failed(f"no answer to the submit of {body['name']}; {berth.failed}")


def states(berth: Mortal, prefix: str) -> dict[str, str]:
    """State of each live job whose name begins so."""
    return {job["name"]: job["state"] for job in berth.json("jobs") if job["name"].startswith(prefix)}


def job_of(berth: Mortal, job_id: str) -> dict[str, Any]:
    """One job, ended or not."""
    found: dict[str, Any] = next(job for job in berth.json("jobs", "--all") if job["id"] == job_id)
    return found


def free(berth: Mortal) -> int:
    """How many cards the ledger calls free."""
    return [card["state"] for card in berth.json("cards")].count("free")


def changed(witness: Witness) -> bool:
    """The service was started a second time, on a card."""
    return any(one["berth.name"] == "app_serve" and one["berth.attempt"] == "2" for one in witness.running())
