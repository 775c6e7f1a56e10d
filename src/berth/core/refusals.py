"""One hindrance of one node as a rule and a sentence: the lines of `berth why` below its first."""

from collections.abc import Iterator

from berth.core.constraints import Constraint
from berth.core.fit import Hindrance, Left, needed
from berth.core.reasons import TOKENS
from berth.core.shape import Shape
from berth.core.stand import Stand
from berth.core.topology import positions
from berth.model.plan import Refusal

_RULES = {Hindrance.DRAINING: "draining", Hindrance.NO_SCHEDULE: "gpu.schedule"}
"""Rules that say more than the one word by which the task waits."""


def refusal(hindrance: Hindrance, shape: Shape, stand: Stand, mask: int, left: Left) -> Iterator[Refusal]:
    """The refusals that a hindrance means: one for each rule that does not hold, else one."""
    if hindrance is Hindrance.NO_MATCH:
        yield from _no_match(shape, stand)
        return
    rule = _RULES.get(hindrance) or TOKENS[hindrance]
    yield Refusal(rule, _message(hindrance, shape, stand, mask, left))


def _message(hindrance: Hindrance, shape: Shape, stand: Stand, mask: int, left: Left) -> str:
    node = stand.node
    match hindrance:
        case Hindrance.TOO_FEW:
            return _too_few(shape, mask)
        case Hindrance.IMAGE:
            return _barred(shape, stand, mask)
        case Hindrance.TOO_SMALL:
            return f"has {_cpus(node.cpu_nano)} and {_mib(node.memory_bytes)} in all, {_asked(shape)} asked for"
        case Hindrance.BUSY:
            free = (mask & (left.free | left.own) & stand.usable).bit_count()
            return f"{free} of {mask.bit_count()} matching cards free, {needed(shape, mask)} needed"
        case Hindrance.FREE_RULE:
            return f"{_rules(shape.free_rules)} does not hold: the node has {left.free.bit_count()} free"
        case Hindrance.CPU:
            return f"{_cpus(left.cpu_nano)} not reserved yet, {_cpus(shape.cpu_nano)} asked for"
        case Hindrance.MEMORY:
            return f"{_mib(left.memory_bytes)} not reserved yet, {_mib(shape.memory_bytes)} asked for"
        case Hindrance.PORT:
            return ", ".join(f"{use.who} has port {port}" for port, use in left.ports)
        case Hindrance.FENCED | Hindrance.FOREIGN:
            return _obstacles(stand, mask)
        case Hindrance.NO_SCHEDULE:
            return "gpu.schedule is false: no new work with cards"
        case Hindrance.DRAINING:
            return f"is draining: {node.drain}" if node.drain else "is draining: the engine has it set so"
        case Hindrance.FENCED_NODE:
            return f"is fenced: {node.fence}"
        case Hindrance.SILENT:
            return "does not answer"
    return "is gone"


def _no_match(shape: Shape, stand: Stand) -> Iterator[Refusal]:
    if shape.broken:
        yield Refusal("constraint", f"a constraint cannot be read: {shape.broken}")
        return
    if shape.pinned and shape.pinned != stand.node.name:
        yield Refusal("volume", f"the task is tied to node {shape.pinned} by its volume")
        return
    if shape.wants_cards and not stand.cards:
        yield Refusal("no-match", "has no cards")
        return
    failing = stand.failing(shape)
    for rule in failing:
        yield Refusal("constraint", f"'{rule.text}' does not hold{_found(rule, stand)}")
    if not failing:
        yield Refusal("no-match", _together(shape, stand))


def _found(rule: Constraint, stand: Stand) -> str:
    if rule.key != "gpu.model":
        return ""
    models = sorted({card.model for card in stand.cards if card.model})
    return f": it has {', '.join(models)}" if models else ""


def _together(shape: Shape, stand: Stand) -> str:
    if not stand.enabled:
        return "gpu.enable is false: the node's cards are not Berth's"
    if shape.named and not shape.card_rules:
        return f"has not all of the cards {', '.join(shape.named)}"
    return "no card meets all constraints together"


def _barred(shape: Shape, stand: Stand, mask: int) -> str:
    """What the image demands that the node's cards do not meet; each demand once, with the cards that fail it."""
    failing: dict[str, list[int]] = {}
    for at, why in stand.barred(shape, mask).items():
        failing.setdefault(why, []).append(stand.cards[at].index)
    told = (f"card{'s' * (len(cards) > 1)} {', '.join(map(str, cards))}: {why}" for why, cards in failing.items())
    return "; ".join(told)


def _too_few(shape: Shape, mask: int) -> str:
    have, need = mask.bit_count(), needed(shape, mask)
    if have >= need:
        return f"{_rules(shape.free_rules)} can never hold here"
    return f"has {have} matching card{'s' * (have != 1)}, {need} needed"


def _obstacles(stand: Stand, mask: int) -> str:
    told = []
    for at in positions(mask & ~stand.usable or stand.all & ~stand.usable):
        state, reason = stand.cards[at].obstacle or ("", "")
        told.append(f"card {stand.cards[at].index} is {state} ({reason})")
    return ", ".join(told)


def _rules(rules: tuple[Constraint, ...]) -> str:
    return " and ".join(f"'{rule.text}'" for rule in rules)


def _asked(shape: Shape) -> str:
    parts = [_cpus(shape.cpu_nano)] * bool(shape.cpu_nano) + [_mib(shape.memory_bytes)] * bool(shape.memory_bytes)
    return " and ".join(parts)


def _cpus(nano: int | None) -> str:
    count = f"{max(0, nano or 0) / 1e9:g}"
    return f"{count} CPU{'s' * (count != '1')}"


def _mib(size: int | None) -> str:
    return f"{max(0, size or 0) // 2**20} MiB of memory"
