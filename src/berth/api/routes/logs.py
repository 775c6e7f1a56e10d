"""The output of a job."""

from typing import Annotated

from litestar import get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter
from litestar.response import Stream

from berth.api import views
from berth.api.describe import Key, says
from berth.api.output import Ask, follow, parse_since, whole
from berth.api.room import Here
from berth.control import queries
from berth.model.errors import Refused

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
    """The newest 10 MB of each attempt are kept, also after its container is gone."""
    found = await queries.resolve(room.control, key)
    if found.native:
        text = f"Swarm places {found.name} itself, and Berth does not keep its output."
        raise Refused.of("native-service", text, f"docker service logs {found.name}")
    ask = Ask(since=parse_since(since, room.control.clock.now()), tail=tail, slot=slot)
    lines = follow(room, found, ask) if follow_ else whole(room, found, ask)
    return Stream(lines, media_type=NDJSON)


HANDLERS = [logs]
