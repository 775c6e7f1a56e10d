"""Run by Alembic: the migrations go over the connection, and in the transaction, that `store.sql.migrate` hands in."""

from alembic import context

from berth.store.sql.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
