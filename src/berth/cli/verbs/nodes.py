"""`berth nodes`: the nodes, their states, and how many of their cards are free."""

from collections.abc import Sequence
from typing import Any

from berth.cli.listing import Listing, show_list
from berth.cli.table import Column
from berth.cli.verb import Session, Verb, no_arguments


def _row(node: dict[str, Any]) -> Sequence[str]:
    return (
        node["name"],
        node["state"],
        str(node["free"]),
        str(node["cards"]),
        node["engine"],
        _agent(node),
        "; ".join(part for part in (node["reason"], node["flag"], *node["withheld"]) if part),
    )


def _agent(node: dict[str, Any]) -> str:
    if not node["agent"]:
        return "up (no cards)" if node["agent_up"] else "no agent"
    return str(node["agent"]) if node["agent_up"] else f"{node['agent']} (silent)"


LISTING = Listing(
    (
        Column("NODE"),
        Column("STATE", state=True),
        Column("FREE", right=True),
        Column("CARDS", right=True),
        Column("ENGINE"),
        Column("AGENT"),
        Column("NOTE", shrink=True),
    ),
    _row,
    "no nodes are known yet",
)


def _nodes(session: Session) -> int:
    return show_list(session, LISTING, lambda: session.client.items("/v1/nodes"))


NODES = Verb("berth nodes", no_arguments, _nodes, about="FREE counts wholly free cards.", watch=True)
