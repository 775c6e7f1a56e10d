"""Lists in pages: a cursor says after which key the next page begins, so that a changing list is read right."""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from berth.model.errors import BadInput

T = TypeVar("T")
Key = tuple[Any, ...]
PAGE = 1000
"""The most items of one page, and how many there are when the caller names no limit."""


def write_cursor(key: Key) -> str:
    """The key of a page's last item as a word that fits into an address."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def read_cursor(text: str, kind: Any) -> Key:
    """The key in a cursor. Raises BadInput for one that no answer of this list had."""
    try:
        raw = base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
        key: Key = msgspec.json.decode(raw, type=kind)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise BadInput.of(
            "bad-cursor",
            f"'{text[:80]}' is no cursor of this list.",
            "Send back what 'next' said, with the same query, or leave it out to begin anew",
            field="cursor",
        ) from error
    return key


def page_of(
    items: Sequence[T], key: Callable[[T], Key], limit: int, cursor: str | None, kind: Any
) -> tuple[Sequence[T], str | None]:
    """The page after the cursor of items sorted by key, and the next cursor (None at the end)."""
    start = bisect_right(items, read_cursor(cursor, kind), key=key) if cursor else 0
    chosen = items[start : start + limit]
    more = start + limit < len(items)
    return chosen, write_cursor(key(chosen[-1])) if more and chosen else None
