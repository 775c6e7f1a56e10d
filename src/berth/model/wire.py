"""What agent and server say to each other: the agent's facts go up, the server's few wishes come down.

Frames are JSON texts, each one message, told apart by `kind`. A message that the other side does not know, or with
fields that it does not know, is skipped (`read_up`, `read_down`): so an agent one version older works.
"""

from typing import Literal, TypeAlias

import msgspec

from berth.model.card import Card, Use
from berth.model.errors import Problem

WIRE_VERSION = 1
"""Raised when a message changes its meaning; new messages and new fields with defaults do not raise it."""

Action = Literal["start", "die", "kill", "stop", "oom", "destroy"]


class Saw(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="saw"):
    """What one running container of Berth's really sees, said after its start and at every `Refresh`.

    `cards` are the UUIDs of the cards that it can open. `problem` is "" or why these are not the granted ones, in a
    sentence with its cause: then the server stops the attempt (`wrong-cards`) and flags the node. `looked` is False
    when nothing could be seen: the container was gone already, or the agent may not look (`note` says which).
    """

    task: str
    attempt: int
    container: str
    cards: tuple[str, ...] = ()
    problem: str = ""
    looked: bool = True
    note: str = ""


class ForeignUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A container of somebody else that was given cards by explicit request or computes on them, or a bare process.

    `cards` are UUIDs; empty: which ones is not known. `uid` is that of its first process (Docker records no person).
    `process` is the id of a process outside all running containers; `container` then is "".
    """

    container: str = ""
    process: int = 0
    name: str = ""
    image: str = ""
    uid: int | None = None
    cards: tuple[str, ...] = ()

    @property
    def who(self) -> str:
        """The holder in words, for "used by ..."."""
        by = f" (uid {self.uid})" if self.uid is not None else ""
        if self.process:
            return f"process {self.process} {self.name}".rstrip() + by
        return f"container {self.name or self.container[:12]} of image {self.image}{by}"


class Hello(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="hello"):
    """The first message of every connection, with all that the agent knows: it replaces what the server knew of it.

    `hostname` is the host's own name; `engine_id` is the Docker daemon's id, `swarm_node_id` its node id in a Swarm
    ("" outside one). `instance` is new in each process, so that two agents with one token are noticed. `vendor` is
    "nvidia", "declared", "simulated", or "" where no driver was found. `group_ids` are the host's gids of `video` and
    `render`. `containers` are Berth's containers that run now; `problems` is what stands against the cards.
    """

    hostname: str
    instance: str
    agent: str
    version: int = WIRE_VERSION
    engine_id: str = ""
    swarm_node_id: str = ""
    vendor: str = ""
    cards: tuple[Card, ...] = ()
    group_ids: dict[str, int] = {}
    facts: dict[str, str] = {}
    containers: tuple[Saw, ...] = ()
    foreign: tuple[ForeignUse, ...] = ()
    problems: tuple[Problem, ...] = ()


class Cards(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="cards"):
    """All cards of the node again, because something changed. One that is missing here and was there is lost."""

    vendor: str
    cards: tuple[Card, ...] = ()
    problems: tuple[Problem, ...] = ()


class Uses(msgspec.Struct, frozen=True, tag_field="kind", tag="uses"):
    """What the cards do now."""

    uses: tuple[Use, ...] = ()


class Foreign(msgspec.Struct, frozen=True, tag_field="kind", tag="foreign"):
    """All foreign uses on this node, because something changed."""

    uses: tuple[ForeignUse, ...] = ()


class Container(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="container"):
    """Something happened to a container of Berth's: the engine's event as it came, in order.

    A `kill` may be anybody's: Berth's, the engine's, or a person's with the docker CLI. `die` has `oom` when the kernel
    had killed it for want of memory.
    """

    action: Action
    task: str
    attempt: int
    container: str
    oom: bool = False


class FoundImage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="found-image"):
    """The answer to FindImage. `here` is None where the agent cannot tell (no daemon, or it does not answer).

    `env` are those variables of the image that demand something of the cards.
    """

    image: str
    here: bool | None = None
    env: dict[str, str] = {}


class Heartbeat(msgspec.Struct, frozen=True, tag_field="kind", tag="heartbeat"):
    """The agent is alive; it says so three times per lease."""


Up: TypeAlias = Hello | Cards | Uses | Foreign | Container | Saw | FoundImage | Heartbeat


class Welcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="welcome"):
    """The hello is taken. An agent that is silent for `lease_s` seconds of the server's clock counts as away.

    `node` is the node's name in Berth; the server puts it on the agent's cards, whatever the agent calls itself.
    """

    lease_s: float
    node: str
    version: int = WIRE_VERSION


class Refuse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="refuse"):
    """The server does not want this agent; it closes the stream. `final`: trying again is of no use."""

    problem: Problem
    final: bool = False


class FindImage(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="find-image"):
    """Say whether the node's daemon has this image, by its name; the answer is FoundImage."""

    image: str


class Refresh(msgspec.Struct, frozen=True, tag_field="kind", tag="refresh"):
    """Look at everything again and say hello: somebody says that what stood against the node's cards is mended."""


Down: TypeAlias = Welcome | Refuse | FindImage | Refresh

_UP: msgspec.json.Decoder[Up] = msgspec.json.Decoder(Up)
_DOWN: msgspec.json.Decoder[Down] = msgspec.json.Decoder(Down)


def frame(message: Up | Down) -> bytes:
    """Encode one message as a JSON text."""
    return msgspec.json.encode(message)


def read_up(data: bytes | str) -> Up | None:
    """Decode what an agent said; None when this version does not understand it."""
    try:
        return _UP.decode(data)
    except msgspec.DecodeError:
        return None


def read_down(data: bytes | str) -> Down | None:
    """Decode what the server said; None when this version does not understand it."""
    try:
        return _DOWN.decode(data)
    except msgspec.DecodeError:
        return None
