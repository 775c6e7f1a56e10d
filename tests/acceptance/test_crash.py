"""kill -9 around each commit and each call of the engine: nothing is lost, nothing is given twice, all ends free."""

import contextlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.berth import Failed, until
from tests.acceptance.engines import ON_SWARM, host, lab, swarm  # noqa: F401 - fixtures
from tests.acceptance.mortal import Mortal, Witness
from tests.testbed.daemons import DockerHost
from tests.testbed.swarm import Swarm

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

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
MORE = """\
services:
  later:
    image: bb:1
    deploy:
      resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}
"""
FAILING = {
    "name": "failing", "image": "bb:1", "gpus": 1, "command": ["sh", "-c", "sleep 0.3; exit 3"],
    "restart": {"condition": "on-failure", "delay": "0s", "max_attempts": 1},
}  # fmt: skip
SHORT = {"name": "short", "image": "bb:1", "gpus": 1, "command": ["true"]}
LONG = {"name": "long", "image": "bb:1", "gpus": 1, "command": ["sleep", "600"]}
ABOUT_RUNS = r"engine|granted|running|prepared|PutJob|restarting|\(stopping\)"
"""On the Swarm it dies around every call of the engine, and around the commits that stand for a run."""
ABOUT_THE_REST = rf"engine (start|stop|remove)|commit (?!.*({ABOUT_RUNS}))"
"""On a Docker host around all other commits, and around the calls that differ there."""
CALLS = {"observe", "problems", "ensure_stack", "start first", "start again", "stop", "remove", "remove_stack"}
COMMITS_ON_SWARM = {"granted (starting)", "running (running)", "ended (restarting)", "cancelled (stopping)",
                    "cancelled+stack-removed (stopping)", "PutTask (stopping)"}  # fmt: skip
COMMITS_ON_HOST = {"submitted (waiting)", "submitted+updated (waiting)", "ended (ended)", "ended (failed)",
                   "released (ended)", "released (failed)", "job-ended", "DropStack", "PutNode", "node-joined",
                   "PutCard+PutNode"}  # fmt: skip
CARDS = 4
PATIENCE_S = 150.0
"""Between two steps of a life the server may die thirty times."""


def test_a_swarm_server_may_die_around_each_call_and_each_commit_of_a_run(swarm: Swarm, tmp_path: Path) -> None:  # noqa: F811
    flags = ("--engine", "swarm", "--docker-host", swarm.manager.url, "--simulate", ON_SWARM)
    with Witness(swarm.nodes) as witness, Mortal(tmp_path, ABOUT_RUNS, *flags) as berth:
        live_until_no_point_is_new(berth, witness)
        nothing_left(lambda: swarm.cli("service", "ls"))
        nothing_left(lambda: swarm.cli("network", "ls", "--filter", "name=app_back"))
    died(berth, {"claim", "prepare", "apply_native", "write_labels"} | CALLS, COMMITS_ON_SWARM)
    assert not witness.twice


def test_a_server_on_a_docker_host_may_die_around_all_other_commits(host: DockerHost, tmp_path: Path) -> None:  # noqa: F811
    flags = ("--engine", "docker", "--docker-host", host.url, "--simulate", "single=A100-SXM4-80GB:4")
    with Witness([host]) as witness, Mortal(tmp_path, ABOUT_THE_REST, *flags) as berth:
        live_until_no_point_is_new(berth, witness)
        nothing_left(lambda: host.docker("ps", "-a", "--filter", "label=berth.task"))
        nothing_left(lambda: host.docker("network", "ls", "--filter", "name=app_back"))
    died(berth, {"start first", "start again", "stop", "remove"}, COMMITS_ON_HOST)
    assert not witness.twice


def died(berth: Mortal, calls: set[str], commits: set[str]) -> None:
    """It has really died around all of these."""
    points = set(berth.points)
    print(f"{len(points)} points", *sorted(points), sep="\n")
    wanted = {f"engine {call}" for call in calls} | {f"commit {commit}" for commit in commits}
    assert {f"{side} {point}" for side in ("before", "after") for point in wanted} <= points


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
    until(
        lambda: states(berth, "app_") == {"app_front": "running", "app_serve": "running", "app_train": "running"},
        PATIENCE_S,
    )
    short, failing, long = (submit(berth, job, number) for job in (SHORT, FAILING, LONG))
    until(lambda: job_of(berth, short)["state"] == "succeeded", PATIENCE_S, "the short job ends well")
    until(lambda: job_of(berth, failing)["state"] == "failed", PATIENCE_S, "the failing job fails")
    assert [one["exit_code"] for one in berth.json("history", failing)] == [3, 3]
    assert [one["exit_code"] for one in berth.json("history", short)] == [0]
    until(lambda: job_of(berth, long)["state"] == "running", PATIENCE_S, "the long job runs")
    kept = {one["berth.task"]: one["berth.attempt"] for one in witness.running() if "serve" not in one["berth.name"]}
    (berth.folder / "docker-compose.yml").write_text(STACK.replace("services:\n", MORE) % 601)
    berth("stack", "deploy", "-c", "docker-compose.yml", "app")
    until(lambda: changed(witness), PATIENCE_S, "the changed service runs in its new form")
    assert kept.items() <= {one["berth.task"]: one["berth.attempt"] for one in witness.running()}.items()
    assert states(berth, "app_later") == {"app_later": "waiting"}
    berth("cancel", long, "-y")
    until(lambda: job_of(berth, long)["state"] == "cancelled", PATIENCE_S, "the long job is cancelled")
    until(lambda: states(berth, "app_later") == {"app_later": "running"}, PATIENCE_S, "its card goes to the next one")
    berth.run("stack", "rm", "app", "-y")
    until(lambda: not states(berth, "app_"), PATIENCE_S, "the stack is gone")
    until(lambda: free(berth) == CARDS, 20, "all cards are free")
    assert not [one for one in witness.running() if "berth.attempt" in one]
    names = [job["name"] for job in berth.json("jobs", "--all")]
    assert names.count("short") == names.count("failing") == names.count("long") == number + 1


def nothing_left(listing: Callable[[], str]) -> None:
    """What the docker CLI lists comes down to its heading."""
    with contextlib.suppress(Failed):
        until(lambda: len(listing().splitlines()) == 1, 20)
    assert listing().splitlines()[1:] == []


def submit(berth: Mortal, body: dict[str, Any], number: int) -> str:
    """POST a job under one key until an answer comes; the job's id."""
    key = f"{body['name']}-{number}"
    end = time.monotonic() + PATIENCE_S
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
