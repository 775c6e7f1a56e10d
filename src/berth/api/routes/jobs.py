"""Jobs: list, look at (and wait for) one, why, history, and what is done to one."""

from typing import Annotated, Literal

import msgspec
from litestar import Response, delete, get, post
from litestar.params import JSONBody, QueryParameter

from berth.api import show, tell, views
from berth.api.describe import REPLAYED, Cursor, Key, Limit, raw, reply, says, says_page
from berth.api.ended import all_jobs
from berth.api.pages import PAGE, page_of
from berth.api.room import AnyRequest, Here, actor_of
from berth.api.watch import ring_or
from berth.control import queries
from berth.control.commands import jobs as commands
from berth.model.job import Job

LONGEST_S = 300.0
NATIVE_S = 0.5
"""Native services change without a commit: while one is waited for it is looked at this often."""
ENDED = ("succeeded", "failed", "cancelled")
Until = Literal["running", "ended"]
AttemptKey = tuple[int, int]


@get("/v1/jobs", summary="Jobs", responses=says_page(views.Job, "Jobs."))
async def jobs(
    room: Here,
    all_: Annotated[
        bool, QueryParameter(name="all", description="Those that have ended, too, newest end first.")
    ] = False,
    stack: Annotated[str | None, QueryParameter(description="Only jobs of this stack.")] = None,
    user: Annotated[str | None, QueryParameter(description="Only jobs of this user.")] = None,
    limit: Limit = PAGE,
    cursor: Cursor = None,
) -> Response[bytes]:
    """Jobs that have not ended, in the order in which they were submitted."""
    if not all_ and stack is None and user is None:
        return raw(room.kept.jobs(limit, cursor))

    def wanted(job: Job) -> bool:
        return (stack is None or job.stack == stack) and (user is None or job.user == user)

    if all_:
        return reply(await all_jobs(room.control, wanted, limit, cursor))
    return raw(room.kept.jobs(limit, cursor, wanted))


@get("/v1/jobs/{key:str}", summary="One job", responses=says(views.Job, "The job."))
async def job(
    room: Here,
    key: Key,
    wait: Annotated[
        Until | None, QueryParameter(description="Answer only when this is so, or it can no longer be.")
    ] = None,
    timeout: Annotated[float, QueryParameter(ge=0, le=LONGEST_S, description="Seconds to wait at most.")] = 60.0,
) -> Response[bytes]:
    """A job with its tasks. When the time is over, the answer is the job as it is, with `X-Berth-Timeout: 1`."""
    found = await queries.resolve(room.control, key)
    if wait is None:
        return reply(await _shown(room, found))
    answer, late = await _when(room, found, wait, timeout)
    return reply(answer, headers={"X-Berth-Timeout": "1"} if late else None)


async def _when(room: Here, found: Job, wait: Until, timeout: float) -> tuple[views.Job, bool]:
    clock = room.control.clock
    end = clock.monotonic() + timeout
    with room.watch.bell(found.id) as bell:
        while True:
            now = await _shown(room, room.control.cluster.jobs.get(found.id, found))
            left = end - clock.monotonic()
            if now.state in ENDED or now.state == wait:
                return now, False
            if left <= 0 or room.watch.closing:
                return now, True
            await ring_or(bell, min(left, NATIVE_S) if found.native else left)


async def _shown(room: Here, found: Job) -> views.Job:
    """The job from memory, or from the store when it has left memory."""
    if found.id in room.control.cluster.jobs:
        return show.job(room.control.cluster, found)
    stored = await room.control.writer.read(lambda store: store.job(found.id))
    kept, tasks = stored if stored is not None else (found, [])
    return show.job(room.control.cluster, kept, tasks)


@get("/v1/jobs/{key:str}/why", summary="Why a job is as it is", responses=says(views.Why, "The reason, node by node."))
async def why(room: Here, key: Key) -> Response[bytes]:
    """For a job that waits: what stands against it on each node, rule by rule."""
    found = await queries.resolve(room.control, key)
    return reply(tell.why(await queries.why(room.control, found.id)))


@get("/v1/jobs/{key:str}/history", summary="All attempts", responses=says_page(views.Attempt, "Attempts."))
async def history(room: Here, key: Key, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """All attempts of all slots of a job, by slot, then attempt."""
    found = await queries.resolve(room.control, key)
    rows = [tell.attempt(one) for one in await queries.attempts(room.control, found.id)]
    rows.sort(key=lambda one: (one.slot, one.attempt))
    chosen, following = page_of(rows, lambda one: (one.slot, one.attempt), limit, cursor, AttemptKey)
    return reply(views.Page(list(chosen), following))


class Scale(msgspec.Struct, frozen=True):
    """How many slots the job shall have."""

    replicas: int


@post("/v1/jobs/{key:str}/scale", summary="Change the number of slots", status_code=200, response_headers=[REPLAYED],
      responses=says(views.Job, "The job."))  # fmt: skip
async def scale(request: AnyRequest, room: Here, key: Key, data: JSONBody[Scale]) -> Response[bytes]:
    """More slots wait for cards of their own; surplus ones stop from the highest number down."""
    found = await queries.resolve(room.control, key)
    done = await commands.scale(room.control, actor_of(request), found.id, data.replicas)
    return reply(show.job(room.control.cluster, done))


@post("/v1/jobs/{key:str}/hold", summary="Keep a waiting job from starting", status_code=200,
      response_headers=[REPLAYED], responses=says(views.Job, "The job."))  # fmt: skip
async def hold(request: AnyRequest, room: Here, key: Key) -> Response[bytes]:
    """Refused for a job that runs."""
    found = await queries.resolve(room.control, key)
    return reply(show.job(room.control.cluster, await commands.hold(room.control, actor_of(request), found.id)))


@post("/v1/jobs/{key:str}/release", summary="Let a held job go on", status_code=200, response_headers=[REPLAYED],
      responses=says(views.Job, "The job."))  # fmt: skip
async def release(request: AnyRequest, room: Here, key: Key) -> Response[bytes]:
    """It keeps the place that its submit time gives it."""
    found = await queries.resolve(room.control, key)
    return reply(show.job(room.control.cluster, await commands.release(room.control, actor_of(request), found.id)))


@post("/v1/jobs/{key:str}/requeue", summary="Stop a job and put it back in the queue", status_code=200,
      response_headers=[REPLAYED], responses=says(views.Job, "The job."))  # fmt: skip
async def requeue(request: AnyRequest, room: Here, key: Key) -> Response[bytes]:
    """It keeps its submit time; the attempt is not counted."""
    found = await queries.resolve(room.control, key)
    return reply(show.job(room.control.cluster, await commands.requeue(room.control, actor_of(request), found.id)))


@delete("/v1/jobs/{key:str}", summary="Cancel a job", status_code=200, responses=says(views.Job, "The job."))
async def cancel(request: AnyRequest, room: Here, key: Key) -> Response[bytes]:
    """What waits ends at once, what runs is stopped with grace. Repeating it changes nothing."""
    found = await queries.resolve(room.control, key)
    if found.id not in room.control.cluster.jobs:
        return reply(await _shown(room, found))
    return reply(show.job(room.control.cluster, await commands.cancel(room.control, actor_of(request), found.id)))


HANDLERS = [jobs, job, why, history, scale, hold, release, requeue, cancel]
