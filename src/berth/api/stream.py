"""Events as server-sent events: each once and in order, from any number on, with `reset` where some are missing."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from berth.api import tell
from berth.api.kept import encoder
from berth.api.room import Room
from berth.api.watch import EVENTS, ring_or
from berth.model.event import Event

PART = 500
QUIET_S = 15.0
"""After so many seconds without an event a comment keeps the connection open."""


async def events_after(room: Room, after: int, limit: int, job: str = "") -> list[Event]:
    """Events with a number above `after`, oldest first; from memory where it reaches back so far."""
    kept = room.control.cluster.events
    if kept and kept[0].seq <= after + 1:
        found = kept if after < kept[0].seq else list(kept)[after + 1 - kept[0].seq :]
        return [one for one in found if not job or one.job == job][:limit]
    if after >= room.control.cluster.last_event:
        return []
    return await room.control.writer.read(lambda store: store.events(after, limit, job))


async def stream(room: Room, after: int | None, job: str = "") -> AsyncIterator[bytes]:
    """Events with a number above `after` (None: those from now on), then each as it happens.

    Where events are missing (the store no longer has them, or never had that number) an event `reset` says so.
    """
    newest = room.control.cluster.last_event
    yield b"retry: 1000\n\n"
    if after is None:
        after = newest
    elif after > newest or await _gap(room, after):
        yield b"id: %d\nevent: reset\ndata: {}\n\n" % (newest if after > newest else after)
        after = min(after, newest)
    with room.watch.bell(EVENTS) as bell:
        while not room.watch.closing:
            found = await events_after(room, after, PART)
            if found:
                after = found[-1].seq
                text = _text([one for one in found if not job or one.job == job])
                if text:
                    yield text
                continue
            if not await _rang(bell):
                yield b": still here\n\n"


async def _rang(bell: asyncio.Event) -> bool:
    return await ring_or(bell, QUIET_S)


async def _gap(room: Room, after: int) -> bool:
    """True when the event that follows `after` is no longer kept."""
    found = await events_after(room, after, 1)
    return bool(found) and found[0].seq != after + 1


def _text(events: Sequence[Event]) -> bytes:
    return b"".join(
        b"id: %d\nevent: %s\ndata: %s\n\n" % (one.seq, one.kind.encode(), encoder.encode(tell.event(one)))
        for one in events
    )
