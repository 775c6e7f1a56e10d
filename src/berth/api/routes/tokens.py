"""Tokens: who may speak to the server."""

import msgspec
from litestar import Response, delete, get, post
from litestar.params import JSONBody

from berth.api import show, tell, views
from berth.api.answers import Conflict, body_of
from berth.api.describe import REPLAYED, Cursor, Limit, Name, reply, says, says_page
from berth.api.kept import JobKey
from berth.api.pages import PAGE, page_of
from berth.api.room import AnyRequest, Here, actor_of, pending_of
from berth.control.commands import tokens as commands
from berth.control.permit import must_be_admin
from berth.model.token import Role, Token


class Wanted(msgspec.Struct, frozen=True):
    """A user's token needs a name, an agent's the node that it speaks for."""

    role: Role
    name: str = ""
    node: str = ""


def _key(token: Token) -> JobKey:
    return (token.created_at, 0, token.id)


@get("/v1/tokens", summary="Tokens", responses=says_page(views.Token, "Tokens."))
async def tokens(request: AnyRequest, room: Here, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """All tokens without their secrets, oldest first; for admins."""
    must_be_admin(actor_of(request), "list tokens")
    found = sorted(room.control.cluster.tokens.values(), key=_key)
    chosen, following = page_of(found, _key, limit, cursor, JobKey)
    return reply(views.Page([tell.token(token) for token in chosen], following))


@post("/v1/tokens", summary="Create a token", status_code=201, response_headers=[REPLAYED],
      responses=says(views.NewToken, "The token with its secret, shown this once.", 201))  # fmt: skip
async def create(request: AnyRequest, room: Here, data: JSONBody[Wanted]) -> Response[bytes]:
    """The server keeps only the hash of the secret; so does what it keeps for an Idempotency-Key."""
    token, secret = await commands.create(room.control, actor_of(request), data.role, data.name, data.node)
    if (pending := pending_of(request)) is not None:
        pending.instead = _shown_once(token)
    warning = commands.unknown_node(room.control, token)
    made = views.NewToken(
        id=token.id, role=token.role, name=token.name, node=token.node or None, token=secret,
        warnings=[show.error(warning)] if warning else [],
    )  # fmt: skip
    return reply(made, 201)


def _shown_once(token: Token) -> bytes:
    return body_of(
        Conflict.of(
            "token-shown",
            f"token {token.id} was created by an earlier request with this key; its secret was shown only then.",
            f"berth token revoke {token.id}, and create another",
        )
    )


@delete("/v1/tokens/{token:str}", summary="Revoke a token", status_code=200, responses=says(views.Token, "The token."))
async def revoke(request: AnyRequest, room: Here, token: Name) -> Response[bytes]:
    """It is worthless at once. The last admin's token stays."""
    return reply(tell.token(await commands.revoke(room.control, actor_of(request), token)))


HANDLERS = [tokens, create, revoke]
