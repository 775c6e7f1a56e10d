"""Which of the nodes that fit is the best one: a tuple of integers, the smallest wins; a policy names the function."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Spot(NamedTuple):
    """What a score may look at: one node that fits. `left` counts its whole free cards after placing.

    `apart` is the distance between the chosen cards (0: all linked), `load` the used thousandths of CPU or memory,
    whichever is more, `tasks` how many tasks are placed there and `busy` how many of its cards are in use.
    """

    wants_cards: bool
    left: int
    apart: int
    has_cards: bool
    load: int
    tasks: int
    busy: int


Score: TypeAlias = Callable[[Spot], tuple[int, ...]]


def best_fit(spot: Spot) -> tuple[int, ...]:
    """Fewest cards left over, then the nearest cards; without cards: nodes without cards, then the least loaded."""
    if spot.wants_cards:
        return (spot.left, spot.apart)
    return (int(spot.has_cards), spot.load, spot.tasks, spot.busy)
