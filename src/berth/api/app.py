"""Puts the API together: the front before everything, the routes behind it, one form of errors for all."""

import logging
from typing import Any

from litestar import Litestar, Request, Response, Router
from litestar.di import Provide
from litestar.enums import MediaType
from litestar.exceptions import HTTPException, NotFoundException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from berth import __version__
from berth.api.agents import AgentSockets
from berth.api.answers import as_berth_error, body_of, is_bug
from berth.api.faults import from_http
from berth.api.front import ASGI, Front
from berth.api.kept import Kept
from berth.api.room import Room
from berth.api.routes import HANDLERS
from berth.api.watch import Watch
from berth.control.agents import Agents
from berth.control.context import Control

log = logging.getLogger("berth")


def create_app(control: Control, agents: Agents | None = None) -> Front:
    """The whole API of one server. `agents` is what connected agents speak to."""
    sockets = AgentSockets(control, agents if agents is not None else Agents(control))
    room = Room(control, Kept(control), Watch(control))
    return Front(room, _routes(room), sockets)


def _routes(room: Room) -> ASGI:
    app: Any = Litestar(
        HANDLERS,
        dependencies={"room": Provide(lambda: room, sync_to_thread=False)},
        exception_handlers={Exception: _answer},
        openapi_config=_openapi(),
        request_max_body_size=None,
        logging_config=None,
        debug=False,
    )
    return app  # type: ignore[no-any-return]


def _answer(request: Request[Any, Any, Any], problem: Exception) -> Response[bytes]:
    error = from_http(request, problem) if isinstance(problem, HTTPException) else as_berth_error(problem)
    if is_bug(error):
        log.error("%s %s failed", request.method, request.url.path, exc_info=problem)
    headers = getattr(problem, "headers", None)
    return Response(body_of(error), media_type=MediaType.JSON, status_code=error.http_status, headers=headers)


def _no_page(response: Response[Any]) -> Response[Any]:
    """The framework has a page of its own for paths below the document: this API says no in one form only."""
    if response.status_code == 404:
        raise NotFoundException
    return response


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Berth",
        version=__version__,
        description="Every GPU card gets one place in one queue. All but /healthz needs a bearer token. A POST takes "
        "the header Idempotency-Key: the answer is kept for a day, and the same request under that key gets it again.",
        openapi_router=Router("/v1/openapi.json", route_handlers=[], include_in_schema=False, after_request=_no_page),
        render_plugins=[JsonRenderPlugin(path="/")],
        use_handler_docstrings=True,
        security=[{"token": []}],
        components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
    )
