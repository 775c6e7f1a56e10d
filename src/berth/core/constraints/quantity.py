"""Values that have an order (whole numbers, dotted versions, sizes with a unit) and how two of them compare."""

import re
from fractions import Fraction
from itertools import zip_longest

import msgspec

_NUMBER = re.compile(r"[+-]?\d{1,18}")
_VERSION = re.compile(r"[vV]?(\d{1,9}(?:\.\d{1,9}){1,7})(?:[-+][\w.+-]*)?")
_DECIMAL = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]{1,3})")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
DECIMAL_LABELS = ("node.labels.pue",)
"""Keys whose dotted values are decimal numbers, not versions: 1.3 is more than 1.25 there."""


class Quantity(msgspec.Struct, frozen=True):
    """A value with an order: `parts` of a number or version, or `size` in bytes when it carries a unit."""

    parts: tuple[Fraction, ...] = ()
    size: Fraction | None = None


def read(text: str, key: str) -> Quantity | None:
    """The quantity that the value of `key` tells, or None when it has no order."""
    text = text.strip()
    if key in DECIMAL_LABELS:
        return Quantity((Fraction(text),)) if _DECIMAL.fullmatch(text) else None
    if _NUMBER.fullmatch(text):
        return Quantity((Fraction(int(text)),))
    if version := _VERSION.fullmatch(text):
        return Quantity(tuple(Fraction(int(part)) for part in version[1].split(".")))
    if size := _SIZE.fullmatch(text):
        unit = _unit(size[2].lower())
        return None if unit is None else Quantity(size=Fraction(size[1]) * unit)
    return None


def compare(have: Quantity, wanted: Quantity, key: str) -> int:
    """-1, 0 or 1. Beside a size a bare number is bytes, for `gpu.memory` MiB; a shorter version ends in zeros."""
    if have.size is None and wanted.size is None:
        return _compare_parts(have.parts, wanted.parts)
    left, right = _bytes(have, key), _bytes(wanted, key)
    return (left > right) - (left < right)


def _unit(word: str) -> int | None:
    """Bytes of a unit: `G`, `Gi` and `GiB` are 1024^3 (as Docker counts `16G`), `GB` is 1000^3."""
    if word == "b":
        return 1
    power = _POWERS.get(word[0])
    if power is None or word[1:] not in ("", "b", "i", "ib"):
        return None
    return int((1000 if word[1:] == "b" else 1024) ** power)


def _bytes(quantity: Quantity, key: str) -> Fraction:
    if quantity.size is not None:
        return quantity.size
    return quantity.parts[0] * (1024**2 if key == "gpu.memory" else 1)


def _compare_parts(left: tuple[Fraction, ...], right: tuple[Fraction, ...]) -> int:
    for a, b in zip_longest(left, right, fillvalue=Fraction(0)):
        if a != b:
            return 1 if a > b else -1
    return 0
