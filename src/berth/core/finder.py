"""Finds the best node for one shape during a pass: a heap that is mended only where the board changed (lazy)."""

from heapq import heapify, heappop, heappush

from berth.core.board import Board
from berth.core.fit import Left, hindrances, needed
from berth.core.score import Score, Spot
from berth.core.shape import Shape
from berth.core.topology import pick
from berth.model.snapshot import Candidate

Rated = tuple[tuple[int, ...], int]
"""A node's score and its number: the smaller tuple is the better node, ties go by the nodes' order."""


class Finder:
    """The nodes that fit one shape, best first."""

    def __init__(self, shape: Shape, board: Board, score: Score) -> None:
        self.shape, self._board, self._score = shape, board, score
        self._masks = [board.mask(at, shape) for at in range(len(board.stands))]
        self._key, booked, self._spread = (shape.key, score), set(board.log), self._wide()
        fresh = set(range(len(self._masks))) if self._spread else booked
        rated = (self._fresh(at) if at in fresh else self._kept(at) for at in self._possible())
        self._heap: list[Rated] = [one for one in rated if one is not None]
        self._current = {at: score for score, at in self._heap}
        self._seen = len(board.log)
        heapify(self._heap)

    def best(self) -> int | None:
        """The number of the best node that fits now, or None."""
        self._mend()
        while self._heap:
            score, at = self._heap[0]
            if self._current.get(at) == score:
                return at
            heappop(self._heap)
        return None

    def elsewhere(self, candidate: Candidate) -> int | None:
        """The best node that fits now beside the candidate's present one (where its own cards count, see `home`)."""
        self._mend()
        at_home = self._board.number(candidate.home)
        if self.shape.ingress:  # its own port, which it has on every node, does not stand against it
            lefts = ((at, self._board.left(at, self.shape, candidate)) for at in self._possible())
            rated = (self._rate(at, left) for at, left in lefts)
        else:
            rated = ((score, at) for at, score in self._current.items())
        return min((one for one in rated if one is not None and one[1] != at_home), default=(None, None))[1]

    def home(self, candidate: Candidate, only_own: bool) -> int | None:
        """The candidate's present node if it fits there counting its own cards, or with nothing but those."""
        at = self._board.number(candidate.home)
        if at is None:
            return None
        left = self._board.left(at, self.shape, candidate)
        return None if self._rate(at, left._replace(free=0) if only_own else left) is None else at

    def cards(self, at: int, candidate: Candidate) -> int:
        """The cards to give on that node, as a mask."""
        left, stand = self._board.left(at, self.shape, candidate), self._board.stands[at]
        if not self.shape.wants_cards:
            return 0
        available = self._masks[at] & (left.free | left.own & stand.usable)
        return pick(stand.topology, available, needed(self.shape, self._masks[at]), left.own)[0]

    def _possible(self) -> list[int]:
        if self.shape.wants_cards:
            return [at for at, mask in enumerate(self._masks) if mask > 0]
        return [at for at, mask in enumerate(self._masks) if mask == 0]

    def _mend(self) -> None:
        changed, self._seen = set(self._board.log[self._seen :]), len(self._board.log)
        if self._spread != self._wide():
            changed, self._spread = set(self._possible()), self._wide()
        for at in changed:
            rated = self._fresh(at)
            if rated is None:
                self._current.pop(at, None)
            elif self._current.get(at) != rated[0]:
                self._current[at] = rated[0]
                heappush(self._heap, rated)

    def _kept(self, at: int) -> Rated | None:
        """A node on which this pass booked nothing is rated once for as long as its view is the same."""
        stand, view = self._board.stands[at], self._board.views[at]
        kept = stand.rates.get(self._key)
        if kept is None or kept[0] is not view:
            rated = self._fresh(at)
            kept = view, None if rated is None else rated[0]
            stand.keep_rate(self._key, *kept)
        return None if kept[1] is None else (kept[1], at)

    def _wide(self) -> int:
        """A number that changes when ports were given in this pass that matter on every node for this shape."""
        if not self.shape.publishes:
            return 0
        ports = self._board.ports
        return 1 + ports.given if self.shape.ingress else ports.wide

    def _fresh(self, at: int) -> Rated | None:
        return self._rate(at, self._board.left(at, self.shape))

    def _rate(self, at: int, left: Left) -> Rated | None:
        stand, mask = self._board.stands[at], self._masks[at]
        for _ in hindrances(self.shape, stand, mask, left):
            return None
        free = left.free | (left.own & stand.usable)
        need, apart = needed(self.shape, mask), 0
        if need > 1 and self.shape.wants_cards:
            apart = pick(stand.topology, mask & free, need)[1]
        spot = Spot(
            wants_cards=self.shape.wants_cards,
            left=free.bit_count() - need,
            apart=apart,
            has_cards=bool(stand.cards),
            load=self._board.load(at),
            tasks=self._board.tasks[at],
            busy=len(stand.cards) - free.bit_count(),
        )
        return self._score(spot), at
