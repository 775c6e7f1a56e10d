"""Gathers what several checks refuse, so that a person reads all of it in one go; admit's callers use it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from berth.model.errors import BadInput, EngineError, EngineUnknown, Problem, Refused, settle


class Gathered:
    """What is wrong so far: bad input and what nobody may have. `finish` raises it."""

    def __init__(self, problems: Iterable[Problem] = (), refusals: Iterable[Problem] = ()) -> None:
        self.problems = list(problems)
        self.refusals = list(refusals)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what a check raises and go on. An engine that fails is passed on only where nothing else is wrong."""
        try:
            yield
        except BadInput as bad:
            self.problems += bad.problems
        except Refused as refused:
            self.refusals += refused.problems
        except (EngineError, EngineUnknown):
            if not (self.problems or self.refusals):
                raise

    def finish(self) -> None:
        """Raise BadInput with everything, or Refused where that is all; nothing where nothing is wrong."""
        settle(self.problems, self.refusals)
