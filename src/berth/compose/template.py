"""`$VAR` and `${VAR:-default}` in a text, nested to any sensible depth; scope says what a variable holds."""

import re
from collections.abc import Callable

Lookup = Callable[[str], str | None]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")
_SPECIAL = re.compile(r"[$}]")
_DEEPEST = 20
MOST = 1_000_000
"""Characters that one text may have once its variables are filled in."""


class BadTemplate(Exception):
    """The text cannot be substituted: what is wrong, at which offset, what to write, and the code of the problem."""

    def __init__(self, message: str, at: int, hint: str, missing: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.hint = hint
        self.missing = missing


def substitute(text: str, look: Lookup, unset: Callable[[str], None] | None = None) -> str:
    """The text with its variables replaced. `look` gives a value or None (not set) and is asked only for those that
    count: a default that is not needed asks for nothing. `unset` hears of those without value or default.

    Raises BadTemplate.
    """
    if "$" not in text:
        return text
    return _Scanner(text, look, unset or _nobody).expand(0, 0, live=True)[0]


def _nobody(name: str) -> None:
    """Hears of unset variables where nobody wants to know."""


class _Scanner:
    def __init__(self, text: str, look: Lookup, unset: Callable[[str], None]) -> None:
        self._text = text
        self._look = look
        self._unset = unset
        self._left = MOST

    def expand(self, at: int, depth: int, live: bool) -> tuple[str, int]:
        """Text from `at` on to the end, or inside braces (`depth` > 0) to the closing one; and where it ended."""
        out: list[str] = []
        text = self._text
        while at < len(text):
            if depth and text[at] == "}":
                return "".join(out), at
            if text[at] == "$":
                piece, after = self._variable(at, depth, live)
                self._left -= len(piece)
                if self._left < 0:
                    raise BadTemplate(
                        f"with its variables the text has more than {MOST} characters.", at, "Shorten it."
                    )
                out.append(piece)
                at = after
                continue
            end = _SPECIAL.search(text, at + 1)
            out.append(text[at : end.start()] if end else text[at:])
            at = end.start() if end else len(text)
        if depth:
            raise BadTemplate("'${' is not closed.", len(text) - 1, "Add the }, or write $$ for a dollar sign.")
        return "".join(out), at

    def _variable(self, at: int, depth: int, live: bool) -> tuple[str, int]:
        following = self._text[at + 1 : at + 2]
        if following == "$":
            return "$", at + 2
        if following == "{":
            return self._braced(at, depth + 1, live)
        name = _NAME.match(self._text, at + 1)
        if name is None:
            raise BadTemplate("'$' begins no variable here.", at, "Write $$ for a dollar sign.")
        return self._bare(name[0], live), name.end()

    def _bare(self, name: str, live: bool) -> str:
        value = self._look(name) if live else ""
        if value is None:
            self._unset(name)
        return value or ""

    def _braced(self, at: int, depth: int, live: bool) -> tuple[str, int]:
        if depth > _DEEPEST:
            raise BadTemplate(f"more than {_DEEPEST} variables inside each other.", at, "Simplify it.")
        name = _NAME.match(self._text, at + 2)
        if name is None:
            raise BadTemplate("'${' begins no variable here.", at, "Write ${NAME}, or $$ for a dollar sign.")
        end = name.end()
        operator = _OPERATOR.match(self._text, end)
        if operator is None:
            if self._text[end : end + 1] != "}":
                raise BadTemplate(
                    f"'${{{name[0]}' is not closed, or goes on with something else than :- - :? ? :+ +.",
                    at,
                    f"Write ${{{name[0]}}} or ${{{name[0]}:-default}}; $$ is a dollar sign.",
                )
            return self._bare(name[0], live), end + 1
        value = self._look(name[0]) if live else None
        there = bool(value) if operator[0][0] == ":" else value is not None
        wanted = live and there == (operator[0][-1] == "+")
        word, end = self.expand(operator.end(), depth, wanted)
        return self._chosen(name[0], operator[0][-1], value, (there, word, live), at), end + 1

    def _chosen(self, name: str, sign: str, value: str | None, found: tuple[bool, str, bool], at: int) -> str:
        there, word, live = found
        if sign == "+":
            return word if there else ""
        if there:
            return value or ""
        if sign == "?" and live:
            message = f"the variable {name} must be set: {word or 'it has no value'}."
            raise BadTemplate(message, at, f"Set it: {name}=VALUE berth stack deploy ...", missing=True)
        return word
