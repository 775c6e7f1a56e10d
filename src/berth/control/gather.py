"""Gathers what several checks refuse, so that a person reads all of it in one go; admit's callers use it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from berth.model.draft import Draft
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


def placed(problem: Problem, draft: Draft) -> Problem:
    """The problem with the place in the file where its field, or the nearest one around it, was written."""
    whole = problem.field.partition("/")[0]
    path = problem.field if problem.field in draft.where else whole
    while path and path not in draft.where:
        path = path.rpartition(".")[0]
    where = draft.where.get(path)
    if where is None:
        return msgspec.structs.replace(problem, field=whole)
    rest = "" if path == problem.field else whole[len(path) :].strip(".")
    field = ".".join(filter(None, (where.field, rest)))
    return msgspec.structs.replace(where, code=problem.code, message=problem.message, hint=problem.hint, field=field)
