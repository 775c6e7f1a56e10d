"""Fixtures that several contract suites share."""

from collections.abc import Iterator

import pytest

from tests.contract.postgres import postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """One PostgreSQL server for all tests that want one; its URL without a database."""
    with postgres() as url:
        yield url
