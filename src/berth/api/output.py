"""A job's output as lines of JSON: what is kept, then what comes, until the job has ended."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from heapq import merge

import msgspec

from berth.api import tell
from berth.api.kept import encoder
from berth.api.room import Room
from berth.api.watch import ring_or
from berth.control import queries
from berth.model.errors import BadInput
from berth.model.job import Attempt, Job
from berth.ports import LogLine

CHUNK = 500
"""Lines in one piece of the answer."""
BACKLOG = 20_000
"""A reader that is so many lines behind reads them from the log store again."""
SETTLE_S = 0.05
LAST_S = 10.0
"""How long to wait for the last lines of a job that has ended."""
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")
Kept = tuple[float, str, int, LogLine]


class Ask(msgspec.Struct, frozen=True):
    """What to show: lines after `since` (seconds since the epoch), the last `tail` of them, one slot or all."""

    since: float = 0.0
    tail: int | None = None
    slot: int | None = None


def parse_since(text: str | None, now: float) -> float:
    """Seconds since the epoch of a time (RFC 3339, or seconds) or of a duration before now (10m). Raises BadInput."""
    if not text:
        return 0.0
    try:
        return datetime.fromisoformat(text).replace(tzinfo=datetime.fromisoformat(text).tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        pass
    if re.fullmatch(r"\d{9,11}(\.\d+)?", text):
        return float(text)
    found = _DURATION.fullmatch(text)
    if found is None or not text:
        raise BadInput.of(
            "bad-time", f"'{text[:60]}' is no time.", "Write 10m, 1h30m, or 2026-01-31T08:00:00Z", field="since"
        )
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return now - (days * 86400 + hours * 3600 + minutes * 60 + seconds)


async def kept_lines(room: Room, job: Job, ask: Ask) -> list[Kept]:
    """What is kept of the job's attempts, in the order of time."""
    attempts = await queries.attempts(room.control, job.id)
    return await asyncio.to_thread(_read, room, [one for one in attempts if _chosen(one.task, ask)], ask)


def _chosen(task: str, ask: Ask) -> bool:
    return ask.slot is None or task.rpartition(".")[2] == str(ask.slot)


def _read(room: Room, attempts: Sequence[Attempt], ask: Ask) -> list[Kept]:
    logs = room.control.logs
    parts: list[list[Kept]] = []
    for one in attempts:
        if one.ended_at is not None and one.ended_at < ask.since - LAST_S:
            continue
        lines = logs.read(one.task, one.attempt, ask.since, ask.tail)
        parts.append([(line.time, one.task, one.attempt, line) for line in lines])
    rows = list(merge(*parts, key=lambda row: row[0]))
    return rows[max(0, len(rows) - ask.tail) :] if ask.tail is not None else rows


def encode(rows: Sequence[Kept]) -> Iterator[bytes]:
    """Lines of JSON, many in one piece."""
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        yield b"".join(encoder.encode(tell.line(task, attempt, line)) + b"\n" for _, task, attempt, line in part)


async def whole(room: Room, job: Job, ask: Ask) -> AsyncIterator[bytes]:
    """What is kept now."""
    for piece in encode(await kept_lines(room, job, ask)):
        yield piece


async def follow(room: Room, job: Job, ask: Ask) -> AsyncIterator[bytes]:
    """What is kept, then each line as it is kept, until the job has ended and its last lines are there."""
    news = _News(job, ask)
    stop = room.control.keeper.listen(news.heard)
    try:
        with room.watch.bell(job.id) as news.bell:
            yield b""  # the status goes out with the first piece: a client learns it before there is any output
            rows = await kept_lines(room, job, ask)
            while True:
                for piece in encode(news.fresh(rows)):
                    yield piece
                if room.watch.closing or (not news.lines and await _over(room, job, news)):
                    return
                if not news.lines:
                    await ring_or(news.bell, LAST_S)
                rows = news.take() or (await kept_lines(room, job, news.again()) if news.lost else [])
    finally:
        stop()


async def _over(room: Room, job: Job, news: "_News") -> bool:
    """True once the job has ended and nothing more of its output is being gathered."""
    for _ in range(int(LAST_S / SETTLE_S)):
        now = room.control.cluster.jobs.get(job.id, job)
        if now.ended_at is None and job.id in room.control.cluster.jobs:
            return False
        await asyncio.sleep(SETTLE_S)
        if news.lines:
            return False
        if not any(room.control.keeper.draining(task.id) for task in room.control.cluster.tasks_of(job.id)):
            return True
    return True


class _News:
    """Lines that were kept since the last look, each attempt's only after what was shown of it already."""

    def __init__(self, job: Job, ask: Ask) -> None:
        self.bell = asyncio.Event()
        self.lines: list[Kept] = []
        self.lost = False
        self._prefix = f"{job.id}."
        self._ask = ask
        self._shown: dict[tuple[str, int], float] = {}

    def heard(self, task: str, attempt: int, lines: Sequence[LogLine]) -> None:
        """The keeper has kept lines."""
        if not task.startswith(self._prefix) or not _chosen(task, self._ask):
            return
        if len(self.lines) < BACKLOG:
            self.lines += [(line.time, task, attempt, line) for line in lines]
        else:
            self.lost = True
        self.bell.set()

    def take(self) -> list[Kept]:
        """What was heard; nothing where lines were dropped, for then the store is to be read."""
        rows, self.lines = self.lines, []
        return [] if self.lost else rows

    def again(self) -> Ask:
        """What to read from the store after lines were dropped."""
        self.lost = False
        oldest = min(self._shown.values(), default=self._ask.since)
        return Ask(since=oldest, slot=self._ask.slot)

    def fresh(self, rows: Sequence[Kept]) -> list[Kept]:
        """The rows that were not shown yet. Lines of one attempt come in the order of time."""
        before = dict(self._shown)
        for time, task, attempt, _ in rows:
            self._shown[task, attempt] = max(time, self._shown.get((task, attempt), 0.0))
        return [row for row in rows if row[0] > max(before.get((row[1], row[2]), 0.0), self._ask.since)]
