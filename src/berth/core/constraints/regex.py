"""Regular expressions of constraints, by RE2: its automata take time linear in the text, so no expression can hang."""

from functools import lru_cache
from typing import Protocol

import re2

LONGEST = 256


class Pattern(Protocol):
    """What a compiled expression is asked for."""

    def search(self, text: str) -> object | None:
        """Something when the expression is found anywhere in the text."""
        ...


class BadPattern(ValueError):
    """The expression is too long or RE2 does not read it; the text says why."""


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Pattern:
    """The compiled expression. Raises BadPattern. RE2's syntax: no look-around and no back references."""
    if len(pattern) > LONGEST:
        raise BadPattern(f"it is longer than {LONGEST} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        found: Pattern = re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0]
        raise BadPattern(said.decode(errors="replace") if isinstance(said, bytes) else str(said)) from None
    return found
