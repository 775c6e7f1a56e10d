"""What is wrong with the cards that a request names: nobody has them, or a short name means several; admit asks."""

from collections.abc import Iterator, Sequence

from berth.model.card import Card
from berth.model.errors import Problem
from berth.model.snapshot import NodeView
from berth.model.spec import Request

MOST_SHOWN = 8


def card_problems(request: Request, nodes: Sequence[NodeView]) -> Iterator[Problem]:
    """Every named card that no known node has, or whose shortened UUID means several, with what to write instead."""
    cards = [seen.card for view in nodes for seen in view.cards]
    for name in request.named:
        meant = [card for card in cards if card.is_named(name)]
        if not meant:
            yield _unknown(name, cards)
        elif name.isdecimal() or "/" in name or any(card.uuid == name for card in meant):
            continue
        elif len(meant) > 1:
            yield _ambiguous(name, meant)


def _unknown(name: str, cards: Sequence[Card]) -> Problem:
    hint = "Name a card by its index, NODE/INDEX or UUID, or ask for a number of cards instead"
    if 0 < len(cards) <= MOST_SHOWN:
        hint += "; there is " + ", ".join(f"{card.place} ({card.uuid})" for card in cards)
    message = f"no known node has a card '{name}'; 'berth cards' lists them"
    return Problem(code="unknown-card", message=message, hint=hint, field="gpus")


def _ambiguous(name: str, meant: Sequence[Card]) -> Problem:
    shown = ", ".join(f"{card.uuid} ({card.place})" for card in meant[:MOST_SHOWN])
    more = f" and {len(meant) - MOST_SHOWN} more" if len(meant) > MOST_SHOWN else ""
    message = f"'{name}' is the beginning of {len(meant)} cards: {shown}{more}"
    return Problem(code="ambiguous-card", message=message, hint=f"Write one in full: {meant[0].uuid}", field="gpus")
