"""Real Docker hosts with stand-in NVIDIA cards for the agent's tests."""

from collections.abc import Iterator

import pytest

from tests.testbed.daemons import DockerHost, Variant
from tests.testbed.lab import Lab


@pytest.fixture(scope="package")
def lab() -> Iterator[Lab]:
    """One lab for the tests of this folder."""
    with Lab("agt", "10.92.0") as lab:
        yield lab


@pytest.fixture(scope="module", params=["debian", "today"])
def host(lab: Lab, request: pytest.FixtureRequest) -> Iterator[DockerHost]:
    """A Docker host with two cards, of the oldest and of today's engine."""
    variant: Variant = request.param
    with DockerHost(lab, "gpu-1", variant=variant, cards=2) as host:
        yield host
