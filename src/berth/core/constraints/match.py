"""Asks a parsed constraint of a node or a card; pure, used by fit for decisions and by explain for reasons."""

import ipaddress
import re

from berth.core.constraints import facts, quantity
from berth.core.constraints.keys import NODE_LABEL, card_fact
from berth.core.constraints.language import ORDERING, Constraint
from berth.core.constraints.regex import compiled
from berth.model.card import Card
from berth.model.gpu_model import model_matches
from berth.model.node import Node
from berth.model.snapshot import NodeView

_SWARM_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]+")
_SWARM_VALUE = re.compile(r"[A-Za-z0-9:\-_\s.*()?+\[\]\\^$|/]+")
_SIGNS = {">=": (0, 1), "<=": (-1, 0), ">": (1,), "<": (-1,)}


def node_ok(constraint: Constraint, view: NodeView, free: int | None = None) -> bool:
    """True when the node meets the constraint. A card's key is met when one of the node's cards meets it.

    On a node without cards a card's key is asked of the labels. `free` replaces the number of free cards (a task
    that is placed anew may count its own).
    """
    fact, node = card_fact(constraint.key), view.node
    if fact is None:
        return holds(constraint, facts.of_node(constraint.key, node, *_numbers(constraint, view, free)))
    if not view.cards:
        return holds(constraint, facts.label(constraint.key, node))
    return any(card_ok(constraint, seen.card, node) for seen in view.cards)


def card_ok(constraint: Constraint, card: Card, node: Node) -> bool:
    """True when the card meets the constraint; a constraint on the node alone is met by every card."""
    fact = card_fact(constraint.key)
    return fact is None or holds(constraint, facts.of_card(fact, card, node))


def holds(constraint: Constraint, found: facts.Found) -> bool:
    """True when what was found under the key meets the constraint; `!=`, `!~` and `not in` hold for a missing one."""
    match constraint.op:
        case "exists":
            return bool(found)
        case "not exists":
            return not found
        case "==" | "in":
            return _is_any(constraint, found)
        case "!=" | "not in":
            return not _is_any(constraint, found)
        case "=~":
            return _searched(constraint, found)
        case "!~":
            return not _searched(constraint, found)
    return _ordered(constraint, found)


def is_swarm_only(constraint: Constraint) -> bool:
    """True when Swarm itself understands it and no label that Berth writes is asked for: it may reach the engine."""
    key = constraint.key
    if constraint.op not in ("==", "!=") or key.startswith(("gpu.", f"{NODE_LABEL}gpu.")):
        return False
    return bool(_SWARM_KEY.fullmatch(key) and _SWARM_VALUE.fullmatch(constraint.values[0]))


def _numbers(constraint: Constraint, view: NodeView, free: int | None) -> tuple[int, int]:
    """How many cards the node has and how many are free; counted only for a key that is about them."""
    if not constraint.key.startswith("gpu."):
        return 0, 0
    return sum(not seen.card.lost for seen in view.cards), view.free_cards if free is None else free


def _is_any(constraint: Constraint, found: facts.Found) -> bool:
    if constraint.key == "gpu.model":
        return any(model_matches(value, found[0], found[1:]) for value in constraint.values) if found else False
    if constraint.key == "node.ip":
        return any(_in_network(value, found) for value in constraint.values)
    if constraint.key in ("gpu.memory", "gpu.count", "gpu.free", "gpu.index", "gpu.numa"):
        return any(_same_quantity(constraint.key, value, found) for value in constraint.values)
    have = {value.casefold() for value in found}
    return any(value.casefold() in have for value in constraint.values)


def _same_quantity(key: str, value: str, found: facts.Found) -> bool:
    wanted = quantity.read(value, key)
    for text in found:
        have = quantity.read(text, key)
        if have is None or wanted is None:
            if text.casefold() == value.casefold():
                return True
        elif quantity.compare(have, wanted, key) == 0:
            return True
    return False


def _in_network(value: str, found: facts.Found) -> bool:
    network = ipaddress.ip_network(value, strict=False)
    for text in found:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        if address in network:
            return True
    return False


def _searched(constraint: Constraint, found: facts.Found) -> bool:
    pattern = compiled(constraint.values[0])
    return any(pattern.search(text) is not None for text in found)


def _ordered(constraint: Constraint, found: facts.Found) -> bool:
    assert constraint.op in ORDERING
    wanted = quantity.read(constraint.values[0], constraint.key)
    signs = _SIGNS[constraint.op]
    for text in found:
        have = quantity.read(text, constraint.key)
        if have is not None and wanted is not None and quantity.compare(have, wanted, constraint.key) in signs:
            return True
    return False
