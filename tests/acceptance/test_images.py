"""Images: what they demand of cards decides the node; a registry that denies or is silent is told before a start."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, until
from tests.testbed.daemons import DockerHost
from tests.testbed.lab import Lab
from tests.testbed.registry import Registry
from tests.testbed.swarm import Swarm

pytestmark = pytest.mark.engine
PASSWORD = "s3cret-of-the-registry"
CUDA = "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=450,driver<451"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own."""
    with Lab("img", "10.93.0") as lab:
        yield lab


@pytest.fixture(scope="module")
def host(lab: Lab) -> Iterator[DockerHost]:
    """One Docker host."""
    with DockerHost(lab, "single") as host:
        yield host


@pytest.fixture(scope="module")
def swarm(lab: Lab) -> Iterator[Swarm]:
    """Two nodes."""
    with Swarm(lab, 2, variant="debian") as swarm:
        yield swarm


@pytest.fixture(scope="module")
def registry(lab: Lab) -> Iterator[Registry]:
    """A registry that is open to everybody."""
    with Registry(lab, 5000) as registry:
        yield registry


@pytest.fixture(scope="module")
def private(lab: Lab) -> Iterator[Registry]:
    """A registry behind a password."""
    with Registry(lab, 5001, user="team", password=PASSWORD) as registry:
        yield registry


def with_env(host: DockerHost, tag: str, *variables: str) -> str:
    """Make an image of bb:1 on this host that sets these variables."""
    made = host.docker("create", "bb:1").strip()
    pairs = (variable.partition("=") for variable in variables)
    changes = [word for name, _, value in pairs for word in ("--change", f'ENV {name}="{value}"')]
    host.docker("commit", *changes, made, tag)
    host.docker("rm", made)
    return tag


def cards(folder: Path, drivers: dict[str, str]) -> Path:
    """A --cards file: one A100 on each node, with the node's driver."""
    model = {"model": "A100-SXM4-80GB", "memory_mib": 81920, "index": 0}
    found = [{"uuid": f"GPU-{node}", "node": node, "driver": driver, **model} for node, driver in drivers.items()]
    path = folder / "cards.json"
    path.write_text(json.dumps(found))
    return path


def test_an_image_that_requires_a_newer_cuda_avoids_the_old_driver_and_says_so(
    swarm: Swarm, registry: Registry, tmp_path: Path
) -> None:
    image = registry.push(swarm.manager, with_env(swarm.manager, "needs:1", CUDA))
    for node in swarm.nodes:  # nobody has it: the registry's own copy tells what it demands
        node.docker("rmi", "--force", image, "needs:1") if node is swarm.manager else None
    file = cards(tmp_path, {"gpu-1": "470.57.02", "gpu-2": "550.54.14"})
    with Berth(tmp_path, "--docker-host", swarm.manager.url, "--cards", str(file)) as berth:
        first = berth("run", "--detach", "--gpus", "1", image, "sleep", "600").strip()
        until(lambda: berth.job(first)["state"] == "running", 30)
        assert berth.job(first)["tasks"][0]["node"] == "gpu-2"
        second = berth("run", "--detach", "--gpus", "1", image, "sleep", "600").strip()
        why = berth.json("why", second)
        refusals = {node["node"]: node["refusals"] for node in why["nodes"]}
        assert why["reason"] == "free-cards"
        assert refusals["gpu-1"][0]["rule"] == "image"
        assert "asks for cuda>=12.4 (driver 550.54.14 or newer)" in refusals["gpu-1"][0]["message"]
        assert "driver 470.57.02, CUDA 11.4" in refusals["gpu-1"][0]["message"]
        third = berth("run", "--detach", "--gpus", "1", "--name", "old", "-c", "node.hostname == gpu-1", image).strip()
        assert berth.json("why", third)["reason"] == "image"
        assert berth.json("why", third)["never"] is True
        on_old = ("-c", "node.hostname == gpu-1", "-e", "NVIDIA_DISABLE_REQUIRE=1")
        free = berth("run", "--detach", "--gpus", "1", *on_old, image, "sleep", "600").strip()
        until(lambda: berth.job(free)["state"] == "running", 30)
        assert berth.job(free)["tasks"][0]["node"] == "gpu-1"
        for job in (first, second, third, free):
            berth("cancel", job, "-y")
        until(lambda: berth.free() == 2, 30)


