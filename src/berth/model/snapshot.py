"""All that the decision may see, `now` included: frozen, cheap to take, and printable for a replay."""

from collections.abc import Mapping

import msgspec

from berth.model.card import WHOLE, Card, Room
from berth.model.node import Node
from berth.model.spec import Request


class CardView(msgspec.Struct, frozen=True):
    """A card, what is left of it, and the tasks that hold shares of it."""

    card: Card
    room: Room
    holders: tuple[str, ...] = ()

    @property
    def free(self) -> bool:
        """True when the whole card can be given now."""
        return self.room.milli == WHOLE and self.card.usable


class PortUse(msgspec.Struct, frozen=True):
    """Who has a host port: `holder` is a task's id, or the engine's id of something else; `who` says it in words."""

    holder: str
    who: str


class NodeView(msgspec.Struct, frozen=True):
    """A node with its cards by index, and what is left of CPU (1e-9) and memory (bytes); None: not limited.

    `tasks` counts the tasks of Berth that are placed on it, with or without cards. `ports` are the host ports
    ("8080/tcp") that are taken on it, by tasks of Berth or by anything else.
    """

    node: Node
    cards: tuple[CardView, ...] = ()
    cpu_nano: int | None = None
    memory_bytes: int | None = None
    tasks: int = 0
    ports: Mapping[str, PortUse] = {}

    @property
    def free_cards(self) -> int:
        """How many whole cards could be given now, whatever their model."""
        return sum(view.free for view in self.cards)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A task that wants cards or a node. Candidates are served in the order of `rank`.

    `owns` are cards that it holds already and that count as free for it (a changed service);
    `home` is the node of those. `blocked` is a reason token that stands before all ("held", "restart-delay").
    """

    task: str
    job: str
    name: str
    request: Request
    rank: tuple[int, float, int, int]
    owns: tuple[str, ...] = ()
    home: str = ""
    blocked: str = ""
    blocked_message: str = ""


class Snapshot(msgspec.Struct, frozen=True):
    """The cluster at one instant; `nodes` are in one fixed order, which breaks ties."""

    now: float
    nodes: tuple[NodeView, ...]
    waiting: tuple[Candidate, ...]
