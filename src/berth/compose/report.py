"""What is wrong and what is only worth saying, collected through a whole file and thrown in one go at its end."""

from berth.compose.text import Place
from berth.model.errors import Problem, in_order, settle

MOST_PROBLEMS = 100
"""More of one file help nobody."""
_MOST_NOTED = 2 * MOST_PROBLEMS
_UNREAD = ("variable-required", "bad-template")
"""Where a text could not be completed, what else seems wrong with it says nothing."""


class Report:
    """`wrong` is bad input (exit 2), `refuse` is what nobody may have (exit 4), `warn` is for the person to read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.refusals: list[Problem] = []
        self.warnings: list[Problem] = []

    def wrong(self, at: Place | None, code: str, message: str, hint: str = "", field: str = "") -> None:
        """Note bad input; the place is None where the input has no lines."""
        if not self.full:
            self.problems.append(_problem(at, code, message, hint, field))

    def refuse(self, at: Place | None, code: str, message: str, hint: str = "", field: str = "") -> None:
        """Note something that would give cards or the host past the ledger."""
        if len(self.refusals) < _MOST_NOTED:
            self.refusals.append(_problem(at, code, message, hint, field))

    def warn(self, at: Place | None, code: str, message: str, hint: str = "", field: str = "") -> None:
        """Note something that the person should know."""
        if len(self.warnings) < _MOST_NOTED:
            self.warnings.append(_problem(at, code, message, hint, field))

    @property
    def full(self) -> bool:
        """True when more that is wrong is not noted any more, so that nobody need look for it."""
        return len(self.problems) >= _MOST_NOTED

    def finish(self) -> tuple[Problem, ...]:
        """The warnings, each once. Raises BadInput (or Refused, where that is all) with everything that is wrong.

        All are in the order of their lines.
        """
        settle(self.told(self.problems), self.told(self.refusals))
        return self.told(self.warnings)

    def told(self, found: list[Problem]) -> tuple[Problem, ...]:
        """These problems, each once, in the order of their lines; not what a text that could not be read caused."""
        unread = {_place(one): one for one in self.problems if one.code in _UNREAD}
        kept = (one for one in dict.fromkeys(found) if unread.get(_place(one), one).code == one.code)
        return in_order(kept)[:MOST_PROBLEMS]


def _problem(at: Place | None, code: str, message: str, hint: str, field: str) -> Problem:
    if at is None:
        return Problem(code=code, message=message, hint=hint, field=field)
    return at.problem(code, message, hint, field)


def _place(one: Problem) -> tuple[str, int, int]:
    return one.file, one.line, one.column
