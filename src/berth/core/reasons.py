"""Why a task waits, in one token and one sentence, read off the hindrances that fit names: so it never contradicts."""

from collections.abc import Iterable

import msgspec

from berth.core.board import Board
from berth.core.fit import LAST_OF_MATCH, Hindrance, hindrances, needed
from berth.core.shape import Shape
from berth.core.stand import Stand
from berth.model.plan import WaitReason
from berth.model.snapshot import Candidate

MOST_NAMED = 3
TOKENS: dict[Hindrance, WaitReason] = {
    Hindrance.NO_MATCH: "no-match",
    Hindrance.TOO_FEW: "capacity",
    Hindrance.IMAGE: "image",
    Hindrance.TOO_SMALL: "capacity",
    Hindrance.GONE: "node-silent",
    Hindrance.SILENT: "node-silent",
    Hindrance.FENCED_NODE: "fenced",
    Hindrance.DRAINING: "fenced",
    Hindrance.NO_SCHEDULE: "fenced",
    Hindrance.FENCED: "fenced",
    Hindrance.FOREIGN: "free-cards",
    Hindrance.BUSY: "free-cards",
    Hindrance.FREE_RULE: "free-cards",
    Hindrance.CPU: "cpu",
    Hindrance.MEMORY: "memory",
    Hindrance.PORT: "port",
}


class Cause(msgspec.Struct, frozen=True):
    """Why a task waits: a token, a sentence, and whether no known node could ever take it.

    `first` is the job that is served before it, and `among_own` the sentence for other slots of that very job.
    """

    reason: WaitReason
    message: str
    never: bool = False
    first: str = ""
    among_own: str = ""


class Look(msgspec.Struct, frozen=True):
    """One node as one task sees it: the first hindrance, and its matching, well and free cards as counts."""

    at: int
    hindrance: Hindrance
    matching: int
    well: int
    free: int


def blocked(candidate: Candidate) -> Cause:
    """The cause of a task that may not be placed at all yet."""
    reason: WaitReason = candidate.blocked  # type: ignore[assignment]
    return Cause(reason, candidate.blocked_message or f"waits: {candidate.blocked}")


def behind(first: Candidate, cause: Cause) -> Cause:
    """The cause of a task that an earlier one keeps waiting."""
    does = "waits behind another one" if cause.reason == "behind" else cause.message
    text = f"an earlier job is served first: {first.name} ({first.job}) {does}"
    among_own = f"slot {first.task.rpartition('.')[2]} of {first.name} is served first: it {does}"
    return Cause("behind", text, first=first.job, among_own=among_own)


def told(candidate: Candidate, cause: Cause) -> Cause:
    """The cause in the words of this candidate: one that waits behind its own job is not told of "an earlier job"."""
    return Cause(cause.reason, cause.among_own) if cause.first == candidate.job else cause


def cause_of(candidate: Candidate, shape: Shape, board: Board) -> Cause:
    """Why no node fits now: the hindrance that is nearest to fitting, and where."""
    looks = [_look(at, candidate, shape, board) for at in range(len(board.stands))]
    nearest = max((look.hindrance for look in looks), default=Hindrance.NO_MATCH)
    never = nearest <= LAST_OF_MATCH
    there = [look for look in looks if look.hindrance == nearest]
    if nearest is Hindrance.PORT:
        return Cause("port", _port_taken(candidate, shape, board, there))
    return Cause(TOKENS[nearest], _sentence(nearest, shape, board, there), never)


def _look(at: int, candidate: Candidate, shape: Shape, board: Board) -> Look:
    stand, mask, left = board.stands[at], board.mask(at, shape), board.left(at, shape, candidate)
    first = next(hindrances(shape, stand, mask, left))
    well = max(0, mask) & stand.usable
    return Look(at, first, max(0, mask).bit_count(), well.bit_count(), (well & (left.free | left.own)).bit_count())


