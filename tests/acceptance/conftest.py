"""Engines for the acceptance tests: one Swarm of three nodes and single hosts, shared by all tests of a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth
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
