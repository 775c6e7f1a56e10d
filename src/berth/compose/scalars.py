"""What an unquoted word of YAML means: YAML 1.2's core schema, with the old octal and `_` that the docker CLI reads."""

import math
import re

Value = str | int | float | bool | None

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"([-+]?)(?:0b([01_]+)|0o?([0-7_]+)|0x([0-9a-fA-F_]+)|([0-9][0-9_]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {".inf": math.inf, ".nan": math.nan}
_FIRST = frozenset("-+.0123456789~nNtTfF")
_LONGEST = 64
_U64 = 2**64


def plain(text: str) -> Value:
    """The value of an unquoted scalar. `yes`, dates and `1:30` are text; `0440` is octal."""
    if text and (text[0] not in _FIRST or len(text) > _LONGEST):
        return text
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    return _number(text)


def shown(value: int | float) -> str:
    """A number as the docker CLI hands it to a container: `1.10` arrives as 1.1, 12345678.5 as 1.23456785e+07."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    return _shortest(value)


def _number(text: str) -> Value:
    found = _INT.fullmatch(text)
    if found:
        number = _integer(found)
        if number is not None:
            return number
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else text
    word = text.lstrip("+-").lower()
    if word in _SPECIAL and len(text) - len(word) < 2:
        return -_SPECIAL[word] if text[0] == "-" else _SPECIAL[word]
    return text


def _integer(found: re.Match[str]) -> int | None:
    for digits, base in zip(found.groups()[1:], (2, 8, 16, 10), strict=True):
        bare = (digits or "").replace("_", "")
        if bare and not (base == 10 and bare[0] == "0" and len(bare) > 1):
            number = int(bare, base)
            return (-number if found[1] == "-" else number) if number < _U64 else None
    return 0 if found[0].strip("+-") == "0" else None


def _shortest(value: float) -> str:
    """Go's %v: the fewest digits that tell the number, with an exponent below 1e-04 and from 1e+06 on."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, part = mantissa.lstrip("-").partition(".")
    digits = (whole + part).lstrip("0").rstrip("0") or "0"
    leading = len(whole) if whole.strip("0") else -(len(part) - len(part.lstrip("0")))
    power = leading + int(exponent or 0) - 1 if digits != "0" else 0
    if -4 <= power < 6:
        return sign + _positional(digits, power)
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _positional(digits: str, power: int) -> str:
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    if len(digits) <= power + 1:
        return digits + "0" * (power + 1 - len(digits))
    return f"{digits[: power + 1]}.{digits[power + 1 :]}"
