"""What admins decide about nodes and cards."""

from typing import Annotated

import msgspec
from litestar import Response, delete, patch, post
from litestar.params import JSONBody

from berth.api import show, views
from berth.api.describe import REPLAYED, Name, reply, says
from berth.api.room import AnyRequest, Here, actor_of
from berth.control.commands import nodes as commands
from berth.model.card import Card
from berth.model.node import Node

NODE = says(views.Node, "The node.")
CARD = says(views.Card, "The card.")


class Drain(msgspec.Struct, frozen=True):
    """`move`: running tasks move to other nodes, too, after `grace_s` seconds from TERM to KILL (null: their own)."""

    reason: str
    move: bool = False
    grace_s: Annotated[float, msgspec.Meta(ge=0)] | None = None


class Reason(msgspec.Struct, frozen=True):
    """Why, in words: shown to everybody who asks."""

    reason: str


class CardReason(msgspec.Struct, frozen=True):
    """A card and why."""

    uuid: str
    reason: str


class OneCard(msgspec.Struct, frozen=True):
    """A card by its full UUID."""

    uuid: str


def _node(room: Here, node: Node) -> Response[bytes]:
    """The node as it is now; one that was just removed as it was."""
    found = [view for view in room.control.views.nodes() if view.node.name == node.name]
    return reply(show.node(found[0]) if found else show.removed_node(node))


def _card(room: Here, card: Card) -> Response[bytes]:
    views_ = (view for view in room.control.views.nodes() if view.node.name == card.node)
    shown = (one for view in views_ for one in show.cards(room.control.cluster, view) if one.uuid == card.uuid)
    return reply(next(shown))


@patch("/v1/nodes/{name:str}/labels", summary="Set or remove labels of a node", responses=NODE)
async def label(
    request: AnyRequest,
    room: Here,
    name: Name,
    data: JSONBody[dict[str, str | None]],
) -> Response[bytes]:
    """Takes label -> value, or null to remove it. Labels that Berth writes are refused; `gpu.count` changes how many
    cards a hand-labelled node declares.
    """
    return _node(room, await commands.label(room.control, actor_of(request), name, data))


@post("/v1/nodes/{name:str}/drain", summary="No new work on a node", status_code=200, response_headers=[REPLAYED],
      responses=NODE)  # fmt: skip
async def drain(request: AnyRequest, room: Here, name: Name, data: JSONBody[Drain]) -> Response[bytes]:
    """What runs there finishes, or with `move` is stopped and placed elsewhere."""
    done = await commands.drain(room.control, actor_of(request), name, data.reason, data.move, data.grace_s)
    return _node(room, done)


@post("/v1/nodes/{name:str}/undrain", summary="Let a node take work again", status_code=200,
      response_headers=[REPLAYED], responses=NODE)  # fmt: skip
async def undrain(request: AnyRequest, room: Here, name: Name) -> Response[bytes]:
    """Takes a drain back."""
    return _node(room, await commands.undrain(room.control, actor_of(request), name))


@post("/v1/nodes/{name:str}/fence", summary="Vouch that a node is off", status_code=200, response_headers=[REPLAYED],
      responses=NODE)  # fmt: skip
async def fence(request: AnyRequest, room: Here, name: Name, data: JSONBody[Reason]) -> Response[bytes]:
    """Its tasks may run elsewhere. Refused while it answers."""
    return _node(room, await commands.fence(room.control, actor_of(request), name, data.reason))


@post("/v1/nodes/{name:str}/unfence", summary="Take a fenced node back", status_code=200, response_headers=[REPLAYED],
      responses=NODE)  # fmt: skip
async def unfence(request: AnyRequest, room: Here, name: Name) -> Response[bytes]:
    """It may take work again once it answers."""
    return _node(room, await commands.unfence(room.control, actor_of(request), name))


@post("/v1/nodes/{name:str}/adopt", summary="Permit label writes that end work of others", status_code=200,
      response_headers=[REPLAYED], responses=NODE)  # fmt: skip
async def adopt(request: AnyRequest, room: Here, name: Name) -> Response[bytes]:
    """Labels that were withheld because they would end somebody else's task are written."""
    return _node(room, await commands.permit_labels(room.control, actor_of(request), name))


@delete("/v1/nodes/{name:str}", summary="Forget a node", status_code=200, responses=NODE)
async def remove(request: AnyRequest, room: Here, name: Name) -> Response[bytes]:
    """Refused while the engine has it or it holds work."""
    return _node(room, await commands.remove(room.control, actor_of(request), name))


@post("/v1/cards/fence", summary="Keep new work off a card", status_code=200, response_headers=[REPLAYED],
      responses=CARD)  # fmt: skip
async def fence_card(request: AnyRequest, room: Here, data: JSONBody[CardReason]) -> Response[bytes]:
    """What runs on it goes on."""
    return _card(room, await commands.fence_card(room.control, actor_of(request), data.uuid, data.reason))


@post("/v1/cards/unfence", summary="Let a card take work again", status_code=200, response_headers=[REPLAYED],
      responses=CARD)  # fmt: skip
async def unfence_card(request: AnyRequest, room: Here, data: JSONBody[OneCard]) -> Response[bytes]:
    """Lifts a fence, and a quarantine."""
    return _card(room, await commands.unfence_card(room.control, actor_of(request), data.uuid))


HANDLERS = [label, drain, undrain, fence, unfence, adopt, remove, fence_card, unfence_card]
