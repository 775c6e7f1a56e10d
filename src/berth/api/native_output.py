"""Output of services that the engine places itself: read through the engine while they are there; Berth keeps none."""

import asyncio
from collections.abc import AsyncIterator

from berth.api.native import lives_of
from berth.api.output import Ask, Kept, encode
from berth.api.room import Room
from berth.model.job import Job
from berth.model.launch import Handle
from berth.model.seen import Life

PACE_S = 1.0
"""Between two questions while somebody follows: the engine makes and ends the service's tasks as it likes."""


async def engine_lines(room: Room, job: Job, ask: Ask) -> list[Kept]:
    """What the engine has of the service's tasks, in the order of time. Raises EngineError."""
    chosen = [
        (slot, life) for slot, life in enumerate(lives_of(room.control.cluster, job), 1) if ask.slot in (None, slot)
    ]
    parts = await asyncio.gather(*(_read(room, job, slot, life, ask.since) for slot, life in chosen))
    rows = sorted((row for part in parts for row in part), key=lambda row: row[0])
    return rows[max(0, len(rows) - ask.tail) :] if ask.tail is not None else rows


async def _read(room: Room, job: Job, slot: int, life: Life, since: float) -> list[Kept]:
    handle = Handle(engine_id=life.engine_id, object_id=life.object_id)
    lines = room.control.engine.logs(handle, since, False)
    return [(line.time, f"{job.id}.{slot}", 1, line) async for line in lines]


async def engine_follow(room: Room, job: Job, ask: Ask) -> AsyncIterator[bytes]:
    """What the engine has now, then what comes, until the service is gone."""
    yield b""  # the status goes out before there is any output
    rows, since = await engine_lines(room, job, ask), ask.since
    while True:
        for piece in encode(rows):
            yield piece
        since = max([since, *(row[0] for row in rows)])
        if room.watch.closing or room.control.cluster.jobs.get(job.id, job).ended_at is not None:
            return
        await asyncio.sleep(PACE_S)
        rows = await engine_lines(room, job, Ask(since=since, slot=ask.slot))
