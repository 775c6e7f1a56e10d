"""The main job: a stack file as teams write it, on a real Swarm whose node was labelled by hand."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, stays, until
from tests.testbed.swarm import Swarm

pytestmark = pytest.mark.engine

STACK = """\
version: "3.8"
services:
  ai-training:
    image: bb:1
    command: ["sleep", "600"]
    user: "1001:1001"
    group_add:
      - video
    environment:
      - NV_GPU=0,1
      - NVIDIA_VISIBLE_DEVICES=all
      - NVIDIA_DRIVER_CAPABILITIES=compute,utility
    deploy:
      replicas: 1
      placement:
        constraints:
          - node.labels.gpu.enable == true
          - node.labels.gpu.model == Tesla-V100
          - node.labels.gpu.free >= 1
      restart_policy:
        condition: on-failure
        delay: 2s
        max_attempts: 1
      labels:
        - "gpu.task=true"
    secrets:
      - ngc_api_key
secrets:
  ngc_api_key:
    external: true
"""
NO_RESTART = """\
    deploy:
      resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}
      restart_policy: {condition: none}
"""
LABELS = {"gpu.enable": "true", "gpu.model": "Tesla-V100", "gpu.driver": "470.82.01", "gpu.free": "2"}


def label_by_hand(swarm: Swarm, node: str, **labels: str) -> None:
    """docker node update, as a person does it."""
    words = [word for key, value in labels.items() for word in ("--label-add", f"{key.replace('__', '.')}={value}")]
    swarm.cli("node", "update", *words, node)


def labels_of(swarm: Swarm, node: str) -> dict[str, str]:
    """The labels that the Swarm shows."""
    found: dict[str, str] = json.loads(swarm.cli("node", "inspect", node))[0]["Spec"]["Labels"]
    return found


def free_label(swarm: Swarm) -> str:
    """gpu.free of the node with cards."""
    return labels_of(swarm, "gpu-2").get("gpu.free", "")


@pytest.fixture
def team(swarm: Swarm, tmp_path: Path) -> Iterator[Berth]:
    """The team's Swarm: node 2 labelled by hand, the secret there, and Berth started on the manager."""
    swarm.cli("node", "update", *(w for k, v in LABELS.items() for w in ("--label-add", f"{k}={v}")), "gpu-2")
    swarm.manager.docker("secret", "create", "ngc_api_key", str(secret(tmp_path)))
    try:
        with Berth(tmp_path, "--docker-host", swarm.manager.url) as berth:
            (tmp_path / "docker-compose.yml").write_text(STACK)
            yield berth
    finally:
        clean(swarm)


def secret(folder: Path) -> Path:
    """A file with the team's key."""
    path = folder / "ngc"
    path.write_text("key-123")
    return path


def clean(swarm: Swarm) -> None:
    """No service, container, secret or label of a test is left."""
    for service in swarm.cli("service", "ls", "-q").split():
        swarm.cli("service", "rm", service)
    until(
        lambda: not swarm.manager.docker("ps", "-q").strip() and not swarm.node("gpu-2").docker("ps", "-q").strip(), 20
    )
    until(lambda: tried(swarm, "secret", "rm", "ngc_api_key"), 20)
    present = labels_of(swarm, "gpu-2")
    swarm.cli("node", "update", *(w for k in present for w in ("--label-rm", k)), "gpu-2") if present else None


def removed_by_hand(swarm: Swarm, stack: str) -> None:
    """docker stack rm; it ends with 1 when a network is still in use by a container that is just being stopped."""
    if not tried(swarm, "stack", "rm", stack):
        assert not swarm.cli("service", "ls", "-q", "--filter", f"label=com.docker.stack.namespace={stack}").strip()


def tried(swarm: Swarm, *words: str) -> bool:
    try:
        swarm.cli(*words)
    except Exception:  # noqa: BLE001 - tried again by the caller
        return False
    return True


def container(swarm: Swarm) -> str:
    """The id of the one container that runs on node 2."""
    return until(lambda: swarm.node("gpu-2").docker("ps", "-q", "--no-trunc").strip(), 15, "a container on gpu-2")


