"""A real Swarm of three nodes: tasks on workers, cards, networks, a silent node, a private registry."""

import pytest

from .image import IMAGE
from .lab import Lab
from .processes import TestbedError, run, wait_until
from .registry import Registry
from .swarm import Swarm

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]
CREATE = ("service", "create", "--detach", "--no-resolve-image", "--restart-condition", "none")


def running(swarm: Swarm, service: str, timeout: float = 20) -> str:
    """Wait until the first task of a service runs and return its container's id."""

    def state() -> bool:
        tasks = swarm.tasks(service)
        return bool(tasks) and tasks[-1]["Status"]["State"] == "running"

    wait_until(state, timeout, f"a running task of {service}", 0.1)
    container: str = swarm.tasks(service)[-1]["Status"]["ContainerStatus"]["ContainerID"]
    return container


def test_a_task_runs_on_a_worker_with_its_card(swarm: Swarm) -> None:
    worker = swarm.node("gpu-2")
    pinned = (
        "--constraint",
        "node.hostname==gpu-2",
        "--env",
        f"NVIDIA_VISIBLE_DEVICES={worker.cards[1].uuid}",
    )
    swarm.cli(*CREATE, "--name", "work", *pinned, IMAGE)
    container = running(swarm, "work")
    assert worker.docker("exec", container, "sh", "-c", "ls -d /dev/nvidia*") == "/dev/nvidia1"
    swarm.cli("service", "rm", "work")


def test_an_overlay_network_reaches_other_nodes(swarm: Swarm) -> None:
    swarm.cli("network", "create", "--driver", "overlay", "span")
    for name, node in (("ask", "gpu-2"), ("answer", "gpu-3")):
        place = ("--constraint", f"node.hostname=={node}", "--endpoint-mode", "dnsrr", "--network", "span")
        swarm.cli(*CREATE, "--name", name, *place, IMAGE, "httpd", "-f", "-h", "/etc")
    asking = running(swarm, "ask")
    running(swarm, "answer")
    host = swarm.node("gpu-2")
    assert "root" in host.docker("exec", asking, "wget", "-q", "-O-", "http://answer/passwd")
    swarm.cli("service", "rm", "ask", "answer")


def test_a_silent_node_goes_down_and_comes_back(swarm: Swarm) -> None:
    def state(node: str) -> str:
        return swarm.cli("node", "inspect", "--format", "{{.Status.State}}", node)

    node = swarm.node("gpu-3")
    node.unplug()
    wait_until(lambda: state("gpu-3") == "down", 30, "gpu-3 down", 0.2)
    node.plug()
    wait_until(lambda: state("gpu-3") == "ready", 30, "gpu-3 ready", 0.2)


def test_a_registry_behind_a_password(lab: Lab, swarm: Swarm) -> None:
    with Registry(lab, 5001, user="someone", password="a secret") as registry:
        image = registry.push(swarm.manager, IMAGE)
        other = swarm.node("gpu-3")
        with pytest.raises(TestbedError, match=r"no basic auth credentials|unauthorized|authentication required"):
            other.docker("pull", image)
        env = {**other.client_environment(), "DOCKER_CONFIG": str(registry.client)}
        run(["docker", "pull", "--quiet", image], env=env)
        assert other.docker("run", "--rm", image, "echo", "pulled") == "pulled"


def test_an_open_registry(lab: Lab, swarm: Swarm) -> None:
    with Registry(lab) as registry:
        image = registry.push(swarm.manager, IMAGE)
        swarm.cli(
            "service",
            "create",
            "--detach",
            "--name",
            "fetched",
            "--constraint",
            "node.hostname==gpu-2",
            image,
        )
        running(swarm, "fetched")
        swarm.cli("service", "rm", "fetched")
