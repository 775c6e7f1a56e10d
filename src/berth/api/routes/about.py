"""The server itself: its version, whether it works, and its figures for Prometheus."""

from litestar import Response, get
from litestar.openapi.datastructures import ResponseSpec

from berth import __version__
from berth.api import views
from berth.api.describe import reply, says
from berth.api.metrics import CONTENT_TYPE, text
from berth.api.room import Here


@get("/v1/version", summary="What this server is", responses=says(views.Version, "Version and engine."))
async def version(room: Here) -> Response[bytes]:
    """The server's version, its engine, and the id by which its objects on the engine are marked."""
    settings = room.control.settings
    return reply(views.Version(version=__version__, engine=settings.engine, cluster=settings.cluster_id, api="v1"))


NOT_READY = {503: ResponseSpec(views.Ready, description="Store or engine do not work.", generate_examples=False)}


@get("/readyz", summary="Whether work is taken", responses=says(views.Ready, "Store and engine work.") | NOT_READY)
async def readyz(room: Here) -> Response[bytes]:
    """503 with the reasons while the store cannot be written or the engine does not answer."""
    problems = []
    if room.control.writer.broken is not None:
        problems.append("the store cannot be written; the server's log says why")
    if room.control.engine_trouble:
        problems.append(f"the engine: {room.control.engine_trouble}")
    return reply(views.Ready(not problems, problems), 503 if problems else 200)


@get("/metrics", summary="Figures for Prometheus", media_type=CONTENT_TYPE)
async def metrics(room: Here) -> Response[bytes]:
    """Cards by model and state, jobs by state, waiting tasks by reason, nodes by state, decisions."""
    return Response(text(room.control), media_type=CONTENT_TYPE)


HANDLERS = [version, readyz, metrics]
