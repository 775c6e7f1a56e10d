"""25 stack files with every key: Berth creates and updates the services that the docker CLI creates and updates."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance import equality
from tests.acceptance.berth import Berth
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def swarm() -> Iterator[Swarm]:
    """One node of today's engine on which nothing runs."""
    with Lab("ke", "10.64.0") as lab, Swarm(lab, 1, variant="today") as swarm:
        equality.furnish(swarm)
        yield swarm


@pytest.fixture(scope="module")
def berth(swarm: Swarm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Berth]:
    """A server on it."""
    with Berth(tmp_path_factory.mktemp("berth"), "--docker-host", swarm.manager.url) as berth:
        yield berth


@pytest.mark.parametrize("name", equality.names())
def test_a_file_is_deployed_as_by_the_docker_cli(swarm: Swarm, berth: Berth, name: str, tmp_path: Path) -> None:
    path = equality.FILES / name
    change = equality.changed(path, tmp_path)
    equality.docker_deploy(swarm, path)
    first = equality.specs(swarm)
    equality.docker_deploy(swarm, path, change)
    second, previous = equality.specs(swarm), equality.specs(swarm, "PreviousSpec")
    equality.remove(swarm)
    equality.berth_deploy(berth, path)
    try:
        equality.same(equality.specs(swarm), first)
        versions = equality.versions(swarm)
        equality.berth_deploy(berth, path)
        assert equality.versions(swarm) == versions
        equality.berth_deploy(berth, path, change)
        equality.same(equality.specs(swarm), second)
        ours = equality.specs(swarm, "PreviousSpec")  # the docker CLI writes services that did not change, too
        equality.same(ours, {name: previous[name] for name in ours})
        assert len(ours) >= len(previous) - len(equality.LEFT_ALONE)
    finally:
        equality.remove(swarm, berth)


@pytest.mark.parametrize("name", equality.names())
def test_what_the_docker_cli_made_of_a_file_is_taken_over_without_a_change(
    swarm: Swarm, berth: Berth, name: str
) -> None:
    path = equality.FILES / name
    equality.docker_deploy(swarm, path)
    try:
        plan = berth.run("stack", "deploy", "--take-over", "--plan", "--json", "-c", str(path), equality.STACK)
        jobs = json.loads(plan.stdout)["jobs"]
        assert {job["name"] for job in jobs} == set(equality.specs(swarm))
        changed = {job["name"]: job["note"] for job in jobs if job["change"] != "keep"}
        assert not changed
    finally:
        equality.remove(swarm)
