"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "r0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "attempts",
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("task_id", "attempt", name=op.f("pk_attempts")),
    )
    op.create_index("ix_attempts_job_id", "attempts", ["job_id"], unique=False)
    op.create_table(
        "cards",
        sa.Column("uuid", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("free_milli", sa.Integer(), nullable=False),
        sa.Column("free_mib", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.CheckConstraint("free_mib <= memory_mib", name=op.f("ck_cards_mib_whole")),
        sa.CheckConstraint("free_mib >= 0", name=op.f("ck_cards_mib_left")),
        sa.CheckConstraint("free_milli <= 1000", name=op.f("ck_cards_milli_whole")),
        sa.CheckConstraint("free_milli >= 0", name=op.f("ck_cards_milli_left")),
        sa.PrimaryKeyConstraint("uuid", name=op.f("pk_cards")),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events")),
    )
    op.create_index("ix_events_job_id", "events", ["job_id", "seq"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("stack", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_ended_at", "jobs", ["ended_at", "id"], unique=False)
    op.create_index("ix_jobs_name", "jobs", ["name", "ended_at"], unique=False)
    op.create_table(
        "meta",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_meta")),
    )
    op.create_table(
        "nodes",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_nodes")),
    )
    op.create_table(
        "remembered",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("body_hash", sa.String(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_remembered")),
    )
    op.create_index("ix_remembered_at", "remembered", ["at"], unique=False)
    op.create_table(
        "stacks",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_stacks")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("unfinished", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_tasks_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    op.create_index("ix_tasks_job_id", "tasks", ["job_id"], unique=False)
    op.create_index(
        "ix_tasks_unfinished",
        "tasks",
        ["job_id"],
        unique=False,
        sqlite_where=sa.text("unfinished"),
        postgresql_where=sa.text("unfinished"),
    )
    op.create_table(
        "grants",
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("card_uuid", sa.String(), nullable=False),
        sa.Column("milli", sa.Integer(), nullable=False),
        sa.Column("mib", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("mib >= 0", name=op.f("ck_grants_mib")),
        sa.CheckConstraint("milli >= 0", name=op.f("ck_grants_milli")),
        sa.ForeignKeyConstraint(["card_uuid"], ["cards.uuid"], name=op.f("fk_grants_card_uuid")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_grants_task_id")),
        sa.PrimaryKeyConstraint("task_id", "card_uuid", name=op.f("pk_grants")),
    )
    op.create_index("ix_grants_card_uuid", "grants", ["card_uuid"], unique=False)
