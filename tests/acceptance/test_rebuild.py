"""The database is deleted while tasks run: the ledger is rebuilt from the engine before the first grant."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.berth import Berth, until
from tests.acceptance.engines import host, lab, swarm  # noqa: F401 - fixtures
from tests.acceptance.mortal import Witness
from tests.testbed.daemons import DockerHost
from tests.testbed.swarm import Swarm

pytestmark = pytest.mark.engine

STACK = """\
services:
  train:
    image: bb:1
    command: ["sleep", "600"]
    deploy:
      replicas: 2
      restart_policy: {condition: on-failure, delay: 0s}
      resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}
  front:
    image: bb:1
    command: ["sleep", "600"]
"""
BY_HAND = {"gpu.enable": "true", "gpu.model": "Tesla-V100", "gpu.driver": "470.82.01", "gpu.free": "4"}


def test_on_a_swarm_labelled_by_hand(swarm: Swarm, tmp_path: Path) -> None:  # noqa: F811
    words = [word for pair in BY_HAND.items() for word in ("--label-add", "=".join(pair))]
    swarm.cli("node", "update", *words, "gpu-2")
    _lost(swarm.nodes, tmp_path, "--engine", "swarm", "--docker-host", swarm.manager.url)
    until(lambda: not swarm.cli("service", "ls", "-q"), 20)


def test_on_a_swarm_with_found_cards(swarm: Swarm, tmp_path: Path) -> None:  # noqa: F811
    present = [word for key in BY_HAND for word in ("--label-rm", key)]
    swarm.cli("node", "update", *present, "gpu-2")
    spec = ("--simulate", "gpu-2=A100-SXM4-80GB:4")
    _lost(swarm.nodes, tmp_path, "--engine", "swarm", "--docker-host", swarm.manager.url, *spec)


def test_on_a_docker_host(host: DockerHost, tmp_path: Path) -> None:  # noqa: F811
    spec = ("--simulate", "single=A100-SXM4-80GB:4")
    _lost([host], tmp_path, "--engine", "docker", "--docker-host", host.url, *spec)


def _lost(hosts: Sequence[DockerHost], folder: Path, *flags: str) -> None:
    """Two slots and a job run on three of four cards; without its database a server counts just the same."""
    (folder / "docker-compose.yml").write_text(STACK)
    with Witness(hosts) as witness, Berth(folder, *flags) as berth:
        until(lambda: berth.free() == 4, 10)
        berth("stack", "deploy", "-c", "docker-compose.yml", "app", "--wait", "--timeout", "30s")
        single = berth("run", "--gpus", "1", "--detach", "--name", "single", "bb:1", "sleep", "600").strip()
        berth("wait", single, "--for", "running", "--timeout", "20s")
        before, held, ran = _tasks(berth), _held(berth), sorted(_containers(witness))
        berth.kill()
        for file in (folder / "data").glob("berth.db*"):
            file.unlink()
        berth.start()
        wide = berth("run", "--gpus", "2", "--detach", "--name", "wide", "bb:1", "sleep", "600").strip()
        until(lambda: _held(berth) == held, 10, "the ledger says what it said")
        assert _tasks(berth).items() >= before.items()
        assert berth.free() == 1
        assert berth.job(wide)["state"] == "waiting"
        assert sorted(_containers(witness)) == ran
        _goes_on(berth, hosts, single, wide)
    assert not witness.twice


def _goes_on(berth: Berth, hosts: Sequence[DockerHost], single: str, wide: str) -> None:
    """What was read back ends, is run again, is updated and removed like everything else."""
    berth("cancel", single, "-y")
    berth("wait", wide, "--for", "running", "--timeout", "20s")
    worker = hosts[-1]
    slot = _tasks(berth)["app_train", 2]
    name = worker.docker("ps", "-q", "--filter", f"label=berth.task={slot[0]}").strip()
    worker.docker("rm", "-f", name)
    until(lambda: _tasks(berth)["app_train", 2] == (slot[0], 2, "running", slot[3]), 20, "again on the same card")
    berth("stack", "deploy", "-c", "docker-compose.yml", "app")
    assert _tasks(berth)["app_train", 1][1] == 1
    berth("stack", "rm", "app", "-y")
    berth("cancel", wide, "-y")
    until(lambda: berth.free() == 4 and not berth.json("jobs"), 30, "all cards are free")


def _tasks(berth: Berth) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Each live slot: id, attempt, state and cards."""
    return {
        (job["name"], task["slot"]): (task["id"], task["attempt"], task["state"], tuple(task["cards"]))
        for job in berth.json("jobs")
        for task in job["tasks"]
        if task["cards"]
    }


def _held(berth: Berth) -> dict[str, str]:
    """Which task holds which card."""
    return {card["uuid"]: card["task"] for card in berth.json("cards") if card["state"] == "used"}


def _containers(witness: Witness) -> list[tuple[str, str]]:
    """Task and attempt of each container that runs."""
    return [(one["berth.task"], one["berth.attempt"]) for one in witness.running() if "berth.attempt" in one]
