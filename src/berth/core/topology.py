"""Which cards of a node lie near each other (NVLink, then NUMA), as bit masks; score and decide choose by it."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import comb

import msgspec

from berth.model.card import Card

MOST_SETS = 2000
"""Above this many sets of cards the best one is grown greedily instead of searched for."""


class Topology(msgspec.Struct, frozen=True):
    """By a card's place on its node: a mask of its NVLink peers, and its NUMA node (None: not known)."""

    links: tuple[int, ...]
    numa: tuple[int | None, ...]


def topology_of(cards: tuple[Card, ...]) -> Topology | None:
    """The topology of a node's cards, or None when nothing is known."""
    if not any(card.nvlink or card.numa is not None for card in cards):
        return None
    place = {card.uuid: 1 << at for at, card in enumerate(cards)}
    links = tuple(sum(place.get(peer, 0) for peer in set(card.nvlink)) for card in cards)
    return Topology(links, tuple(card.numa for card in cards))


def positions(mask: int) -> Iterator[int]:
    """The set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def pick(topology: Topology | None, available: int, need: int, own: int = 0) -> tuple[int, int]:
    """`need` of the available cards and how far they lie apart (0: all linked): own ones first, near ones, low ones."""
    if own:
        kept = _lowest(available & own, need)
        more, _ = pick(topology, available & ~kept, need - kept.bit_count())
        return kept | more, _distance(topology, kept | more)
    if topology is None or need < 2:
        return _lowest(available, need), farthest(need)
    return _nearest(topology, available, need)


def farthest(need: int) -> int:
    """The distance of cards of which nothing is known."""
    pairs = comb(need, 2)
    return pairs * (pairs + 1) + pairs


def _lowest(mask: int, need: int) -> int:
    found = 0
    for at in positions(mask):
        if found.bit_count() == need:
            break
        found |= 1 << at
    return found


def _distance(topology: Topology | None, chosen: int) -> int:
    """Pairs without a link count above pairs across NUMA nodes."""
    if topology is None:
        return farthest(chosen.bit_count())
    at = list(positions(chosen))
    pairs = comb(len(at), 2)
    unlinked = sum(not topology.links[a] >> b & 1 for a, b in combinations(at, 2))
    across = sum(topology.numa[a] is None or topology.numa[a] != topology.numa[b] for a, b in combinations(at, 2))
    return unlinked * (pairs + 1) + across


@lru_cache(maxsize=16384)
def _nearest(topology: Topology, available: int, need: int) -> tuple[int, int]:
    at = list(positions(available))
    if comb(len(at), need) <= MOST_SETS:
        sets = [sum(1 << one for one in chosen) for chosen in combinations(at, need)]
    else:
        sets = [_grown(topology, at, first, need) for first in at]
    distance, _, best = min((_distance(topology, mask), list(positions(mask)), mask) for mask in sets)
    return best, distance


def _grown(topology: Topology, at: list[int], first: int, need: int) -> int:
    """A set grown from one card, each time by the card that keeps it nearest."""
    chosen = 1 << first
    while chosen.bit_count() < need:
        _, following = min((_distance(topology, chosen | 1 << one), one) for one in at if not chosen >> one & 1)
        chosen |= 1 << following
    return chosen
