"""What the framework finds wrong with a request, in Berth's form of errors."""

from typing import Any

from litestar import Request
from litestar.exceptions import HTTPException

from berth.api.answers import NoSuchPath, TooLarge, WrongMethod, as_berth_error
from berth.model.errors import BadInput, BerthError, Problem

MOST = 20
"""Problems told at once."""


def from_http(request: Request[Any, Any, Any], problem: HTTPException) -> BerthError:
    """The framework's exception as something to read, with the fields that are wrong."""
    match problem.status_code:
        case 404:
            text = f"the API has nothing at {request.url.path[:200]}."
            return NoSuchPath.of("no-such-path", text, "The paths are listed at /v1/openapi.json")
        case 405:
            text = f"{request.url.path[:200]} does not take {request.method}."
            return WrongMethod.of("method-not-allowed", text, "The methods are listed at /v1/openapi.json")
        case 413:
            return TooLarge.of("body-too-large", "the request is too large.", "Send less at once")
        case status if status < 500:
            return BadInput(*_problems(problem))
        case 500 if "client disconnected" in problem.detail:  # no fault of Berth's: the log stays as it is
            return BadInput.of("bad-request", "the request ended before its body was whole.", "Send it again")
    return as_berth_error(problem)


def _problems(problem: HTTPException) -> list[Problem]:
    hint = "What it takes is listed at /v1/openapi.json"
    found = problem.extra if isinstance(problem.extra, list) else []
    told = [_problem(one, hint) for one in found[:MOST] if isinstance(one, dict)]
    return told or [Problem(code="bad-request", message=problem.detail or "the request cannot be read.", hint=hint)]


def _problem(one: dict[str, Any], hint: str) -> Problem:
    """The framework calls the whole body `data`; a body that is missing it tells as the mere name."""
    key, message = str(one.get("key", "")), str(one.get("message", "wrong"))
    if key == "data":
        text = "the request needs a JSON body." if message == "'data'" else f"the body: {message}"
        return Problem(code="bad-request", message=text, hint=hint)
    return Problem(code="bad-request", message=f"{key}: {message}" if key else message, hint=hint, field=key)
