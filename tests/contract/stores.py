"""The stores that the contract suite runs on: each can be made afresh and opened again as after a restart."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from berth.ports import Store
from berth.store import make_store

_numbers = count(1)


class Place:
    """Where a store keeps its data; `open` gives the store there, `again` closes it and opens it anew."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.store: Store = make_store(url)

    def open(self) -> Store:
        """Open the store."""
        self.store.open()
        return self.store

    def again(self) -> Store:
        """Close, and open what is there as a new server would."""
        self.store.close()
        if self.url != "memory:":
            self.store = make_store(self.url)
        return self.open()


def sqlite_place(folder: Path) -> Place:
    """A SQLite file in a folder."""
    return Place(f"sqlite:///{folder / 'berth.db'}")


def postgres_place(server: str) -> Place:
    """A new database on a server."""
    name = f"berth_{next(_numbers)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    return Place(f"{server}/{name}")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """One PostgreSQL server for all tests that want one."""
    from tests.contract.postgres import postgres

    with postgres() as url:
        yield url
