"""`berth cards`: every card, where it is, and what holds it."""

from collections.abc import Sequence
from typing import Any

from berth.cli.listing import Listing, show_list
from berth.cli.table import Column
from berth.cli.verb import Session, Verb, no_arguments
from berth.cli.words import mib


def _row(card: dict[str, Any]) -> Sequence[str]:
    return (
        card["node"],
        str(card["index"]),
        card["model"],
        mib(card.get("memory_mib")),
        card["state"],
        _holder(card),
        card["uuid"],
    )


def _holder(card: dict[str, Any]) -> str:
    """The job that has the card, or why nobody gets it."""
    return str(card["job_name"] or card["job"] or card["reason"])


LISTING = Listing(
    (
        Column("NODE"),
        Column("INDEX", right=True),
        Column("MODEL"),
        Column("MEMORY", right=True),
        Column("STATE", state=True),
        Column("HELD BY", shrink=True),
        Column("UUID"),
    ),
    _row,
    "no cards are known: join a node with 'berth agent', or label one (gpu.enable=true gpu.model=M gpu.count=N)",
)
CARDS = Verb(
    "berth cards",
    no_arguments,
    lambda session: _cards(session),
    about="A card's identity is its UUID; the index is only shown beside it.",
    watch=True,
)


def _cards(session: Session) -> int:
    return show_list(session, LISTING, lambda: session.client.items("/v1/cards"))
