"""Brings a database's schema to this version by Alembic, whose scripts lie in `migrations` beside this module."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from berth.ports import StoreTooNew

HEAD = "r0002"
"""The newest revision. A database that has it is opened without loading Alembic."""
_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(conn: Connection) -> None:
    """Create the schema or bring it up to date, inside the caller's transaction. Raises StoreTooNew."""
    current = revision(conn)
    if current != HEAD:
        upgrade(conn, current, HEAD)


def revision(conn: Connection) -> str | None:
    """The revision that the database has; None for an empty one."""
    if not inspect(conn).has_table("alembic_version"):
        return None
    found = conn.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return str(found) if found is not None else None


def upgrade(conn: Connection, current: str | None, target: str) -> None:
    """Run the scripts from `current` to `target`. Raises StoreTooNew when `current` is none of this version's."""
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise StoreTooNew(f"its schema is {current}, the newest that this version knows is {HEAD}")
    config.attributes["connection"] = conn
    command.upgrade(config, target)
