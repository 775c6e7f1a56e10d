"""What happened: as a list, or as a stream of server-sent events."""

from typing import Annotated

from litestar import Response, get
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream

from berth.api import tell, views
from berth.api.describe import Limit, reply, says_page
from berth.api.pages import PAGE
from berth.api.room import AnyRequest, Here
from berth.api.stream import events_after, stream
from berth.control import queries
from berth.model.errors import BadInput, NotFound


@get("/v1/events", summary="What happened", responses=says_page(views.Event, "Events, oldest first."))
async def events(
    request: AnyRequest,
    room: Here,
    after: Annotated[int | None, QueryParameter(ge=0, description="Only events with a higher number.")] = None,
    job: Annotated[str | None, QueryParameter(description="Only this job's: id, name, or STACK_SERVICE.")] = None,
    limit: Limit = PAGE,
    cursor: Annotated[str | None, QueryParameter(description="What `next` of the page before said.")] = None,
    last_id: Annotated[
        str | None, HeaderParameter(name="Last-Event-ID", description="For the stream: as `after`, sent by browsers.")
    ] = None,
) -> Response[bytes] | Stream:
    """With `Accept: text/event-stream` a stream: `id` is the number, `event` the kind, `data` the event. Without
    `after` and `Last-Event-ID` it begins with what happens from now on. `reset` says that some events are missing.
    """
    job_id = await _job_id(room, job) if job else ""
    if "text/event-stream" in request.headers.get("accept", ""):
        start = _number(last_id, "Last-Event-ID") if last_id else after
        return Stream(stream(room, start, job_id), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
    start = _number(cursor, "cursor") if cursor else after or 0
    found = await events_after(room, start, limit + 1, job_id)
    following = str(found[limit - 1].seq) if len(found) > limit else None
    return reply(views.Page([tell.event(one) for one in found[:limit]], following))


def _number(text: str, field: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadInput.of("bad-cursor", f"'{text[:80]}' is no event's number.", "Leave it out to begin anew", field)
    return int(text)


async def _job_id(room: Here, key: str) -> str:
    """The job that is meant; a name that fits none is told, for a stream of nothing would tell nothing."""
    try:
        return (await queries.resolve(room.control, key)).id
    except NotFound:
        if await events_after(room, 0, 1, key):
            return key
        raise


HANDLERS = [events]
