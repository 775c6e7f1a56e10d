"""Alembic's scripts: how a database of each earlier version becomes one of this version."""
