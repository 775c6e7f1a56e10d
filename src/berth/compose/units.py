"""Times, sizes, CPUs and command lines as Docker reads them; wrong ones raise ValueError(message, hint)."""

import re
import shlex
from decimal import Decimal, InvalidOperation

NANO = 1_000_000_000
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": "0.000000001", "us": "0.000001", "µs": "0.000001", "μs": "0.000001", "ms": "0.001", "s": "1"}
_SECONDS |= {"m": "60", "h": "3600"}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s?([kmgtp]?)(i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_MOST = 2**63 - 1
_LONGEST = 64


def nanoseconds(text: str) -> int:
    """A time such as 10s, 1m30s, 1.5h or 300ms in nanoseconds. Raises ValueError."""
    if text.strip() == "0":
        return 0
    parts = _DURATION.findall(text) if len(text) <= _LONGEST else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"'{text[:40]}' is not a time.", _time_hint(text))
    total = int(sum(Decimal(number) * Decimal(_SECONDS[unit]) for number, unit in parts) * NANO)
    if total > _MOST:
        raise ValueError(f"'{text[:40]}' is longer than 292 years.", "Write a shorter time.")
    return total


def size(text: str) -> int:
    """A size such as 512m, 16G, 8GiB or 1.5gb in bytes; every unit is a power of 1024, as Docker's are."""
    found = _SIZE.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if found is None:
        raise ValueError(f"'{text[:40]}' is not a size.", "Write a number with a unit, such as 512M or 16G")
    value = int(Decimal(found[1]) * 1024 ** _POWERS[found[2].lower()])
    if value > _MOST:
        raise ValueError(f"'{text[:40]}' is more than Docker can count.", "Write a smaller size.")
    return value


def nano_cpus(text: str) -> int:
    """A number of CPUs such as 0.5 in 1e-9 CPUs. Raises ValueError."""
    try:
        value = Decimal(text.strip()) * NANO if len(text) <= _LONGEST else Decimal("nan")
    except InvalidOperation:
        value = Decimal("nan")
    if not value.is_finite() or value < 0 or value != value.to_integral_value() or value > _MOST:
        raise ValueError(f"'{text[:40]}' is not a number of CPUs.", 'Write it as "0.5" or "4", nine decimals at most.')
    return int(value)


def ratio(text: str) -> int:
    """A share from 0 to 1, such as 0.25, in 1e-9. Raises ValueError."""
    found = nano_cpus(text) if re.fullmatch(r"[\d.eE-]{1,32}", text) else NANO + 1
    if found > NANO:
        raise ValueError(f"'{text[:40]}' is not a share from 0 to 1.", "Write it as 0.25")
    return found


LONGEST_COMMAND = 131_071
"""Linux's MAX_ARG_STRLEN."""


def words(text: str) -> tuple[str, ...]:
    """A command line in words as a POSIX shell splits them, without expanding anything. Raises ValueError."""
    if len(text) > LONGEST_COMMAND:
        message = f"the command has {len(text)} characters; Linux takes {LONGEST_COMMAND} in one word."
        raise ValueError(message, "Put it into a file of the image or a config, and run that.")
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise ValueError("a quote in the command is not closed.", "Close it, or write a list: [a, b]") from None


def _time_hint(text: str) -> str:
    return f"Write the unit: {text}s" if text.isdecimal() else "Write it as 10s, 1m30s or 2h"
