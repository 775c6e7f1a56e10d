"""The little language of --simulate: how many cards of which model on which node; the simulated vendor makes them."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from berth.model.errors import BadInput, Problem
from berth.model.gpu_model import normalise

EVERY_NODE = "*"
EXAMPLE = "node1=A100-SXM4-80GB:4,node2=Tesla-V100-SXM2-16GB:2+A10-24GB:1"
MOST_CARDS = 1024
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*|\*")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]*")


class SimulatedNode(msgspec.Struct, frozen=True):
    """One part of a SPEC: a node's name (`*`: every node not named) and the model of each of its cards, by index."""

    node: str
    models: tuple[str, ...]


def parse_simulate(text: str) -> tuple[SimulatedNode, ...]:
    """Read a SPEC. Raises BadInput with the column of the first part that is not understood."""
    found: dict[str, SimulatedNode] = {}
    column = 1
    for part in text.split(","):
        entry = _node(text, part, column)
        if entry.node in found:
            raise _wrong(text, column, f"the node {entry.node} is named twice")
        found[entry.node] = entry
        column += len(part) + 1
    return tuple(found.values())


def models_of(spec: Sequence[SimulatedNode], node: str) -> tuple[str, ...]:
    """The models of a node's cards: from its own part, else from `*`, else none."""
    for name in (node, EVERY_NODE):
        for entry in spec:
            if entry.node == name:
                return entry.models
    return ()


def check_names(named: Iterable[str], existing: Iterable[str], option: str = "--simulate") -> None:
    """Raise BadInput when a name (other than `*`) is none of the engine's nodes; the message lists those."""
    known = sorted(existing)
    for name in named:
        if name != EVERY_NODE and name not in known:
            message = f"{option} names the node {name}, which the engine does not have."
            raise BadInput.of(
                "simulate-unknown-node", message, f"Its nodes are: {', '.join(known)}; * means every node."
            )


def _node(text: str, part: str, column: int) -> SimulatedNode:
    name, equals, cards = part.partition("=")
    if not equals:
        raise _wrong(
            text,
            column,
            f"{part.strip()!r} has no = between the node and its cards" if part.strip() else "a part is empty",
        )
    if not _NODE.fullmatch(name.strip()):
        raise _wrong(text, column, f"{name.strip()!r} is not a node's name")
    models: list[str] = []
    column += len(name) + 1
    for group in cards.split("+"):
        models += _group(text, group, column)
        column += len(group) + 1
    return SimulatedNode(name.strip(), tuple(models))


def _group(text: str, group: str, column: int) -> list[str]:
    model, _, number = group.strip().rpartition(":")
    if not _MODEL.fullmatch(model.strip()) or not normalise(model):
        raise _wrong(text, column, f"{group.strip()!r} is not MODEL:COUNT")
    if not (number.strip().isascii() and number.strip().isdigit() and int(number) <= MOST_CARDS):
        raise _wrong(text, column, f"{number.strip()!r} is not a number of cards from 0 to {MOST_CARDS}")
    return [normalise(model)] * int(number)


def _wrong(text: str, column: int, what: str) -> BadInput:
    return BadInput(
        Problem(
            code="simulate-spec",
            message=f"--simulate: {what}.",
            hint=f"Write it like this: {EXAMPLE}",
            field="--simulate",
            line=1,
            column=column,
            excerpt=text,
        )
    )
