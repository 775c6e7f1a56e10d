"""What a database driver raises, told apart: a broken rule of the schema, or a database that does not work."""

from typing import Final

from sqlalchemy.exc import DBAPIError, IntegrityError

from berth.ports import StoreBroken

_FOREIGN_KEY: Final = ("SQLITE_CONSTRAINT_FOREIGNKEY", "23503")
_REMEDIES: Final = {
    "SQLITE_FULL": "Free some space on its disk; Berth goes on by itself",
    "SQLITE_BUSY": "Another program holds it locked: end that program",
    "SQLITE_LOCKED": "Another program holds it locked: end that program",
    "SQLITE_READONLY": "It may not be written: look at the file's owner, its mode and its disk",
    "SQLITE_CANTOPEN": "Look at the owner and the mode of the file and its folder",
    "SQLITE_CORRUPT": "The file is damaged: put it aside and start again, or put a backup in its place",
    "SQLITE_NOTADB": "The file is no database: put it aside and start again, or put a backup in its place",
    "SQLITE_IOERR": "Look at its disk (dmesg)",
    "53100": "Free some space on its disk",
    "28P01": "Correct the user and password in the URL",
    "3D000": "Create the database, or correct its name in the URL",
}


def is_foreign_key(error: IntegrityError) -> bool:
    """True when a row was named that is not there, or is still named by another."""
    return _code(error) in _FOREIGN_KEY


def broken(error: DBAPIError, where: str, writing: bool = False) -> StoreBroken:
    """The failure in words, with what to do; `where` is the database without its password."""
    code = _code(error)
    remedy = next(
        (text for key, text in _REMEDIES.items() if code.startswith(key)), "Look at the database and its disk"
    )
    first = str(error.orig).strip().partition("\n")[0]
    lost = writing and error.connection_invalidated
    return StoreBroken(f"The database {where} failed: {first.rstrip('.')}. {remedy}.", unknown=lost)


def _code(error: DBAPIError) -> str:
    """SQLite's name of the error or PostgreSQL's SQLSTATE; "" where the driver gives none."""
    orig = error.orig
    return str(getattr(orig, "sqlite_errorname", None) or getattr(orig, "sqlstate", None) or "")
