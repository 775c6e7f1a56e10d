"""By which words a container or service of somebody else asks for cards, read from its environment and resources."""

from collections.abc import Iterable, Mapping

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
EVERY_CARD = "all"
NO_CARDS = ("", "void", "none")
CARD_KINDS = ("gpu", "nvidia-gpu")
"""Kinds of generic resources that mean cards, in lower case."""

Asks = tuple[bool, tuple[str, ...]]
"""Whether it takes cards at all, and by which names; no names: which ones is not known."""


def by_environment(env: Iterable[str], inherited: Mapping[str, str] | None = None) -> Asks:
    """Cards asked for by NVIDIA_VISIBLE_DEVICES or NV_GPU; what the image itself sets does not count."""
    values = dict(pair.partition("=")[::2] for pair in env)
    given = {name: value for name, value in values.items() if (inherited or {}).get(name) != value}
    visible = given.get(VISIBLE)
    if visible in NO_CARDS:
        return False, ()
    named = _names(visible) or _names(given.get("NV_GPU"))
    return visible is not None or bool(named), named


def listed(value: str | None) -> tuple[str, ...]:
    """The names in a list of cards with commas; none where it says that there shall be none."""
    names = tuple(part.strip() for part in (value or "").split(",") if part.strip())
    return () if len(names) == 1 and names[0] in NO_CARDS else names


def _names(value: str | None) -> tuple[str, ...]:
    names = listed(value)
    return () if EVERY_CARD in names else names


def by_device_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """The names of cards in a device request: plain, or the part behind `=` of a CDI name."""
    return _names(",".join(name.rpartition("=")[2] for name in ids))


def by_device_nodes(paths: Iterable[str]) -> tuple[str, ...]:
    """The indices of cards whose device nodes are given by path."""
    indices = (path.removeprefix("/dev/nvidia") for path in paths if path.startswith("/dev/nvidia"))
    return tuple(index for index in indices if index.isdecimal())
