"""What a constraint's key finds: facts of a card, else the node's labels; facts of a node from its view."""

from berth.core.constraints.keys import ENGINE_LABEL, NODE_LABEL
from berth.model.card import Card
from berth.model.gpu_model import normalise
from berth.model.node import Node

Found = tuple[str, ...]
"""Every value by which something is known; empty when there is none."""


def of_card(fact: str, card: Card, node: Node) -> Found:
    """Values of a card's fact; where the vendor does not know it (a hand-labelled card) the node's label decides."""
    match fact:
        case "model":
            found: Found = tuple(name for name in (card.model, *card.aliases) if name)
        case "memory":
            found = (str(card.memory_mib),) if card.memory_mib else ()
        case "index":
            found = (str(card.index),)
        case "numa":
            found = () if card.numa is None else (str(card.numa),)
        case "mig":
            found = ("true" if card.mig else "false",)
        case "driver" | "cuda" | "vendor" | "uuid" | "pci":
            value: str = getattr(card, fact)
            found = (value,) if value else ()
        case _:
            raise KeyError(fact)
    return found or label(f"gpu.{fact}", node)


def of_node(key: str, node: Node, cards: int, free: int) -> Found:
    """Values of a key that is asked of the node; `cards` and `free` are the ledger's numbers."""
    match key:
        case "node.id":
            return _known(node.engine_id)
        case "node.hostname":
            return _known(node.hostname) + ((node.name,) if node.name != node.hostname else ())
        case "node.role":
            return _known(node.role)
        case "node.ip":
            return _known(node.ip)
        case "node.platform.os":
            return _known(node.os)
        case "node.platform.arch":
            return _known(node.arch)
        case "gpu.count":
            return (str(cards),) if cards else label(key, node)
        case "gpu.free":
            return (str(free),) if cards else label(key, node)
        case "gpu.enable" | "gpu.schedule":
            return label(key, node) or (("true",) if cards else ())
    if key.startswith(ENGINE_LABEL):
        return _get(node.engine_labels, key[len(ENGINE_LABEL) :])
    return label(key.removeprefix(NODE_LABEL), node)


def label(name: str, node: Node) -> Found:
    """The value of a node label; the label of a mixed node's models is read as the models that it joins."""
    found = _get(node.all_labels, name)
    if name == "gpu.model" and found:
        return (*found, *(part for part in found[0].split("+") if normalise(part) and part != found[0]))
    return found


def _known(value: str) -> Found:
    return (value,) if value else ()


def _get(labels: dict[str, str], name: str) -> Found:
    return (labels[name],) if name in labels else ()
