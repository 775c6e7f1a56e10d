"""Tests of real engines are skipped by name where no engine can run, and fail instead where CI promised one."""

import os

import pytest

from tests.testbed.ready import obstacle


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what this machine cannot have; with CI=true that is an error."""
    why = obstacle()
    engines = [item for item in items if item.get_closest_marker("engine")]
    if not why or not engines:
        return
    if os.environ.get("CI") == "true":
        raise pytest.UsageError(f"CI has to run the tests of real engines: {why}")
    for item in engines:
        item.add_marker(pytest.mark.skip(reason=why))
