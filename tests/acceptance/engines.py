"""Fixtures of the tests about counting, ends and crashes: a small Swarm and a Docker host in a lab of their own."""

from collections.abc import Iterator

import pytest

from tests.testbed.daemons import DockerHost
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

ON_SWARM = "gpu-2=A100-SXM4-80GB:4"
ON_HOST = "single=A100-SXM4-80GB:8"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """The lab; one file at a time has it."""
    with Lab("crs", "10.97.0") as lab:
        yield lab


@pytest.fixture(scope="module")
def swarm(lab: Lab) -> Iterator[Swarm]:
    """Two nodes; the worker gpu-2 has the cards."""
    with Swarm(lab, 2, variant="debian") as swarm:
        yield swarm


@pytest.fixture(scope="module")
def host(lab: Lab) -> Iterator[DockerHost]:
    """One Docker host, named single."""
    with DockerHost(lab, "single") as host:
        yield host
