"""A unit of work: gathers the changes of many batches and writes each kind by one statement, in an order that is safe.

Rows of one kind are gathered until a change comes that must not overtake or be overtaken; then all is flushed. So a
thousand submissions cost three statements, and the result is what one change after the other would have given.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from sqlalchemy import Connection, Table, bindparam, delete, insert, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from berth.model.card import Card
from berth.model.change import (
    Change,
    DropCard,
    DropFile,
    DropNode,
    DropStack,
    DropToken,
    Give,
    Note,
    PutAttempt,
    PutCard,
    PutFile,
    PutJob,
    PutNode,
    PutStack,
    PutTask,
    PutToken,
    Remember,
    RenameCard,
    Stale,
    Take,
)
from berth.model.job import Attempt, Job, Task
from berth.store.sql import ledger, schema
from berth.store.sql.rows import Row, attempt_row, event_row, job_row, remembered_row, task_row, text_of

V = TypeVar("V", Job, Task)
Versioned = dict[str, tuple[int | None, V]]
"""By id: the version that the stored row must have (None: there is none), and the value to store."""


class Unit:
    """Made for one transaction; `seq` is the number of the newest event, counted on as events are added."""

    def __init__(self, conn: Connection, seq: int) -> None:
        self._conn = conn
        self.seq = seq
        self._jobs: Versioned[Job] = {}
        self._tasks: Versioned[Task] = {}
        self._owners: set[str] = set()
        self._nodes: dict[str, Row] = {}
        self._cards: dict[str, Card] = {}
        self._gives: dict[str, set[str] | None] = {}
        self._takes: list[Row] = []
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._events: list[Row] = []
        self._remembered: list[Row] = []

    def write(self, changes: Iterable[Change]) -> None:
        """Apply the changes in order. Raises Stale or DoubleGrant; then the transaction must be undone."""
        for change in changes:
            _HANDLERS[type(change)](self, change)
        self.flush()

    def flush(self) -> None:
        """Write what is gathered."""
        self._versioned(schema.jobs, self._jobs, job_row)
        self._versioned(schema.tasks, self._tasks, task_row)
        self._upsert(schema.nodes, list(self._nodes.values()))
        self._upsert(schema.attempts, [attempt_row(one) for one in self._attempts.values()])
        if self._cards:
            ledger.put_cards(self._conn, self._cards.values())
        if self._gives:
            ledger.give(self._conn, self._gives)
        if self._takes:
            ledger.take(self._conn, self._takes)
        self._insert(schema.events, self._events, "event")
        self._insert(schema.remembered, self._remembered, "idempotency key")
        gathered: tuple[dict[Any, Any] | set[str] | list[Row], ...] = (
            self._jobs, self._tasks, self._owners, self._nodes, self._attempts, self._cards, self._gives, self._takes,
            self._events, self._remembered,
        )  # fmt: skip
        for part in gathered:
            part.clear()

    def put_job(self, change: PutJob) -> None:
        if change.job.id in self._owners and change.job.id not in self._jobs:
            self.flush()
        _gather(self._jobs, change.job, change.was)

    def put_task(self, change: PutTask) -> None:
        if change.was is None:
            if self._takes:
                self.flush()
            self._owners.add(change.task.job)
        _gather(self._tasks, change.task, change.was)

    def put_attempt(self, change: PutAttempt) -> None:
        self._attempts[change.attempt.task, change.attempt.attempt] = change.attempt

    def put_node(self, change: PutNode) -> None:
        self._nodes[change.node.name] = {"name": change.node.name, "data": text_of(change.node)}

    def drop_node(self, change: DropNode) -> None:
        self._delete(schema.nodes, "name", change.name)

    def put_card(self, change: PutCard) -> None:
        if self._takes or self._gives:
            self.flush()
        self._cards[change.card.uuid] = change.card

    def rename_card(self, change: RenameCard) -> None:
        self.flush()
        ledger.rename_card(self._conn, change.old, change.card)

    def drop_card(self, change: DropCard) -> None:
        self.flush()
        ledger.drop_card(self._conn, change.uuid)

    def take(self, change: Take) -> None:
        for share in change.shares:
            row = {"task": change.task, "card": share.card, "take_milli": share.milli, "take_mib": share.mib}
            self._takes.append(row)

    def give(self, change: Give) -> None:
        if self._takes:
            self.flush()
        before = self._gives.get(change.task, set())
        whole = before is None or change.cards is None
        self._gives[change.task] = None if whole else {*(before or ()), *(change.cards or ())}

    def put_stack(self, change: PutStack) -> None:
        self._upsert(schema.stacks, [{"name": change.stack.name, "data": text_of(change.stack)}])

    def drop_stack(self, change: DropStack) -> None:
        self._delete(schema.stacks, "name", change.name)

    def put_token(self, change: PutToken) -> None:
        self._upsert(schema.tokens, [{"id": change.token.id, "data": text_of(change.token)}])

    def drop_token(self, change: DropToken) -> None:
        self._delete(schema.tokens, "id", change.id)

    def put_file(self, change: PutFile) -> None:
        self._upsert(schema.files, [{"id": change.file.id, "data": text_of(change.file)}])

    def drop_file(self, change: DropFile) -> None:
        self._delete(schema.files, "id", change.id)

    def note(self, change: Note) -> None:
        self.seq += 1
        self._events.append(event_row(change.event, self.seq))

    def remember(self, change: Remember) -> None:
        self._remembered.append(remembered_row(change))

    def _delete(self, table: Table, column: str, value: str) -> None:
        self.flush()
        self._conn.execute(delete(table).where(table.c[column] == value))

    def _insert(self, table: Table, rows: list[Row], what: str) -> None:
        if not rows:
            return
        try:
            self._conn.execute(insert(table), rows)
        except IntegrityError as error:
            named = ", ".join(str(next(iter(row.values()))) for row in rows[:3])
            raise Stale(f"{what} {named}: it is there already, or what it belongs to is not") from error

    def _versioned(self, table: Table, gathered: Versioned[V], row: Callable[[V], Row]) -> None:
        """Insert what must be new and replace what must have the version that the change was made from."""
        self._insert(table, [row(value) for was, value in gathered.values() if was is None], table.name[:-1])
        changed = [_changed(row(value), was) for was, value in gathered.values() if was is not None]
        if changed and self._conn.execute(_REPLACE[table.name], changed).rowcount != len(changed):
            named = ", ".join(one["is_id"] for one in changed[:3])
            raise Stale(f"{table.name[:-1]} {named}: it has another version, or is not there")

    def _upsert(self, table: Table, rows: list[Row]) -> None:
        if not rows:
            return
        dialect = postgresql.insert if self._conn.dialect.name == "postgresql" else sqlite.insert
        new = dialect(table)
        keys = [column.name for column in table.primary_key]
        self._conn.execute(new.on_conflict_do_update(index_elements=keys, set_={"data": new.excluded.data}), rows)


def _gather(gathered: Versioned[V], value: V, was: int | None) -> None:
    before = gathered.get(value.id)
    if before is None:
        gathered[value.id] = (was, value)
    elif before[1].version == was:
        gathered[value.id] = (before[0], value)
    else:
        raise Stale(f"{value.id}: it has version {before[1].version}, not {was}")


def _changed(row: Row, was: int) -> Row:
    fixed = {"id", "job_id", "slot"}
    return {"is_id": row["id"], "is_version": was, **{key: value for key, value in row.items() if key not in fixed}}


_REPLACE = {
    table.name: update(table).where(table.c.id == bindparam("is_id"), table.c.version == bindparam("is_version"))
    for table in (schema.jobs, schema.tasks)
}
_HANDLERS: dict[type[msgspec.Struct], Callable[[Unit, Any], None]] = {
    PutJob: Unit.put_job,
    PutTask: Unit.put_task,
    PutAttempt: Unit.put_attempt,
    PutNode: Unit.put_node,
    DropNode: Unit.drop_node,
    PutCard: Unit.put_card,
    RenameCard: Unit.rename_card,
    DropCard: Unit.drop_card,
    Take: Unit.take,
    Give: Unit.give,
    PutStack: Unit.put_stack,
    DropStack: Unit.drop_stack,
    PutToken: Unit.put_token,
    DropToken: Unit.drop_token,
    PutFile: Unit.put_file,
    DropFile: Unit.drop_file,
    Note: Unit.note,
    Remember: Unit.remember,
}
