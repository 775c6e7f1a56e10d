"""Who is served before whom: the orders that a policy may name, and the policy itself; read by decide."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from berth.core.score import Score
from berth.model.snapshot import Candidate

Order: TypeAlias = Callable[[Iterable[Candidate]], list[Candidate]]


class Policy(msgspec.Struct, frozen=True):
    """How to decide: `order` says who is served first, `score` which node is the best (the smallest tuple)."""

    name: str
    order: Order
    score: Score


def first_come(waiting: Iterable[Candidate]) -> list[Candidate]:
    """By rank: priority, time of the submit, number of the submit, slot."""
    return sorted(waiting, key=_rank)


def _rank(candidate: Candidate) -> tuple[tuple[int, float, int, int], str]:
    return candidate.rank, candidate.task
