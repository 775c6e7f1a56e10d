"""The stores that the contract suite runs on: each can be made afresh and opened again as after a restart."""

from pathlib import Path

import psycopg

from berth.ports import Store
from berth.store import make_store


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
    """The server's one database, emptied: quicker than a new one for each test."""
    url = f"{server}/postgres"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("DROP SCHEMA public CASCADE")
        admin.execute("CREATE SCHEMA public")
    return Place(url)
