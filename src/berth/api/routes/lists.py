"""Lists of cards, nodes, models, and the queue."""

from litestar import Response, get

from berth.api import views
from berth.api.describe import Cursor, Limit, raw, says_page
from berth.api.pages import PAGE
from berth.api.room import Here


@get("/v1/cards", summary="Cards, by node and index", responses=says_page(views.Card, "Cards."))
async def cards(room: Here, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """Every card, where it is, its state, and what holds it."""
    return raw(room.kept.cards(limit, cursor))


@get("/v1/nodes", summary="Nodes, by name", responses=says_page(views.Node, "Nodes."))
async def nodes(room: Here, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """Every node, its state and labels, and how many of its cards are wholly free."""
    return raw(room.kept.nodes(limit, cursor))


@get("/v1/gpus", summary="What can be had, by model", responses=says_page(views.Model, "Models of cards."))
async def gpus(room: Here, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """Free, used and waited-for cards of each model."""
    return raw(room.kept.gpus(limit, cursor))


@get("/v1/queue", summary="What waits, in order", responses=says_page(views.Job, "Waiting jobs."))
async def queue(room: Here, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """Jobs that wait, in the order in which they are served, each with its reason."""
    return raw(room.kept.queue(limit, cursor))


HANDLERS = [cards, nodes, gpus, queue]
