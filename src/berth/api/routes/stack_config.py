"""The merged stack file: `berth stack config` asks for it, and for nothing to be created."""

import asyncio

import msgspec
from litestar import Response, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody

from berth.api import show, views
from berth.api.describe import reply, says
from berth.api.reading import facts_for
from berth.api.room import AnyRequest, Here, actor_of
from berth.api.routes.stacks import unready
from berth.compose import merged_stack
from berth.model.draft import Bundle, Needs

MERGED = says(views.Merged, "The files as one; or what must be sent, too (`needs`).")
MERGED[200] = ResponseSpec(
    views.Merged | views.Unready,
    description="The files as one; or what must be sent, too (`needs`).",
    generate_examples=False,
)


class Ask(msgspec.Struct, frozen=True):
    """The files, as for a deployment."""

    bundle: Bundle


@post("/v1/stack-config", summary="The merged stack file", status_code=200, responses=MERGED)
async def config(request: AnyRequest, room: Here, data: JSONBody[Ask]) -> Response[bytes]:
    """Several files as one, with their variables filled in, in the long forms that `docker stack config` prints."""
    facts = facts_for(actor_of(request), room.control.engine.capabilities)
    merged = await asyncio.to_thread(merged_stack, data.bundle, facts)
    if merged.needs != Needs():
        return reply(unready(merged.needs))
    told = [show.error(problem) for problem in merged.warnings]
    return reply(views.Merged(config=merged.value, text=merged.text, warnings=told))


HANDLERS = [config]
