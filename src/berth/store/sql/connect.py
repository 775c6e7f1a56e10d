"""How the database is reached: SQLite as one private file under a lock, PostgreSQL under an advisory lock.

Both have one connection, which the writer's thread owns. SQLite: WAL, every commit flushed, foreign keys on.
"""

import fcntl
import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool

from berth.ports import StoreBroken, StoreInUse

READ = {"berth_read": True}
"""Execution options of a transaction that only reads: it takes no write lock."""
BUSY_MS = 5000
LEADER = 0x6265727468
"""The advisory lock of the leader in a PostgreSQL database ("berth" in ASCII)."""


def sqlite_engine(path: Path) -> Engine:
    """An engine on the file, which is created empty with mode 0600 where it is absent."""
    os.close(_open_private(path))
    url = URL.create("sqlite+pysqlite", database=str(path))
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": BUSY_MS / 1000},
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def postgres_engine(url: URL) -> Engine:
    """An engine whose connection holds the leader's lock; connecting raises StoreInUse while another has it."""
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=1,
        max_overflow=0,
        connect_args={"connect_timeout": 10, "application_name": "berth"},
    )
    event.listen(engine, "connect", _lead)
    return engine


class FileLock:
    """An exclusive lock beside the database file; the kernel lets go of it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._fd: int | None = None

    def take(self) -> None:
        """Raises StoreInUse when another process (or another store of this one) has it."""
        fd = _open_private(self._path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            raise StoreInUse(f"{self._path} is locked by another Berth") from error
        self._fd = fd

    def release(self) -> None:
        """Let go; the file stays, so that two servers can never lock two files of one name."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _open_private(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600)
    except OSError as error:
        what = "The file is not yours to write" if path.exists() else "Its folder must exist and be yours to write"
        raise StoreBroken(f"The database file {path} cannot be opened: {error.strerror}. {what}.") from error
    return fd


def _set_up_sqlite(dbapi: Any, _record: object) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", f"busy_timeout = {BUSY_MS}"):
        dbapi.execute(f"PRAGMA {pragma}")


def _begin_sqlite(conn: Connection) -> None:
    reads = conn.get_execution_options().get("berth_read", False)
    conn.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _lead(dbapi: Any, _record: object) -> None:
    with dbapi.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", (LEADER,))
        leads = cursor.fetchone()[0]
    dbapi.commit()
    if not leads:
        dbapi.close()
        raise StoreInUse("another Berth leads on this PostgreSQL database")
