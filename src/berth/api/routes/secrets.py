"""Secrets: create, list, remove. A content goes in and never comes out again."""

import msgspec
from litestar import Response, delete, get, post
from litestar.params import JSONBody

from berth.api import views
from berth.api.describe import REPLAYED, Cursor, Limit, Name, reply, says, says_page
from berth.api.kept import NameKey
from berth.api.pages import PAGE, page_of
from berth.api.room import AnyRequest, Here, actor_of
from berth.api.show import moment
from berth.control.commands import files as commands
from berth.model.stored import Content, SeenFile


class NewSecret(msgspec.Struct, frozen=True):
    """A secret with its content (`data`, in base64): 1 byte to 500 KiB."""

    name: str
    data: bytes

    def __repr__(self) -> str:
        return f"NewSecret({self.name!r})"


@get("/v1/secrets", summary="Secrets, by name", responses=says_page(views.Secret, "Secrets, without their content."))
async def secrets(room: Here, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """Names, owners, and what uses each; everybody may see these."""
    found = await commands.secrets(room.control)
    chosen, following = page_of(found, lambda one: (one.name,), limit, cursor, NameKey)
    return reply(views.Page([_shown(one) for one in chosen], following))


@post("/v1/secrets", summary="Create a secret", status_code=201, response_headers=[REPLAYED],
      responses=says(views.Secret, "The secret, without its content.", 201))  # fmt: skip
async def create(request: AnyRequest, room: Here, data: JSONBody[NewSecret]) -> Response[bytes]:
    """It belongs to the caller. A content is never changed: remove the secret and create it again."""
    made = await commands.create_secret(room.control, actor_of(request), data.name, Content(data.data))
    return reply(_shown(made), 201)


@delete("/v1/secrets/{name:str}", summary="Remove a secret", status_code=200,
        responses=says(views.Secret, "The secret that is gone."))  # fmt: skip
async def remove(request: AnyRequest, room: Here, name: Name) -> Response[bytes]:
    """Only its owner or an admin may, and only while nothing uses it."""
    return reply(_shown(await commands.remove_secret(room.control, actor_of(request), name)))


def _shown(one: SeenFile) -> views.Secret:
    return views.Secret(
        name=one.name,
        user=one.user or None,
        stack=one.stack or None,
        created_at=moment(one.created_at),
        used_by=one.users,
    )


HANDLERS = [secrets, create, remove]
