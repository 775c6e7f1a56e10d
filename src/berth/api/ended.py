"""Lists of jobs that reach beyond memory: those that have not ended first, then ended ones, newest end first."""

import math
from collections.abc import Callable

from berth.api import show, views
from berth.api.kept import JobKey, job_key
from berth.api.pages import read_cursor, write_cursor
from berth.control.context import Control
from berth.model.job import Job, Task

EndedKey = tuple[float, int]
Row = tuple[Job, tuple[Task, ...]]
Wanted = Callable[[Job], bool]
NOW = 1e18
"""A time after every end."""
STEP = 500
"""How many ended jobs are read from the store at a time, until a page is full."""


async def all_jobs(control: Control, wanted: Wanted, limit: int, cursor: str | None) -> views.Page[views.Job]:
    """A page of live and ended jobs that are wanted. Its cursor is `["live", ...]` or `["ended", ...]`."""
    kind, *rest = read_cursor(cursor, tuple[str, float, int, str]) if cursor else ("live", -math.inf, 0, "")
    rows: list[Row] = []
    following = None
    if kind == "live":
        rows, following = _live(control, wanted, limit, (rest[0], rest[1], rest[2]))
        rest = [NOW, 0, ""]
    if following is None:
        ended, following = await _ended(control, wanted, limit - len(rows), (rest[0], rest[1]))
        rows += ended
    return views.Page([show.job(control.cluster, job, tasks) for job, tasks in rows], following)


def _live(control: Control, wanted: Wanted, limit: int, after: JobKey) -> tuple[list[Row], str | None]:
    cluster = control.cluster
    jobs = [job for job in (cluster.jobs[key] for key in cluster.work.live) if wanted(job) and job_key(job) > after]
    jobs.sort(key=job_key)
    rows = [(job, show.tasks_of(cluster, job)) for job in jobs[:limit]]
    return rows, write_cursor(("live", *job_key(jobs[limit - 1]))) if len(jobs) > limit else None


async def _ended(control: Control, wanted: Wanted, limit: int, after: EndedKey) -> tuple[list[Row], str | None]:
    """Ended jobs after the key (end, how many with that very end were shown); one more than asked tells of a next."""
    rows: list[Row] = []
    place = after
    while True:
        found = await _some(control, place)
        for job, tasks in found:
            if wanted(job) and len(rows) == limit:
                return rows, write_cursor(("ended", *place, ""))
            if wanted(job):
                rows.append((job, tuple(tasks)))
            end = job.ended_at or 0.0
            place = (end, place[1] + 1 if end == place[0] else 1)
        if len(found) < STEP:
            return rows, None


async def _some(control: Control, place: EndedKey) -> list[tuple[Job, list[Task]]]:
    end, shown = place
    before = math.nextafter(end, math.inf)
    found = await control.writer.read(lambda store: store.ended_jobs(before, STEP + shown))
    return found[shown:]
