"""The output of a job."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from litestar import get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter
from litestar.response import Stream

from berth.api import views
from berth.api.describe import Key, says
from berth.api.native_output import engine_follow, engine_lines
from berth.api.output import Ask, encode, follow, parse_since, whole
from berth.api.room import Here, Room
from berth.control import queries
from berth.model.errors import Refused
from berth.model.job import Job

NDJSON = "application/x-ndjson"
LINES = says(views.LogLine, "One line of JSON per piece of output, in the order of time.")
LINES[200] = ResponseSpec(views.LogLine, description=LINES[200].description, media_type=NDJSON, generate_examples=False)


@get("/v1/jobs/{key:str}/logs", summary="A job's output", media_type=NDJSON, responses=LINES)
async def logs(
    room: Here,
    key: Key,
    follow_: Annotated[bool, QueryParameter(name="follow", description="Go on until the job has ended.")] = False,
    since: Annotated[str | None, QueryParameter(description="Only later output: 10m, or an RFC 3339 time.")] = None,
    tail: Annotated[int | None, QueryParameter(ge=0, description="Only the last N lines of what is there.")] = None,
    slot: Annotated[int | None, QueryParameter(ge=1, description="Only this slot's.")] = None,
) -> Stream:
    """The newest 10 MB of each attempt are kept, also after its container is gone. Of a service that the engine places
    itself there is what the engine has, while the service exists.
    """
    found = await queries.resolve(room.control, key)
    ask = Ask(since=parse_since(since, room.control.clock.now()), tail=tail, slot=slot)
    if found.native:
        return Stream(await _of_engine(room, found, ask, follow_), media_type=NDJSON)
    lines = follow(room, found, ask) if follow_ else whole(room, found, ask)
    return Stream(lines, media_type=NDJSON)


async def _of_engine(room: Room, job: Job, ask: Ask, on: bool) -> AsyncIterator[bytes] | Iterator[bytes]:
    if job.ended_at is not None:
        text = f"{job.name} was placed by the engine itself, which had its output; Berth has kept none."
        raise Refused.of("native-service", text, "For output that is kept, let Berth place it: ask for a card")
    return engine_follow(room, job, ask) if on else encode(await engine_lines(room, job, ask))


HANDLERS = [logs]
