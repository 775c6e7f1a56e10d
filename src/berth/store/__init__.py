"""What outlives a crash: the store behind `ports.Store` and the output behind `ports.LogStore`."""

from pathlib import Path

from berth.model.errors import BadInput
from berth.ports import LogStore, Store

__all__ = ["make_logs", "make_store"]
_EXAMPLES = "sqlite:////var/lib/berth/berth.db, postgresql://user:password@host/database, or memory:"


def make_store(url: str) -> Store:
    """The store that a URL names: `sqlite:///PATH`, `postgresql://...` or `memory:`; not opened yet.

    Raises BadInput for any other URL, and for PostgreSQL without its driver.
    """
    scheme, _, rest = url.partition(":")
    if scheme == "memory":
        from berth.store.memory import MemoryStore

        return MemoryStore()
    if scheme == "sqlite" and rest.startswith("///") and len(rest) > 3:
        from berth.store.sql import SqlStore

        return SqlStore(Path(rest[3:]))
    if scheme in ("postgresql", "postgres"):
        return _postgres(rest)
    raise BadInput.of("store-url", f"--store names no database that Berth knows: {scheme}:.", _hint(), "--store")


def make_logs(folder: Path) -> LogStore:
    """The output of attempts in files of a folder, which is created."""
    from berth.store.logfiles import LogFiles

    return LogFiles(folder)


def _postgres(rest: str) -> Store:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    from berth.store.sql import SqlStore

    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        hint = "Install it: pip install 'gpu-berth[server,postgres]'"
        raise BadInput.of("store-url", "PostgreSQL needs the driver psycopg.", hint, "--store") from error
    try:
        return SqlStore(make_url(f"postgresql:{rest}"))
    except (ArgumentError, ValueError) as error:
        raise BadInput.of("store-url", "--store is no URL of a PostgreSQL database.", _hint(), "--store") from error


def _hint() -> str:
    return f"Write {_EXAMPLES}"
