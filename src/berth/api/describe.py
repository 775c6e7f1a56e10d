"""How routes describe themselves in the OpenAPI document, and how they answer with bytes that are encoded here."""

from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.datastructures import ResponseHeader
from litestar.enums import MediaType
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import PathParameter, QueryParameter

from berth.api import views
from berth.api.kept import encoder
from berth.api.pages import PAGE

Limit = Annotated[int, QueryParameter(ge=1, le=PAGE, description=f"How many items at most (default and most: {PAGE}).")]
Cursor = Annotated[str | None, QueryParameter(description="What `next` of the page before said.")]
Key = Annotated[str, PathParameter(description="A job's id, its name, or STACK_SERVICE.")]
Name = Annotated[str, PathParameter(description="The name.")]
REPLAYED = ResponseHeader(
    name="Idempotent-Replayed",
    description="true: the answer of an earlier request with this Idempotency-Key",
    documentation_only=True,
    required=False,
)

_ERRORS = {
    400: "What came is no HTTP request that can be read.",
    401: "No token, or one that does not hold.",
    403: "Refused: policy, permission, or the present state.",
    404: "There is no such thing.",
    409: "A name that fits several, or a change at the same moment.",
    422: "The request is wrong as written; nothing was created.",
}


def says(container: Any, text: str, status: int = 200) -> dict[int, ResponseSpec]:
    """The `responses` of a route: its own answer, and the errors that every route may give."""
    found = {status: ResponseSpec(container, description=text, generate_examples=False)}
    for code, words in _ERRORS.items():
        found[code] = ResponseSpec(views.Errors, description=words, generate_examples=False)
    return found


def says_page(item: type, text: str) -> dict[int, ResponseSpec]:
    """The `responses` of a list: a page of items, under a name of its own in the document."""
    fields = [("items", list[item]), ("next", str | None)]  # type: ignore[valid-type]
    page = msgspec.defstruct(f"{item.__name__}Page", fields, frozen=True, namespace={"__doc__": "One page of a list."})
    return says(page, text)


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response[bytes]:
    """An object as JSON."""
    return raw(encoder.encode(value), status, headers)


def raw(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response[bytes]:
    """JSON that is encoded already."""
    return Response(body, media_type=MediaType.JSON, status_code=status, headers=headers)
