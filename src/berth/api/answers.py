"""Every no of the API in one form, and the errors that only HTTP has; used by the front and by all routes."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import msgspec

from berth.api import show, views
from berth.model.change import DoubleGrant, Stale, Superseded
from berth.model.errors import BadInput, BerthError, Problem, Refused
from berth.ports import StoreBroken

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

JSON = (b"content-type", b"application/json")
NO_STORE = (b"cache-control", b"no-store")


class Unproven(BerthError):
    """No token, or none that holds."""

    exit_code = 4
    http_status = 401


class TooLarge(BadInput):
    """The body is larger than the server takes."""

    http_status = 413


class TooSlow(BerthError):
    """The body did not come in time."""

    http_status = 408


class KeyReused(Refused):
    """Another request came before under the same idempotency key."""

    http_status = 422


class NoSuchPath(BerthError):
    """The API has nothing at this path."""

    exit_code = 3
    http_status = 404


class WrongMethod(BadInput):
    """The path is there, but not with this method."""

    http_status = 405


class Conflict(BerthError):
    """Somebody else changed the same thing at the same time; nothing was done."""

    http_status = 409


class Unavailable(BerthError):
    """The server cannot write now, or no longer."""

    exit_code = 5
    http_status = 503


def body_of(error: BerthError) -> bytes:
    """The JSON of an error."""
    return msgspec.json.encode(views.Errors([show.error(problem) for problem in error.problems], error.exit_code))


def as_berth_error(error: Exception) -> BerthError:
    """Any exception as something to read; a fault of Berth's own is told as such, without its inner words."""
    match error:
        case BerthError():
            return error
        case Stale() | DoubleGrant():
            return Conflict.of(
                "changed-meanwhile", "it changed at the same moment, so nothing was done.", "Look at it, and try again"
            )
        case Superseded():
            return Unavailable.of(
                "superseded", "another server has taken over this cluster.", "Speak to that one: berth login URL"
            )
        case StoreBroken():
            kept = (
                "Look first whether it was kept (berth jobs)" if error.unknown else "Nothing of this request was kept"
            )
            return Unavailable.of("store-broken", str(error), f"{kept}, then try it again")
        case RecursionError() if "deserializing" in str(error):  # msgspec's word for a body that is too deep
            return BadInput.of("bad-json", "the body has too many levels.", "Its form is listed at /v1/openapi.json")
        case _:
            return BerthError.of(
                "bug",
                "the server met a fault of its own; its log has the details.",
                "Look at what became of it (berth jobs, berth events), then try again; please report the log's text",
            )


def is_bug(error: BerthError) -> bool:
    """True for a fault of Berth's own or of its store: the log tells it whole."""
    return any(problem.code in ("bug", "store-broken") for problem in error.problems)


def header(scope: Scope, name: bytes) -> bytes:
    """The value of a request's header, b"" without it; the name in small letters."""
    return next((bytes(value) for key, value in scope["headers"] if key == name), b"")


async def send_json(send: Send, status: int, body: bytes, headers: Headers = ()) -> None:
    """Answer with JSON."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [JSON, NO_STORE, length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_error(send: Send, error: BerthError) -> None:
    """Answer with an error."""
    challenge = [(b"www-authenticate", b'Bearer realm="berth"')] if error.http_status == 401 else []
    await send_json(send, error.http_status, body_of(error), challenge)


def problem(code: str, message: str, hint: str = "", field: str = "") -> Problem:
    """Make a problem."""
    return Problem(code=code, message=message, hint=hint, field=field)
