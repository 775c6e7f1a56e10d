"""The store in a database: one schema for SQLite and PostgreSQL, written by one leader."""

from berth.store.sql.store import SqlStore

__all__ = ["SqlStore"]
