"""Fixtures of the testbed's own tests: a lab apart from the one that other tests use, and engines in it."""

from collections.abc import Iterator

import pytest

from .daemons import DockerHost, Variant
from .lab import Lab
from .swarm import Swarm


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """One lab for all tests of this folder."""
    with Lab("tb", "10.99.0") as lab:
        yield lab


@pytest.fixture(scope="module", params=["debian", "today"])
def variant(request: pytest.FixtureRequest) -> Variant:
    """Run the test on Debian's engine and on today's."""
    chosen: Variant = request.param
    return chosen


@pytest.fixture(scope="module")
def host(lab: Lab, variant: Variant) -> Iterator[DockerHost]:
    """One Docker host with two cards."""
    with DockerHost(lab, "solo", variant=variant, cards=2) as host:
        yield host


@pytest.fixture(scope="module")
def swarm(lab: Lab, variant: Variant) -> Iterator[Swarm]:
    """Three nodes, of which gpu-2 has two cards."""
    with Swarm(lab, 3, variant=variant, cards={"gpu-2": 2}) as swarm:
        yield swarm
