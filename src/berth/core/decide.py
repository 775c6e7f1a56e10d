"""The decision: which waiting task gets which cards of which node now, and why each other one waits. Pure.

`place` in control commits what it says; `explain` runs the same pass. Strict first come: a task may pass an earlier
waiting one only if the two can share no card.
"""

from collections.abc import Iterator

import msgspec

from berth.core.board import Board
from berth.core.finder import Finder
from berth.core.order import Policy
from berth.core.reasons import Cause, behind, blocked, cause_of, told
from berth.core.shape import Shape, ShapeKey, shape_of
from berth.core.stand import Memo
from berth.core.topology import positions
from berth.model.card import WHOLE, Share
from berth.model.plan import Place, Plan, Wait
from berth.model.snapshot import Candidate, Snapshot

__all__ = ["Answer", "Memo", "Pass", "decide"]

Answer = tuple[Candidate, Place | Cause]


def decide(snapshot: Snapshot, policy: Policy, memo: Memo | None = None) -> Plan:
    """One pass over all that waits. `memo` keeps what depends only on facts of nodes; the plan is the same without."""
    # 1. order: who is served before whom
    ordered = policy.order(snapshot.waiting)
    # 2. fit and 3. score: each in turn gets the best node that fits, unless an earlier one waits for the same cards
    outcomes = list(Pass(snapshot, policy, memo).serve(ordered))
    # 4. explain: everything else waits, for a reason that a person can read
    places = tuple(outcome for _, outcome in outcomes if isinstance(outcome, Place))
    causes = [(one.task, outcome) for one, outcome in outcomes if isinstance(outcome, Cause)]
    waits = tuple(
        Wait(task, cause.reason, cause.message, position, cause.never)
        for position, (task, cause) in enumerate(causes, start=1)
    )
    return Plan(places, waits)


class _Line(msgspec.Struct):
    """How one shape fares in a pass: its finder, what it could ever get and what it keeps others off, why it waits."""

    shape: Shape
    finder: Finder | None = None
    reach: tuple[int, int] | None = None
    cause: Cause | None = None
    queued: bool = False
    checked: int = 0


class Pass:
    """One pass. `board` is what is left so far; `ahead` are those that wait and the cards that they could get."""

    def __init__(self, snapshot: Snapshot, policy: Policy, memo: Memo | None = None) -> None:
        self.board = Board(snapshot, memo or Memo())
        self._policy = policy
        self._lines: dict[ShapeKey, _Line] = {}
        self._by_request: dict[int, _Line] = {}
        self._ahead: list[tuple[int, Candidate, Cause]] = []

    def serve(self, ordered: list[Candidate]) -> Iterator[Answer]:
        """Serve each in turn; lazy, so that whoever reads it may stop and look at the board."""
        for candidate in ordered:
            yield candidate, self._serve(candidate)

    def _serve(self, candidate: Candidate) -> Place | Cause:
        if candidate.blocked:
            return blocked(candidate)
        line = self.line(candidate)
        earlier = self.earlier(line)
        if candidate.home:
            at = self._home(line, candidate, only_own=earlier is not None)
            if at is not None:
                return self._place(line, candidate, at)
        if earlier is not None:
            self._queue_up(line, candidate, earlier)
            return told(candidate, earlier)
        at = self.finder(line).elsewhere(candidate) if candidate.home else self.finder(line).best()
        if at is not None:
            return self._place(line, candidate, at)
        return self._wait(line, candidate)

    def line(self, candidate: Candidate) -> _Line:
        """What is known of the candidate's shape."""
        line = self._by_request.get(id(candidate.request))
        if line is None:
            shape = shape_of(candidate.request)
            line = self._lines.setdefault(shape.key, _Line(shape))
            self._by_request[id(candidate.request)] = line
        return line

    def finder(self, line: _Line) -> Finder:
        """The finder of the shape."""
        if line.finder is None:
            line.finder = Finder(line.shape, self.board, self._policy.score)
        return line.finder

    def earlier(self, line: _Line) -> Cause | None:
        """Why the shape must let an earlier one go first, or why it waits already; None when it may be placed."""
        if line.cause is not None or not self._ahead[line.checked :]:
            return line.cause
        reach, _ = self._reach(line)
        for cards, first, cause in self._ahead[line.checked :]:
            if cards & reach:
                line.cause = behind(first, cause)
                break
        line.checked = len(self._ahead)
        return line.cause

    def _home(self, line: _Line, candidate: Candidate, only_own: bool) -> int | None:
        """The node where a changed task is now. With nothing but its own cards it takes nothing from anybody."""
        return self.finder(line).home(candidate, only_own)

    def _place(self, line: _Line, candidate: Candidate, at: int) -> Place:
        mask = self.finder(line).cards(at, candidate)
        stand = self.board.stands[at]
        self.board.book(at, line.shape, mask, candidate)
        cards = [stand.cards[place] for place in positions(mask)]
        shares = tuple(Share(card.uuid, WHOLE, card.memory_mib) for card in cards)
        return Place(candidate.task, stand.node.name, shares)

    def _wait(self, line: _Line, candidate: Candidate) -> Cause:
        cause = cause_of(candidate, line.shape, self.board)
        self._queue_up(line, candidate, cause)
        line.cause = behind(candidate, cause) if self._claim(line, candidate) else cause
        return cause

    def _queue_up(self, line: _Line, candidate: Candidate, cause: Cause) -> None:
        """From now on nobody passes this one on cards that it could get. One of a shape speaks for all after it."""
        claim = self._claim(line, candidate)
        if claim and not line.queued:
            line.queued = True
            self._ahead.append((claim, candidate, cause))

    def _claim(self, line: _Line, candidate: Candidate) -> int:
        """The cards that it keeps others off."""
        return self.board.claim(line.shape, candidate) if line.shape.publishes else self._reach(line)[1]

    def _reach(self, line: _Line) -> tuple[int, int]:
        if line.reach is None:
            line.reach = self.board.reach(line.shape)
        return line.reach