def test_the_file_runs_as_written_and_everything_is_taken_back(swarm: Swarm, team: Berth) -> None:
    team("stack", "deploy", "-c", "docker-compose.yml", "gpu-job")
    team("wait", "gpu-job_ai-training", "--for", "running", "--timeout", "20s")
    inspected = swarm.node("gpu-2").inspect(container(swarm))
    env = dict(pair.split("=", 1) for pair in inspected["Config"]["Env"])
    assert env["NVIDIA_VISIBLE_DEVICES"] == "0,1"
    assert env["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert inspected["Config"]["User"] == "1001:1001"
    assert inspected["Config"]["Labels"]["berth.cards"] == "gpu-2/0,gpu-2/1"
    assert inspected["Config"]["Labels"]["gpu.task"] == "true"
    ids = swarm.node("gpu-2").docker("exec", container(swarm), "id").strip()
    assert "uid=1001 gid=1001" in ids
    assert "44" in ids.split("groups=")[1]
    assert swarm.node("gpu-2").docker("exec", container(swarm), "cat", "/run/secrets/ngc_api_key") == "key-123"
    until(lambda: free_label(swarm) == "0", 5, "gpu.free reads 0")
    assert [card["state"] for card in team.json("cards")] == ["used", "used"]
    assert "gpu-job_ai-training" in swarm.cli("stack", "ps", "gpu-job")
    team("stack", "rm", "gpu-job", "-y")
    until(lambda: free_label(swarm) == "2", 20, "gpu.free reads 2 again")
    until(lambda: not swarm.cli("service", "ls", "-q").strip(), 10, "no service left")
    assert team.free() == 2


def test_a_second_copy_waits_is_explained_and_follows_within_a_second(swarm: Swarm, team: Berth) -> None:
    team("stack", "deploy", "-c", "docker-compose.yml", "first")
    team("wait", "first_ai-training", "--for", "running", "--timeout", "20s")
    team("stack", "deploy", "-c", "docker-compose.yml", "second")
    until(lambda: "Pending" in swarm.cli("stack", "ps", "second"), 15, "Pending in docker stack ps")
    why = team.json("why", "second_ai-training")
    assert why["reason"] == "free-cards"
    assert "in use on node gpu-2" in why["message"]
    assert "gpu-2" in {entry["node"] for entry in why["nodes"]}
    first = container(swarm)
    removed_by_hand(swarm, "first")
    until(lambda: first not in swarm.node("gpu-2").docker("ps", "-q", "--no-trunc"), 20, step=0.02)
    gone = time.monotonic()
    until(lambda: swarm.node("gpu-2").docker("ps", "-q").strip(), 15, "the second one runs", step=0.02)
    assert time.monotonic() - gone < 10.0
    removed_by_hand(swarm, "second")
    until(lambda: team.job("second_ai-training")["state"] == "cancelled", 20)
    until(lambda: free_label(swarm) == "2", 20)


def test_docker_stack_rm_on_a_waiting_stack_is_a_cancel(swarm: Swarm, team: Berth) -> None:
    team("stack", "deploy", "-c", "docker-compose.yml", "first")
    team("wait", "first_ai-training", "--for", "running", "--timeout", "20s")
    team("stack", "deploy", "-c", "docker-compose.yml", "second")
    until(lambda: "Pending" in swarm.cli("stack", "ps", "second"), 15)
    removed_by_hand(swarm, "second")
    until(lambda: team.job("second_ai-training")["state"] == "cancelled", 10)
    team("stack", "rm", "first", "-y")
    until(lambda: free_label(swarm) == "2", 20)
    stays(lambda: not swarm.node("gpu-2").docker("ps", "-q").strip(), 2, "the removed one never starts")


def test_a_killed_container_runs_again_on_the_same_cards_as_its_policy_says(swarm: Swarm, team: Berth) -> None:
    team("stack", "deploy", "-c", "docker-compose.yml", "gpu-job")
    first = container(swarm)
    swarm.node("gpu-2").docker("rm", "-f", first)
    until(lambda: swarm.node("gpu-2").docker("ps", "-q", "--no-trunc").strip() not in ("", first), 15)
    second = container(swarm)
    inspected = swarm.node("gpu-2").inspect(second)
    assert inspected["Config"]["Labels"]["berth.cards"] == "gpu-2/0,gpu-2/1"
    assert inspected["Config"]["Labels"]["berth.attempt"] == "2"
    swarm.node("gpu-2").docker("rm", "-f", second)
    until(lambda: team.job("gpu-job_ai-training")["state"] == "failed", 15)
    until(lambda: free_label(swarm) == "2", 5)
    assert len(team.json("history", "gpu-job_ai-training")) == 2


def test_a_hand_edit_is_put_back_and_reported_and_touches_nothing_that_runs(swarm: Swarm, team: Berth) -> None:
    team("stack", "deploy", "-c", "docker-compose.yml", "gpu-job")
    running = container(swarm)
    until(lambda: free_label(swarm) == "0", 5)
    swarm.cli("node", "update", "--label-add", "gpu.free=7", "gpu-2")
    until(lambda: free_label(swarm) == "0", 5, "put back within 5 s")
    until(lambda: any(event["kind"] == "label-repaired" for event in team.json("events")), 2, "it is reported")
    swarm.cli("node", "update", "--label-add", "gpu.enable=false", "gpu-2")
    stays(lambda: container(swarm) == running, 2, "a running task is not touched")


def test_a_service_of_somebody_else_is_not_killed_by_a_label_write(swarm: Swarm, team: Berth) -> None:
    swarm.cli(
        "service", "create", "--detach", "--no-resolve-image", "--name", "theirs",
        "--constraint", "node.labels.gpu.free==2", "bb:1", "sleep", "600",
    )  # fmt: skip
    theirs = container(swarm)
    team("run", "--gpus", "1", "--detach", "bb:1", "sleep", "600")
    until(lambda: team.json("cards")[0]["state"] == "used", 10)
    stays(lambda: theirs in swarm.node("gpu-2").docker("ps", "-q", "--no-trunc"), 3, "theirs goes on")
    assert free_label(swarm) == "2"
    assert any(event["kind"] == "labels-withheld" for event in team.json("events"))
    team("labels", "adopt", "gpu-2")
    until(lambda: free_label(swarm) == "1", 5)


def test_a_stack_that_had_ended_is_gone_when_docker_removes_it(swarm: Swarm, team: Berth) -> None:
    (team.folder / "short.yml").write_text("services:\n  once:\n    image: bb:1\n    command: ['true']\n" + NO_RESTART)
    team("stack", "deploy", "-c", "short.yml", "short")
    until(lambda: team.job("short_once")["state"] == "succeeded", 20)
    assert [stack["name"] for stack in team.json("stack", "ls")] == ["short"]
    removed_by_hand(swarm, "short")
    until(lambda: team.json("stack", "ls") == [], 20, "the stack is no longer listed")
    assert team.job("short_once")["state"] == "succeeded"
