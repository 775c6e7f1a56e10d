"""The tables: each row is an encoded value (`data`) plus the columns that the database itself must ask or check."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

from berth.model.card import WHOLE

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

meta = Table("meta", metadata, Column("key", String, primary_key=True), Column("value", Text, nullable=False))
"""Small facts: `epoch` (raised by each leader), and what `set_meta` keeps."""

jobs = Table(
    "jobs",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("stack", String, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("ended_at", Float),
    Column("version", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
)
Index("ix_jobs_ended_at", jobs.c.ended_at, jobs.c.id)
Index("ix_jobs_name", jobs.c.name, jobs.c.ended_at)

tasks = Table(
    "tasks",
    metadata,
    Column("id", String, primary_key=True),
    Column("job_id", String, ForeignKey("jobs.id"), nullable=False),
    Column("slot", Integer, nullable=False),
    Column("unfinished", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
)
Index("ix_tasks_job_id", tasks.c.job_id)
Index(
    "ix_tasks_unfinished",
    tasks.c.job_id,
    sqlite_where=text("unfinished"),
    postgresql_where=text("unfinished"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("task_id", String, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("job_id", String, nullable=False),
    Column("slot", Integer, nullable=False),
    Column("data", Text, nullable=False),
)
Index("ix_attempts_job_id", attempts.c.job_id)

nodes = Table("nodes", metadata, Column("name", String, primary_key=True), Column("data", Text, nullable=False))

cards = Table(
    "cards",
    metadata,
    Column("uuid", String, primary_key=True),
    Column("node", String, nullable=False),
    Column("memory_mib", BigInteger, nullable=False),
    Column("free_milli", Integer, nullable=False),
    Column("free_mib", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
    CheckConstraint("free_milli >= 0", name="milli_left"),
    CheckConstraint(f"free_milli <= {WHOLE}", name="milli_whole"),
    CheckConstraint("free_mib >= 0", name="mib_left"),
    CheckConstraint("free_mib <= memory_mib", name="mib_whole"),
)
"""The ledger's one side: what is left of each card. The CHECKs make a double grant impossible."""

grants = Table(
    "grants",
    metadata,
    Column("task_id", String, ForeignKey("tasks.id"), primary_key=True),
    Column("card_uuid", String, ForeignKey("cards.uuid"), primary_key=True),
    Column("milli", Integer, nullable=False),
    Column("mib", BigInteger, nullable=False),
    CheckConstraint("milli >= 0", name="milli"),
    CheckConstraint("mib >= 0", name="mib"),
)
"""The other side: who holds what. free_milli = 1000 - sum(milli) of each card, at every commit."""
Index("ix_grants_card_uuid", grants.c.card_uuid)

events = Table(
    "events",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("time", Float, nullable=False),
    Column("job_id", String, nullable=False),
    Column("data", Text, nullable=False),
)
"""Numbered by the store without gaps, so that a mirror can count along; the newest is never pruned."""
Index("ix_events_job_id", events.c.job_id, events.c.seq)

stacks = Table("stacks", metadata, Column("name", String, primary_key=True), Column("data", Text, nullable=False))

tokens = Table("tokens", metadata, Column("id", String, primary_key=True), Column("data", Text, nullable=False))

files = Table("files", metadata, Column("id", String, primary_key=True), Column("data", Text, nullable=False))
"""Secrets and configs of engines that have no store of their own; what `data` has of their content is encrypted."""

remembered = Table(
    "remembered",
    metadata,
    Column("key", String, primary_key=True),
    Column("body_hash", String, nullable=False),
    Column("response", LargeBinary, nullable=False),
    Column("at", Float, nullable=False),
)
Index("ix_remembered_at", remembered.c.at)
