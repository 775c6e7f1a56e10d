"""Names of card models: one form that every engine's labels accept, and when a wanted name means a model."""

import re
from collections.abc import Iterable

_MAKERS = ("nvidia", "amd")
_SIZE = re.compile(r"(?:^|-)(\d+)G(?:i?B)?(?:-|$)", re.IGNORECASE)


def normalise(name: str) -> str:
    """The label form of a model's name: "NVIDIA A100-SXM4-80GB" is `A100-SXM4-80GB`, "Tesla V100" is `Tesla-V100`.

    The maker's name goes, every run of other characters than letters, digits, dot and underscore becomes one dash.
    """
    parts = [part for part in re.split(r"[^A-Za-z0-9._]+", name) if part]
    if len(parts) > 1 and parts[0].lower() in _MAKERS:
        parts = parts[1:]
    return "-".join(parts)[:63].rstrip("-")


def model_matches(wanted: str, model: str, aliases: Iterable[str] = ()) -> bool:
    """True when `wanted` means `model` or one of its aliases: all its parts between dashes occur there, in order.

    Whole parts, letters of either case: `A100`, `a100-80gb`, `NVIDIA A100` mean `A100-SXM4-80GB`; `A10` does not.
    """
    parts = _parts(wanted)
    return bool(parts) and any(_in_order(parts, _parts(name)) for name in (model, *aliases))


def memory_in_name(model: str) -> int:
    """The MiB that a model's name tells (`A100-SXM4-80GB`: 81920); 0 when it tells none."""
    found = _SIZE.search(model)
    return int(found[1]) * 1024 if found else 0


def _parts(name: str) -> list[str]:
    return normalise(name).lower().split("-") if normalise(name) else []


def _in_order(wanted: list[str], parts: list[str]) -> bool:
    rest = iter(parts)
    return all(part in rest for part in wanted)
