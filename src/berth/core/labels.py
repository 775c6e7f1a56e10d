"""The `gpu.*` labels of a node as the ledger and the cards dictate them, and whom a write of them would kill."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from berth.model.node import Node
from berth.model.seen import Other
from berth.model.snapshot import NodeView

OUTPUT = ("gpu.vendor", "gpu.model", "gpu.driver", "gpu.cuda", "gpu.count", "gpu.free", "gpu.memory")
"""Labels that Berth writes; `gpu.enable`, `gpu.schedule` and the declarations of a hand-labelled node are input."""


class LabelWrite(msgspec.Struct, frozen=True, kw_only=True):
    """What to change on one node: labels to put, labels to drop, and which of them undo an edit by hand."""

    put: dict[str, str]
    drop: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()


def wanted_labels(view: NodeView) -> dict[str, str]:
    """The labels of a node with cards; a mixed node joins its models by `+` and tells its smallest memory (MiB)."""
    cards = [seen.card for seen in view.cards if not seen.card.lost]
    if not cards:
        return {}
    labels = {
        "gpu.vendor": "+".join(_distinct(card.vendor for card in cards)),
        "gpu.model": "+".join(_distinct(card.model for card in cards)),
        "gpu.driver": "+".join(_distinct(card.driver for card in cards)),
        "gpu.cuda": "+".join(_distinct(card.cuda for card in cards)),
        "gpu.count": str(len(cards)),
        "gpu.free": str(view.free_cards),
        "gpu.memory": str(min(card.memory_mib for card in cards) or ""),
    }
    return {key: value for key, value in labels.items() if value}


def label_write(node: Node, wanted: Mapping[str, str], sent: Mapping[str, str]) -> LabelWrite | None:
    """The write that brings the node's labels to `wanted`, or None. `sent` is what Berth itself sent last, which a
    look may show before it is recorded: only a third value is somebody's edit.
    """
    put = {key: value for key, value in wanted.items() if node.labels.get(key) != value}
    drop = tuple(key for key in node.written if key not in wanted and key in node.labels)
    if not put and not drop:
        return None
    edited = tuple(
        key for key in put if key in node.written and node.labels.get(key) not in (node.written[key], sent.get(key))
    )
    return LabelWrite(put=put, drop=drop, repairs=edited)


def leaving(node: Node) -> LabelWrite | None:
    """The write when the node is Berth's no more: what Berth wrote goes, what was there by hand comes back."""
    put = {key: value for key, value in node.before.items() if node.labels.get(key) != value}
    drop = tuple(key for key in node.written if key not in node.before and key in node.labels)
    return LabelWrite(put=put, drop=drop) if put or drop else None


def would_kill(node: Node, write: LabelWrite, others: Iterable[Other]) -> tuple[str, ...]:
    """Sentences about services of others that run on the node and whose constraints would stop matching.

    Swarm kills a running task whose constraints no longer match its node (SwarmKit's constraint enforcer).
    """
    after = {key: value for key, value in {**node.labels, **write.put}.items() if key not in write.drop}
    found = []
    for other in others:
        if node.engine_id not in other.nodes:
            continue
        for constraint in other.constraints:
            if _matches(constraint, node.labels) and not _matches(constraint, after):
                found.append(f"{other.kind} {other.name} on {node.name} asks for '{constraint}'")
    return tuple(found)


def _matches(constraint: str, labels: Mapping[str, str]) -> bool:
    """Swarm's own two operators on node labels; anything else does not depend on labels, so it matches."""
    for operator in ("!=", "=="):
        key, found, value = constraint.partition(operator)
        if found and key.strip().lower().startswith("node.labels."):
            have = labels.get(key.strip()[len("node.labels.") :], "")
            return (have.lower() == value.strip().lower()) is (operator == "==")
    return True


def _distinct(values: Iterable[str]) -> Sequence[str]:
    return list(dict.fromkeys(value for value in values if value))
