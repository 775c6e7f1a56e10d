"""What there is and what is asked for, by model of card: the answer to "what can I get"."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from berth.api import views
from berth.control.mirror.cluster import Cluster
from berth.core.constraints import Constraint, card_ok, node_ok, parse
from berth.model.snapshot import CardView, NodeView
from berth.model.spec import Request


def models(cluster: Cluster, nodes: Sequence[NodeView]) -> list[views.Model]:
    """One row per model by name. A card counts as free only where its node takes work."""
    rows: dict[str, list[tuple[NodeView, CardView]]] = {}
    for node in nodes:
        for card in node.cards:
            rows.setdefault(card.card.model, []).append((node, card))
    asked = _asked(cluster, rows)
    return [_row(model, rows[model], asked.get(model, 0)) for model in sorted(rows)]


def _row(model: str, cards: Sequence[tuple[NodeView, CardView]], waiting: int) -> views.Model:
    return views.Model(
        model=model,
        memory_mib=min(card.card.memory_mib for _, card in cards),
        total=len(cards),
        free=sum(card.free and node.node.state == "ready" for node, card in cards),
        used=sum(bool(card.holders) for _, card in cards),
        waiting=waiting,
        nodes=len({node.node.name for node, _ in cards}),
    )


def _asked(cluster: Cluster, rows: dict[str, list[tuple[NodeView, CardView]]]) -> dict[str, int]:
    """How many cards the waiting tasks ask for, counted at every model that could serve them."""
    wanted: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    for request in _waiting(cluster):
        key = (request.constraints, request.named)
        wanted[key] = wanted.get(key, 0) + (request.gpus or len(request.named) or 1)
    found: dict[str, int] = {}
    for (constraints, _), count in wanted.items():
        rules = tuple(_parsed(text) for text in constraints)
        for model, cards in rows.items():
            if any(_could(rules, node, card) for node, card in _one_per_node(cards)):
                found[model] = found.get(model, 0) + count
    return found


def _waiting(cluster: Cluster) -> Iterable[Request]:
    for task_id in cluster.work.waiting:
        job = cluster.jobs.get(task_id.rpartition(".")[0])
        if job is not None and not job.cancelled and job.spec.request.wants_cards:
            yield job.spec.request


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Constraint:
    return parse(text)


def _one_per_node(cards: Sequence[tuple[NodeView, CardView]]) -> Iterable[tuple[NodeView, CardView]]:
    last = None
    for node, card in cards:
        if node is not last:
            last = node
            yield node, card


def _could(rules: Sequence[Constraint], node: NodeView, card: CardView) -> bool:
    """The card could serve such a task once enough of its node's cards are free."""
    return all(node_ok(rule, node, free=len(node.cards)) and card_ok(rule, card.card, node.node) for rule in rules)
