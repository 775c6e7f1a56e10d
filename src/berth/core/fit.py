"""Whether a node can take a shape, and if not, by which rules: the one source of decide's, explain's and admit's words.

The rules come in three stages. MATCH: this node could never take it. STATE: it could, but not as it stands (drained,
silent, cards fenced). NOW: it could, once what runs has ended.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from berth.core.constraints import node_ok
from berth.core.hostports import Blocking
from berth.core.shape import Shape
from berth.core.stand import NO_NODE, Stand
from berth.model.snapshot import Candidate, NodeView
from berth.model.spec import Request


class Hindrance(IntEnum):
    """Why a node cannot take a shape; the higher, the nearer it is to taking it."""

    NO_MATCH = 1
    TOO_FEW = 2
    IMAGE = 3
    TOO_SMALL = 4
    GONE = 5
    SILENT = 6
    FENCED_NODE = 7
    DRAINING = 8
    NO_SCHEDULE = 9
    FENCED = 10
    FOREIGN = 11
    BUSY = 12
    FREE_RULE = 13
    CPU = 14
    MEMORY = 15
    PORT = 16


LAST_OF_MATCH, LAST_OF_STATE = Hindrance.TOO_SMALL, Hindrance.FOREIGN
_STATES = {
    "gone": Hindrance.GONE,
    "silent": Hindrance.SILENT,
    "fenced": Hindrance.FENCED_NODE,
    "draining": Hindrance.DRAINING,
}


class Left(NamedTuple):
    """What is left of one node at one moment of a pass: masks of free cards and of the task's own, CPU, memory.

    `cpu_nano` and `memory_bytes` are None where they are no limit. `ports` are those that the shape needs and others
    have.
    """

    free: int
    own: int
    cpu_nano: int | None
    memory_bytes: int | None
    ports: Blocking = ()


def hindrances(shape: Shape, stand: Stand, mask: int, left: Left) -> Iterator[Hindrance]:
    """All that stands against the node, in the order of the stages; `mask` are the cards that match.

    A node that does not match at all has that one hindrance: of the others nothing could be said.
    """
    yield from _match(shape, stand, mask)
    if mask == NO_NODE or (shape.wants_cards and not mask):
        return
    yield from _state(shape, stand, mask)
    yield from _now(shape, mask, left, stand)


def needed(shape: Shape, mask: int) -> int:
    """How many cards of this node the shape takes; `mask` are the cards that match."""
    return max(1, mask.bit_count()) if shape.every else shape.cards


def could_ever(shape: Shape, stand: Stand, mask: int) -> bool:
    """True when only what runs now stands between the node and the shape."""
    for _ in _match(shape, stand, mask):
        return False
    for _ in _state(shape, stand, mask):
        return False
    return True


def takes_new(shape: Shape, stand: Stand, mask: int) -> bool:
    """True when the node fits the shape and takes new work, whether or not it has room now."""
    fits = not any(True for _ in _match(shape, stand, mask))
    return fits and stand.ready and (stand.schedule or not shape.wants_cards)


def claims(shape: Shape, stand: Stand) -> bool:
    """True when the rules on `gpu.free` hold on the node once all of it is free.

    A rule that wants the node partly used (`gpu.free < 2`) may never hold by waiting, so it must not keep others off.
    """
    return not shape.free_rules or _free_ok(shape, stand, stand.usable.bit_count())


def own_mask(candidate: Candidate, stand: Stand) -> int:
    """The cards of this node that the candidate holds already."""
    if candidate.home != stand.node.name:
        return 0
    return sum(1 << at for at, card in enumerate(stand.cards) if card.uuid in candidate.owns)


def _match(shape: Shape, stand: Stand, mask: int) -> Iterator[Hindrance]:
    if mask == NO_NODE or (shape.wants_cards and not mask):
        yield Hindrance.IMAGE if stand.barred(shape, mask) else Hindrance.NO_MATCH
        return
    if not _enough(shape, stand, mask, stand.all):
        yield Hindrance.IMAGE if stand.barred(shape, mask) else Hindrance.TOO_FEW
    node = stand.node
    if (0 < node.cpu_nano < shape.cpu_nano) or (0 < node.memory_bytes < shape.memory_bytes):
        yield Hindrance.TOO_SMALL


def _state(shape: Shape, stand: Stand, mask: int) -> Iterator[Hindrance]:
    if not stand.ready:
        yield _STATES[stand.node.state]
    if not shape.wants_cards:
        return
    if not stand.schedule:
        yield Hindrance.NO_SCHEDULE
    if _enough(shape, stand, mask, stand.all) and not _enough(shape, stand, mask, stand.usable):
        well = _enough(shape, stand, mask, stand.usable | stand.foreign)
        yield Hindrance.FOREIGN if well else Hindrance.FENCED


def _now(shape: Shape, mask: int, left: Left, stand: Stand) -> Iterator[Hindrance]:
    free = left.free | (left.own & stand.usable)
    if shape.wants_cards and (mask & free).bit_count() < needed(shape, mask):
        yield Hindrance.BUSY
    if shape.free_rules and not _free_ok(shape, stand, free.bit_count()):
        yield Hindrance.FREE_RULE
    if left.cpu_nano is not None and left.cpu_nano < shape.cpu_nano:
        yield Hindrance.CPU
    if left.memory_bytes is not None and left.memory_bytes < shape.memory_bytes:
        yield Hindrance.MEMORY
    if left.ports:
        yield Hindrance.PORT


def _free_ok(shape: Shape, stand: Stand, free: int) -> bool:
    return all(node_ok(rule, stand.view, free) for rule in shape.free_rules)


def _enough(shape: Shape, stand: Stand, mask: int, cards: int) -> bool:
    """True when these cards of the node suffice, and some number of free ones meets all rules on `gpu.free`."""
    need = needed(shape, mask)
    if (mask & cards).bit_count() < need:
        return False
    if not shape.free_rules:
        return True
    return any(_free_ok(shape, stand, free) for free in range(need, cards.bit_count() + 1))


def too_many(request: Request, nodes: Sequence[NodeView]) -> str | None:
    """A sentence when the count is above what any known node has, whatever its model or state; else None."""
    need = len(request.named) or request.gpus
    most = max(nodes, key=lambda view: len(view.cards), default=None)
    if most is not None and need <= len(most.cards):
        return None
    if need == 0:
        return None
    asked = f"{need} card{'s' * (need > 1)} of one node {'are' if need > 1 else 'is'} asked for"
    if most is None or not most.cards:
        return f"{asked}, but no known node has a card"
    has = f"{len(most.cards)} card{'s' * (len(most.cards) > 1)}"
    return f"{asked}, but the node with the most cards, {most.node.name}, has {has}"
