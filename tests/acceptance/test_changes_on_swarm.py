"""Services that Swarm places itself, and tasks that go back to the queue: changed, removed and deployed again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, stays, until
from tests.acceptance.engines import lab, swarm  # noqa: F401 - fixtures
from tests.testbed.swarm import Swarm

pytestmark = pytest.mark.engine

STACK = """\
services:
  front:
    image: bb:1
    command: ["sleep", "600"]
    deploy: {replicas: %d%s}
"""
CARD = ", resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}"


@pytest.fixture
def berth(swarm: Swarm, tmp_path: Path) -> Iterator[Berth]:  # noqa: F811
    """A server on a Swarm with one card; afterwards nothing is left."""
    flags = ("--engine", "swarm", "--docker-host", swarm.manager.url, "--simulate", "gpu-2=A100-SXM4-80GB:1")
    with Berth(tmp_path, *flags) as berth:
        yield berth
        for stack in berth.json("stack", "ls"):
            berth("stack", "rm", stack["name"], "-y")
        until(lambda: not berth.json("jobs") and not swarm.cli("service", "ls", "-q"), 20)
        assert berth.free() == 1


def deploy(berth: Berth, replicas: int, card: str = "") -> str:
    """The stack in this form; the id of its job."""
    (berth.folder / "stack.yml").write_text(STACK % (replicas, card))
    berth("stack", "deploy", "-c", "stack.yml", "app")
    found: str = berth.job("app_front")["id"]
    return found


def replicas(swarm: Swarm) -> str:  # noqa: F811
    """As docker service ls shows them."""
    return swarm.cli("service", "ls", "--filter", "name=app_front", "--format", "{{.Replicas}}")


def test_a_native_service_is_scaled_changed_and_deployed_again_at_once(swarm: Swarm, berth: Berth) -> None:  # noqa: F811
    first = deploy(berth, 1)
    until(lambda: replicas(swarm) == "1/1", 15)
    berth("scale", "app_front=2")
    until(lambda: replicas(swarm) == "2/2", 15)
    assert deploy(berth, 3) == first
    until(lambda: replicas(swarm) == "3/3", 15)
    berth("stack", "rm", "app", "-y")
    second = deploy(berth, 1)
    assert second != first
    until(lambda: replicas(swarm) == "1/1" and berth.job("app_front")["state"] == "running", 20)
    assert "cancelled" in {job["state"] for job in berth.json("jobs", "--all") if job["id"] == first}


def test_a_service_does_not_change_hands_while_it_runs(swarm: Swarm, berth: Berth) -> None:  # noqa: F811
    deploy(berth, 1)
    until(lambda: replicas(swarm) == "1/1", 15)
    (berth.folder / "stack.yml").write_text(STACK % (1, CARD))
    told = berth.refused("stack", "deploy", "-c", "stack.yml", "app", code=4)
    assert "berth cancel app_front" in told
    berth("cancel", "app_front", "-y")
    job = deploy(berth, 1, CARD)
    until(lambda: berth.job(job)["state"] == "running", 20)
    assert berth.free() == 0


def test_a_task_that_is_moved_off_a_drained_node_waits_and_runs_again(swarm: Swarm, berth: Berth) -> None:  # noqa: F811
    job = deploy(berth, 1, CARD)
    until(lambda: berth.job(job)["state"] == "running", 20)
    berth("node", "drain", "gpu-2", "--reason", "a test", "--move")
    until(lambda: berth.job(job)["state"] == "waiting", 20)
    stays(lambda: berth.job(job)["state"] == "waiting", 3)
    assert berth.json("cards")[0]["job"] is None or not berth.json("cards")[0]["holders"]
    berth("node", "undrain", "gpu-2")
    until(lambda: berth.job(job)["state"] == "running", 20)
    assert berth.job(job)["tasks"][0]["attempt"] == 2


def test_a_requeued_task_runs_again_under_its_own_name(swarm: Swarm, berth: Berth) -> None:  # noqa: F811
    job = deploy(berth, 1, CARD)
    until(lambda: berth.job(job)["state"] == "running", 20)
    berth("requeue", job, "-y")
    until(lambda: berth.job(job)["state"] == "running" and berth.job(job)["tasks"][0]["attempt"] == 2, 20)
    assert swarm.cli("service", "ls", "--format", "{{.Name}}").split() == ["app_front"]
