"""Fixtures that several contract suites share."""

from collections.abc import Iterator

import pytest

from tests.contract.beds import HAS
from tests.contract.postgres import postgres


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A promise that only some engines make (mark `needs`) is asked of those alone, so that a skip tells of a lack."""
    dropped = [item for item in items if not _applies(item)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if _applies(item)]


def _applies(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("needs")
    if mark is None or not isinstance(item, pytest.Function):
        return True
    kind = str(item.callspec.params["bed"]).partition("-")[0]
    return HAS[kind].issuperset(mark.args)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """One PostgreSQL server for all tests that want one; its URL without a database."""
    with postgres() as url:
        yield url
