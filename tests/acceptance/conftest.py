"""Engines for the acceptance tests: one Swarm of three nodes and single hosts, shared by all tests of a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth
from tests.acceptance.carded import Carded, on_docker, on_swarm
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """One lab for all acceptance tests."""
    with Lab("acc", "10.94.0") as lab:
        yield lab


@pytest.fixture(scope="module")
def swarm(lab: Lab) -> Iterator[Swarm]:
    """Three nodes of Debian's engine."""
    with Swarm(lab, 3, variant="debian") as swarm:
        yield swarm


@pytest.fixture
def simulated(tmp_path: Path) -> Iterator[Berth]:
    """A server on the simulated engine with eight cards on two nodes."""
    spec = "node1=A100-SXM4-80GB:4,node2=A100-SXM4-80GB:4"
    with Berth(tmp_path, "--engine", "simulated", "--simulate", spec) as berth:
        yield berth


@pytest.fixture(scope="session")
def carded_lab() -> Iterator[Lab]:
    """A lab of its own for engines with stand-in cards."""
    with Lab("iso", "10.96.0") as lab:
        yield lab


@pytest.fixture(scope="session")
def carded_docker(carded_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Carded]:
    """One Docker host with two cards."""
    with on_docker(carded_lab, tmp_path_factory.mktemp("docker")) as carded:
        yield carded


@pytest.fixture(scope="session")
def carded_swarm(carded_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Carded]:
    """Three nodes, the second with two cards and an agent."""
    with on_swarm(carded_lab, tmp_path_factory.mktemp("swarm")) as carded:
        yield carded


@pytest.fixture(params=["docker", "swarm"])
def carded(request: pytest.FixtureRequest) -> Iterator[Carded]:
    """Each of the two, with nothing running and two free cards."""
    found: Carded = request.getfixturevalue(f"carded_{request.param}")
    try:
        yield found
    finally:
        found.clean()