def _sentence(nearest: Hindrance, shape: Shape, board: Board, there: list[Look]) -> str:
    where = _nodes([board.stands[look.at] for look in there])
    match nearest:
        case Hindrance.NO_MATCH:
            return _no_match(shape, board.stands)
        case Hindrance.TOO_FEW:
            return _too_few(shape, board, there)
        case Hindrance.IMAGE:
            return f"the image cannot run on the cards of {where}: {_barred(shape, board, there[0])}"
        case Hindrance.BUSY | Hindrance.FREE_RULE | Hindrance.FOREIGN:
            return _busy(nearest, shape, board, there)
        case Hindrance.TOO_SMALL | Hindrance.CPU | Hindrance.MEMORY:
            return f"needs {wanted(shape)} with {_reserved(shape)}: {_RESOURCE[nearest]} on {where}"
    verb = "is" if len(there) == 1 else "are"
    return f"needs {wanted(shape)}, but {_STATE[nearest].format(where=where, verb=verb)}"


_RESOURCE = {
    Hindrance.TOO_SMALL: "that is more than there is",
    Hindrance.CPU: "not enough CPU is left",
    Hindrance.MEMORY: "not enough memory is left",
}
_STATE = {
    Hindrance.GONE: "{where} {verb} gone",
    Hindrance.SILENT: "{where} {verb} silent",
    Hindrance.FENCED_NODE: "{where} {verb} fenced",
    Hindrance.DRAINING: "{where} {verb} draining, which takes no new work",
    Hindrance.NO_SCHEDULE: "gpu.schedule is false on {where}, which takes no new work with cards",
    Hindrance.FENCED: "too many matching cards of {where} are fenced, quarantined or lost",
}


def wanted(shape: Shape) -> str:
    """What the shape wants, in words: `2 free Tesla-V100`, `cards 0, 1`, `a node`."""
    if shape.named:
        return f"card{'s' * (len(shape.named) > 1)} {', '.join(shape.named)}"
    models = [rule for rule in shape.card_rules if rule.key == "gpu.model" and rule.op in ("==", "in")]
    model = " or ".join(models[0].values) if len(models) == 1 else ""
    if shape.every:
        return f"every {model or 'matching card'} of one node"
    if not shape.cards:
        return "a node"
    return f"{shape.cards} free {model or ('card' if shape.cards == 1 else 'cards')}"


def _busy(nearest: Hindrance, shape: Shape, board: Board, there: list[Look]) -> str:
    best = max(there, key=lambda look: (look.free, -look.at))
    stand = board.stands[best.at]
    if shape.named:
        return _named_busy(shape, board, there)
    if nearest is Hindrance.FREE_RULE:
        rules = " and ".join(f"'{rule.text}'" for rule in shape.free_rules)
        free = board.left(best.at, shape).free.bit_count()
        return f"needs {wanted(shape)} and {rules}: {free} of {len(stand.cards)} free on node {stand.node.name}"
    foreign = ", the others are used by work that Berth did not start" if nearest is Hindrance.FOREIGN else ""
    if len(there) == 1:
        of = best.matching if foreign else best.well
        return f"needs {wanted(shape)}, {best.free} of {of} free on node {stand.node.name}{foreign}"
    free, total = sum(look.free for look in there), sum(look.matching if foreign else look.well for look in there)
    if shape.cards == 1:
        return f"needs {wanted(shape)}, {free} of {total} free on {len(there)} nodes{foreign}"
    most = f"at most {best.free} of {best.matching if foreign else best.well} (node {stand.node.name})"
    return f"needs {wanted(shape)} on one node, {most}; {free} of {total} free on {len(there)} nodes{foreign}"


