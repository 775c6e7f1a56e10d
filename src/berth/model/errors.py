"""The one way Berth says that something is wrong: what, where, and what to type or write instead."""

from collections.abc import Iterable

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One wrong thing. `code` is explained by `berth explain CODE`; `hint` is a command or text to use instead.

    `line` and `column` count from 1; 0 means not known. `excerpt` is the line itself, for the mark under the place,
    without its first `cut` characters where it is long; the values of secrets in it are stars.
    """

    code: str
    message: str
    hint: str = ""
    field: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    excerpt: str = ""
    cut: int = 0


class BerthError(Exception):
    """Something that a person must read. Carries every problem found in one go and the exit code to use.

    Exit codes: 2 bad input, 3 not found, 4 refused, 1 the work failed, 5 no server.
    """

    exit_code = 1
    http_status = 500

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = problems

    @classmethod
    def of(cls, code: str, message: str, hint: str = "", field: str = "") -> "BerthError":
        """Make an error of one problem."""
        return cls(Problem(code=code, message=message, hint=hint, field=field))


class BadInput(BerthError):
    """The request is wrong as written; nothing was created."""

    exit_code = 2
    http_status = 422


class NotFound(BerthError):
    """What the request names does not exist."""

    exit_code = 3
    http_status = 404


class Ambiguous(BerthError):
    """A name fits several jobs; the problem lists them."""

    exit_code = 2
    http_status = 409


class Refused(BerthError):
    """Policy, permission, quota or the present state forbids it."""

    exit_code = 4
    http_status = 403


class EngineError(BerthError):
    """The engine said no, definitely: the call had no effect."""

    exit_code = 1
    http_status = 502


class EngineUnknown(BerthError):
    """The call to the engine may or may not have had an effect: only a list of its objects can tell."""

    exit_code = 1
    http_status = 504


class StaleVersion(EngineError):
    """The engine refused because its object changed since the version that was sent (nothing was done)."""


class ImageAbsent(EngineError):
    """The engine's host has no such image."""


class ObjectGone(EngineError):
    """The engine does not have (any more) what the call names."""


class EngineConflict(EngineError):
    """The engine has something of that name already, or is doing that very thing."""


class EngineUnreachable(EngineError):
    """Nothing was sent, or only a question: the engine does not answer."""


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Each problem once, by file and place."""
    return tuple(sorted(dict.fromkeys(problems), key=lambda one: (one.file, one.line, one.column)))


def settle(problems: Iterable[Problem], refusals: Iterable[Problem] = ()) -> None:
    """Raise BadInput with all of both where there are problems, Refused where there are only refusals; else nothing."""
    wrong, refused = tuple(problems), tuple(refusals)
    if wrong:
        raise BadInput(*in_order((*wrong, *refused)))
    if refused:
        raise Refused(*in_order(refused))