def test_a_private_registry_with_and_without_credentials(host: DockerHost, private: Registry, tmp_path: Path) -> None:
    image = private.push(host, with_env(host, "mine:1", "X=1"))
    host.docker("rmi", "--force", image, "mine:1")
    with Berth(tmp_path, "--docker-host", host.url, "--simulate", "single=A100-SXM4-80GB:1") as berth:
        said = berth.refused("run", "--detach", "--gpus", "1", image, "sleep", "600", code=2)
        assert "image-denied" in said
        assert f"docker login {private.address}" in said
        assert berth.json("jobs", "--all") == []
        shutil.copytree(private.client, tmp_path / ".docker")
        job = berth("run", "--detach", "--gpus", "1", image, "sleep", "600").strip()
        until(lambda: berth.job(job)["state"] == "running", 30)
        assert PASSWORD not in berth.errors()
        assert not [path for path in (tmp_path / "data").rglob("*") if _holds(path, PASSWORD.encode())]
        said = berth.refused("run", "--detach", f"{private.address}/nothing:1", code=2)
        assert "image-absent" in said
        assert f"{private.address} has no image {private.address}/nothing:1" in said
        private.push(host, with_env(host, "nothing:1", "X=1"))
        host.docker("rmi", "--force", f"{private.address}/nothing:1", "nothing:1")
        pushed = berth("run", "--detach", f"{private.address}/nothing:1", "true").strip()
        until(lambda: berth.job(pushed)["state"] == "succeeded", 30, "what was pushed after a no is asked for again")
        berth("cancel", job, "-y")


def test_an_image_that_no_node_can_pull_says_which_registry_said_what(
    swarm: Swarm, private: Registry, tmp_path: Path
) -> None:
    image = private.push(swarm.manager, with_env(swarm.manager, "secret:1", "X=1"))
    swarm.manager.docker("rmi", "--force", image, "secret:1")
    file = tmp_path / "stack.yml"
    deploy = "{restart_policy: {condition: any, delay: 60s}, placement: {constraints: [node.hostname == gpu-2]}}"
    service = f"image: '{image}', user: '1:1', command: [sleep, '600'], gpus: 1, deploy: {deploy}"
    file.write_text(f"services: {{web: {{{service}}}}}\n")
    with Berth(tmp_path, "--docker-host", swarm.manager.url, "--simulate", "gpu-2=A100-SXM4-80GB:1") as berth:
        done = berth.run("stack", "deploy", "-c", str(file), "s")
        assert done.returncode == 0, done.stderr
        assert f"the registry {private.address} denied it (authentication required)" in done.stderr
        until(lambda: berth.job("s_web")["reason"] == "restart-delay", 60)
        why = berth("why", "s_web")
        assert f"The registry {private.address} says of {image}: authentication required." in why
        assert "No such image" in why
        berth("stack", "rm", "s", "-y")
        until(lambda: berth.free() == 1, 30)


def _holds(path: Path, text: bytes) -> bool:
    return path.is_file() and text in path.read_bytes()


def test_a_dead_registry_is_a_warning_and_an_image_that_is_there_runs(
    host: DockerHost, lab: Lab, tmp_path: Path
) -> None:
    with Registry(lab, 5002) as registry:
        image = registry.push(host, with_env(host, "here:1", "X=1"))
    file = tmp_path / "stack.yml"
    one = "services: {{web: {{image: '{image}', user: '1:1', command: [sleep, '600'], gpus: 1}}}}\n"
    file.write_text(one.format(image=image))
    with Berth(tmp_path, "--docker-host", host.url, "--simulate", "single=A100-SXM4-80GB:1") as berth:
        for words in (("--plan",), ()):
            done = berth.run("stack", "deploy", "-c", str(file), "s", *words)
            assert done.returncode == 0, done.stderr
            assert f"the registry {registry.address} does not answer" in done.stderr + done.stdout
            assert "only node single has it" in done.stderr + done.stdout
        until(lambda: berth.job("s_web")["state"] == "running", 30)
        done = berth.run("run", "--detach", f"{registry.address}/gone:1")
        assert done.returncode == 0, done.stderr
        assert "no node is known to have it" in done.stderr
        job = done.stdout.strip()
        until(lambda: berth.job(job)["state"] == "failed", 60)
        assert registry.address in berth("why", job) + berth("history", job)
        berth("stack", "rm", "s", "-y")
        until(lambda: berth.free() == 1, 30)
