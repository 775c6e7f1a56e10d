"""Which cards lie near each other."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from berth.core.topology import MOST_SETS, Topology, farthest, pick, positions, topology_of
from tests import build


def test_nothing_known_is_the_lowest_cards_and_the_farthest() -> None:
    assert topology_of((build.card(index=0), build.card(index=1))) is None
    assert pick(None, 0b1110, 2) == (0b0110, farthest(2))
    assert pick(None, 0b1110, 1) == (0b0010, 0)


def test_links_count_above_numa() -> None:
    cards = [build.card(index=n, numa=n // 2) for n in range(4)]
    cards[1] = build.card(index=1, numa=0, nvlink=("GPU-gpu-1-2", "GPU-elsewhere"))
    cards[2] = build.card(index=2, numa=1, nvlink=("GPU-gpu-1-1",))
    topology = topology_of(tuple(cards))
    assert pick(topology, 0b1111, 2)[0] == 0b0110
    assert pick(topology, 0b1101, 2)[0] == 0b1100
    assert pick(topology, 0b1111, 3)[0] in (0b0111, 0b1110)


def test_own_cards_come_first() -> None:
    assert pick(None, 0b1111, 2, own=0b1000)[0] == 0b1001
    assert pick(None, 0b1111, 1, own=0b1100)[0] == 0b0100


def test_many_cards_are_grown_not_searched() -> None:
    ring = Topology(tuple(1 << (n + 1) % 16 | 1 << (n - 1) % 16 for n in range(16)), (0,) * 16)
    mask, _ = pick(ring, (1 << 16) - 1, 8)
    assert len(list(combinations(range(16), 8))) > MOST_SETS
    at = list(positions(mask))
    assert len(at) == 8
    assert sum(b - a == 1 for a, b in pairwise(at)) >= 6


@given(st.integers(1, 255), st.integers(1, 8), st.lists(st.integers(0, 255), min_size=8, max_size=8))
def test_the_pick_is_of_the_right_size_and_available(available: int, need: int, links: list[int]) -> None:
    need = min(need, available.bit_count())
    topology = Topology(tuple(links), (0, 0, 0, 0, 1, 1, 1, None))
    mask, distance = pick(topology, available, need)
    assert mask & ~available == 0
    assert mask.bit_count() == need
    assert 0 <= distance <= farthest(need)
