"""The questions that the store answers, and what it may forget."""

from collections.abc import Iterable
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, delete, func, or_, select

from berth.model.card import Card, Room, Share
from berth.model.event import Event
from berth.model.job import Attempt, Job, Stack, Task
from berth.model.node import Node
from berth.model.stored import KeptFile
from berth.model.token import Token
from berth.ports import Loaded
from berth.store.sql.rows import value_of
from berth.store.sql.schema import (
    attempts,
    cards,
    events,
    files,
    grants,
    jobs,
    nodes,
    remembered,
    stacks,
    tasks,
    tokens,
)

T = TypeVar("T")
ENDED_LOADED = 1000
"""How many ended jobs `load` brings beside those that are still of use."""
_HOLDING = select(tasks.c.job_id).join(grants, grants.c.task_id == tasks.c.id)
_UNFINISHED = select(tasks.c.job_id).where(tasks.c.unfinished)
_STACKS = select(stacks.c.name)
_NEWEST_ENDED = select(jobs.c.id).where(jobs.c.ended_at.is_not(None)).order_by(jobs.c.ended_at.desc(), jobs.c.id.desc())


def load(conn: Connection) -> Loaded:
    """Everything that is live."""
    of_use = or_(
        jobs.c.ended_at.is_(None),
        jobs.c.id.in_(_HOLDING),
        jobs.c.id.in_(_UNFINISHED),
        jobs.c.stack.in_(_STACKS),
        jobs.c.id.in_(_NEWEST_ENDED.limit(ENDED_LOADED)),
    )
    found = _values(conn, Job, select(jobs.c.data).where(of_use).order_by(jobs.c.ended_at, jobs.c.id))
    ended = [job for job in found if job.ended_at is not None]
    live = sorted((job for job in found if job.ended_at is None), key=lambda job: job.submission)
    return Loaded(
        jobs=[*ended, *live],
        tasks=_values(conn, Task, _tasks(select(jobs.c.id).where(of_use))),
        nodes=_values(conn, Node, select(nodes.c.data).order_by(nodes.c.name)),
        cards=[
            (value_of(Card, data), Room(milli, mib))
            for data, milli, mib in conn.execute(
                select(cards.c.data, cards.c.free_milli, cards.c.free_mib).order_by(cards.c.uuid)
            )
        ],
        grants=[
            (task, Share(card, milli, mib))
            for task, card, milli, mib in conn.execute(
                select(grants.c.task_id, grants.c.card_uuid, grants.c.milli, grants.c.mib).order_by(
                    grants.c.task_id, grants.c.card_uuid
                )
            )
        ],
        stacks=_values(conn, Stack, select(stacks.c.data).order_by(stacks.c.name)),
        tokens=_values(conn, Token, select(tokens.c.data).order_by(tokens.c.id)),
        files=_values(conn, KeptFile, select(files.c.data).order_by(files.c.id)),
        last_event=conn.execute(select(func.coalesce(func.max(events.c.seq), 0))).scalar_one(),
    )


def stored_events(conn: Connection, after: int, limit: int, job: str) -> list[Event]:
    """Events with a higher number than `after`, oldest first; of one job when named."""
    query = select(events.c.data).where(events.c.seq > after).order_by(events.c.seq).limit(limit)
    return _values(conn, Event, query.where(events.c.job_id == job) if job else query)


def attempts_of(conn: Connection, job: str) -> list[Attempt]:
    """All attempts of a job, by slot, then attempt."""
    query = select(attempts.c.data).where(attempts.c.job_id == job).order_by(attempts.c.slot, attempts.c.attempt)
    return _values(conn, Attempt, query)


def job_by_id(conn: Connection, key: str) -> tuple[Job, list[Task]] | None:
    """A job with its tasks by slot."""
    found = _with_tasks(conn, jobs.c.id == key, 1)
    return found[0] if found else None


def ended_before(conn: Connection, before: float, limit: int) -> list[tuple[Job, list[Task]]]:
    """Ended jobs that ended before that time, newest end first, with their tasks."""
    return _with_tasks(conn, jobs.c.ended_at < before, limit)


def ended_of_name(conn: Connection, name: str, limit: int) -> list[Job]:
    """The newest ended jobs of this name."""
    query = _newest(select(jobs.c.data).where(jobs.c.name == name, jobs.c.ended_at.is_not(None)), limit)
    return _values(conn, Job, query)


def remembered_answer(conn: Connection, key: str) -> tuple[str, bytes] | None:
    """Body hash and response kept for a key."""
    query = select(remembered.c.body_hash, remembered.c.response).where(remembered.c.key == key)
    row = conn.execute(query).first()
    return (row[0], bytes(row[1])) if row is not None else None


def prune(conn: Connection, events_before: float, jobs_before: float, remembered_before: float) -> list[str]:
    """Delete what is older; the ids of the jobs that went."""
    newest = select(func.max(events.c.seq)).scalar_subquery()
    conn.execute(delete(events).where(events.c.time < events_before, events.c.seq < newest))
    conn.execute(delete(remembered).where(remembered.c.at < remembered_before))
    old = select(jobs.c.id).where(
        jobs.c.ended_at < jobs_before,
        jobs.c.id.not_in(_HOLDING),
        jobs.c.id.not_in(_UNFINISHED),
        jobs.c.stack.not_in(_STACKS),
    )
    gone = list(conn.execute(old.order_by(jobs.c.ended_at, jobs.c.id)).scalars())
    for start in range(0, len(gone), ENDED_LOADED):
        part = gone[start : start + ENDED_LOADED]
        conn.execute(delete(attempts).where(attempts.c.job_id.in_(part)))
        conn.execute(delete(tasks).where(tasks.c.job_id.in_(part)))
        conn.execute(delete(jobs).where(jobs.c.id.in_(part)))
    return gone


def _with_tasks(conn: Connection, wanted: ColumnElement[bool], limit: int) -> list[tuple[Job, list[Task]]]:
    found = _values(conn, Job, _newest(select(jobs.c.data).where(wanted), limit))
    by_job: dict[str, list[Task]] = {job.id: [] for job in found}
    for task in _values(conn, Task, _tasks(_newest(select(jobs.c.id).where(wanted), limit))):
        by_job[task.job].append(task)
    return [(job, by_job[job.id]) for job in found]


def _newest(query: Select[Any], limit: int) -> Select[Any]:
    return query.order_by(jobs.c.ended_at.desc(), jobs.c.id.desc()).limit(limit)


def _tasks(of: Select[Any]) -> Select[Any]:
    return select(tasks.c.data).where(tasks.c.job_id.in_(of)).order_by(tasks.c.job_id, tasks.c.slot)


def _values(conn: Connection, kind: type[T], query: Select[Any]) -> list[T]:
    found: Iterable[str] = conn.execute(query).scalars()
    return [value_of(kind, data) for data in found]
