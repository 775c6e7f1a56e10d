"""`berth gpus`: what can be had, by model."""

from collections.abc import Sequence
from typing import Any

from berth.cli.listing import Listing, show_list
from berth.cli.table import Column
from berth.cli.verb import Session, Verb, no_arguments
from berth.cli.words import mib


def _row(model: dict[str, Any]) -> Sequence[str]:
    figures = (str(model[key]) for key in ("free", "used", "total", "waiting", "nodes"))
    return (model["model"], mib(model["memory_mib"]), *figures)


LISTING = Listing(
    (
        Column("MODEL"),
        Column("MEMORY", right=True),
        Column("FREE", right=True),
        Column("USED", right=True),
        Column("TOTAL", right=True),
        Column("WAITING", right=True),
        Column("NODES", right=True),
    ),
    _row,
    "no cards are known: join a node with 'berth agent', or label one (gpu.enable=true gpu.model=M gpu.count=N)",
)


def _gpus(session: Session) -> int:
    return show_list(session, LISTING, lambda: session.client.items("/v1/gpus"))


GPUS = Verb("berth gpus", no_arguments, _gpus, about="WAITING counts the cards that waiting tasks ask for.", watch=True)
