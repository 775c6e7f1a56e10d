"""Values to rows and back: JSON by msgspec in `data`, beside it the columns that queries and checks need."""

from typing import Any, TypeVar

import msgspec

from berth.model.card import Card
from berth.model.change import Remember
from berth.model.event import Event
from berth.model.job import Attempt, Job, Task
from berth.model.lifecycle import FINISHED
from berth.ports import StoreBroken

T = TypeVar("T")
Row = dict[str, Any]
_encode = msgspec.json.Encoder().encode
_decoders: dict[type, Any] = {}


def text_of(value: msgspec.Struct) -> str:
    """The value as JSON text."""
    return _encode(value).decode()


def value_of(kind: type[T], data: str) -> T:
    """The value that a row holds. Raises StoreBroken when this version cannot read it."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    try:
        found: T = decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise StoreBroken(f"The database holds a {kind.__name__.lower()} that cannot be read: {error}.") from error
    return found


def job_row(job: Job) -> Row:
    """A row of `jobs`."""
    return {
        "id": job.id,
        "name": job.name,
        "stack": job.stack,
        "seq": job.seq,
        "ended_at": job.ended_at,
        "version": job.version,
        "data": text_of(job),
    }


def task_row(task: Task) -> Row:
    """A row of `tasks`."""
    return {
        "id": task.id,
        "job_id": task.job,
        "slot": task.slot,
        "unfinished": unfinished(task),
        "version": task.version,
        "data": text_of(task),
    }


def unfinished(task: Task) -> bool:
    """True while the task may run again or the engine may still have something of it."""
    return task.state not in FINISHED or not task.gone


def attempt_row(attempt: Attempt) -> Row:
    """A row of `attempts`; job and slot are read from the task's id, `JOB.SLOT`."""
    job, _, slot = attempt.task.rpartition(".")
    return {
        "task_id": attempt.task,
        "attempt": attempt.attempt,
        "job_id": job,
        "slot": int(slot),
        "data": text_of(attempt),
    }


def card_row(card: Card) -> Row:
    """The facts of a row of `cards`, without what is left of it."""
    return {"uuid": card.uuid, "node": card.node, "memory_mib": card.memory_mib, "data": text_of(card)}


def event_row(event: Event, seq: int) -> Row:
    """A row of `events` under its number."""
    return {
        "seq": seq,
        "time": event.time,
        "job_id": event.job,
        "data": text_of(msgspec.structs.replace(event, seq=seq)),
    }


def remembered_row(one: Remember) -> Row:
    """A row of `remembered`."""
    return {"key": one.key, "body_hash": one.body_hash, "response": one.response, "at": one.at}
