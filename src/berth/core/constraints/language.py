"""The words of the constraint language: what `parse` returns to fit, admit and the stack loader, and how it refuses."""

from typing import Literal

import msgspec

Op = Literal["==", "!=", ">=", "<=", ">", "<", "=~", "!~", "in", "not in", "exists", "not exists"]

SYMBOLS: tuple[Op, ...] = ("==", "!=", ">=", "<=", "=~", "!~", ">", "<")
"""Longer ones first, so that `>=` is never read as `>`."""
ORDERING: tuple[Op, ...] = (">=", "<=", ">", "<")
REGEX: tuple[Op, ...] = ("=~", "!~")
ALL_OPERATORS = "==, !=, >=, <=, >, <, =~, !~, in (...), not in (...), exists, not exists"


class Constraint(msgspec.Struct, frozen=True):
    """One `key op value`. `key` has its family in lower case; `text` is what the person wrote, trimmed.

    `values` holds one value, several for `in` and `not in`, none for `exists` and `not exists`.
    """

    key: str
    op: Op
    values: tuple[str, ...]
    text: str


class BadConstraint(Exception):
    """The text is no constraint: says what is wrong, at which column (from 1), and what to write instead."""

    def __init__(self, message: str, column: int, hint: str) -> None:
        super().__init__(f"{message} (column {column}). {hint}")
        self.message = message
        self.column = column
        self.hint = hint