def _port_taken(candidate: Candidate, shape: Shape, board: Board, there: list[Look]) -> str:
    """Who has the port that it needs, on the first few nodes."""
    found: dict[str, list[str]] = {}
    for look in there:
        port, use = board.left(look.at, shape, candidate).ports[0]
        found.setdefault(f"{use.who} has port {port}", []).append(board.stands[look.at].node.name)
    told = [f"{who} on {_named(nodes)}" for who, nodes in list(found.items())[:MOST_NAMED]]
    more = f" and {len(found) - len(told)} more have it" if len(found) > len(told) else ""
    place = f"{wanted(shape)} on a node" if shape.wants_cards else "a node"
    return f"needs {place} where its port is free: {', '.join(told)}{more}"


def _named_busy(shape: Shape, board: Board, there: list[Look]) -> str:
    """Named cards that are busy while others are free: say so, and name the way out."""
    where = _nodes([board.stands[look.at] for look in there])
    text = f"needs {wanted(shape)}, which {'is' if len(shape.named) == 1 else 'are'} in use on {where}"
    free = max(board.left(look.at, shape).free.bit_count() for look in there)
    if free < len(shape.named):
        return text
    others = f"{free} other cards are" if free > 1 else "1 other card is"
    return f"{text}, while {others} free: ask for a number instead, 'count: {len(shape.named)}'"


def _too_few(shape: Shape, board: Board, there: list[Look]) -> str:
    best = max(there, key=lambda look: (look.matching, -look.at))
    need, stand = needed(shape, board.mask(best.at, shape)), board.stands[best.at]
    if best.matching >= need:
        rules = " and ".join(f"'{rule.text}'" for rule in shape.free_rules)
        return f"needs {wanted(shape)} and {rules}, which the cards of no node can meet"
    has = f"the largest matching node, {stand.node.name}, has {best.matching}"
    return f"needs {wanted(shape).replace(' free', '')} on one node: {has}"


def _no_match(shape: Shape, stands: list[Stand]) -> str:
    if shape.broken:
        return f"a constraint cannot be read: {shape.broken}"
    if not stands:
        return "no node is known yet"
    if shape.pinned and not any(stand.node.name == shape.pinned for stand in stands):
        return f"node {shape.pinned}, which holds its volume, is not known"
    if shape.wants_cards and not any(stand.cards for stand in stands):
        return "no known node has a card"
    alone = [rule.text for rule in shape.rules if all(rule in stand.failing(shape) for stand in stands)]
    subject = "no card of a known node" if shape.wants_cards else "no known node"
    if alone:
        return f"{subject} matches {' and '.join(repr(text) for text in alone)}{_models(shape, stands, alone)}"
    if shape.named:
        return f"no known node has {wanted(shape)} as asked"
    if not shape.rules:
        return "gpu.enable is false on every node with cards"
    return f"{subject} matches all of {', '.join(repr(rule.text) for rule in shape.rules)}"


def _models(shape: Shape, stands: Iterable[Stand], alone: list[str]) -> str:
    """The models that there are, where the wanted one is the trouble."""
    if not any(rule.key == "gpu.model" and rule.text in alone for rule in shape.rules):
        return ""
    found = sorted({card.model for stand in stands for card in stand.cards if card.model})
    return f" (there {'are' if len(found) > 1 else 'is'} {', '.join(found[:6])})" if found else ""


def _barred(shape: Shape, board: Board, look: Look) -> str:
    """The first demand of the image that a card of the node does not meet."""
    return next(iter(board.stands[look.at].barred(shape, board.mask(look.at, shape)).values()))


def _reserved(shape: Shape) -> str:
    parts = []
    if shape.cpu_nano:
        count = f"{shape.cpu_nano / 1e9:g}"
        parts.append(f"{count} CPU{'s' * (count != '1')}")
    if shape.memory_bytes:
        parts.append(f"{shape.memory_bytes / 2**20:.0f} MiB of memory")
    return " and ".join(parts)


def _nodes(stands: list[Stand]) -> str:
    return _named([stand.node.name for stand in stands])


def _named(names: list[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names)} nodes"
    return f"node{'s' * (len(names) > 1)} {', '.join(names)}"
