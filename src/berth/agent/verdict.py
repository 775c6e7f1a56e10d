"""Judges what `sight` saw against what Berth granted, and names the cause in words: pure, for `watch`."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from berth.agent.inspected import Inspected
from berth.agent.sight import Sight
from berth.model.card import Card


class Verdict(msgspec.Struct, frozen=True):
    """`cards` are the UUIDs of known cards that the container can open; `problem` is "" or a sentence."""

    cards: tuple[str, ...] = ()
    problem: str = ""


def judge(sight: Sight, container: Inspected, cards: Sequence[Card], strict: bool) -> Verdict:
    """Compare by minor number. `strict`: the vendor's driver runs here, so every granted card must show.

    Without it (simulated or declared cards) a container that sees no card at all is as it should be.
    """
    minors = {_minor(card): card for card in cards}
    granted = {_granted(name, cards) for name in container.granted}
    limitless = container.privileged or sight.everything
    reach = sight.open | sight.hidden | (frozenset(minors) if limitless and strict else frozenset())
    seen = tuple(minors[minor].uuid for minor in sorted(reach) if minor in minors)
    if None in granted or (not strict and not reach and not sight.barred):
        return Verdict(seen)
    known = frozenset(minor for minor in granted if minor is not None)
    if extra := reach - known:
        return Verdict(seen, _extra(extra, minors, sight, container))
    if missing := known - reach:
        return Verdict(seen, _missing(missing, minors, sight))
    return Verdict(seen)


def _extra(extra: Iterable[int], minors: Mapping[int, Card], sight: Sight, container: Inspected) -> str:
    return f"The container can open {_names(extra, minors)}, which Berth did not grant: {_cause(sight, container)}."


def _cause(sight: Sight, container: Inspected) -> str:
    if container.privileged:
        return "it runs privileged"
    if container.devices:
        return f"it was started with the device {container.devices[0]}"
    if container.mounts:
        return f"it mounts {container.mounts[0]} of the host"
    if sight.everything or sight.hidden:
        return "a device cgroup rule permits it"
    if container.visible is not None and container.visible != ",".join(container.granted):
        return f"its environment says NVIDIA_VISIBLE_DEVICES={container.visible}"
    return "the container toolkit of this node maps the granted cards to others (compare `nvidia-ctk cdi list`)"


def _missing(missing: Iterable[int], minors: Mapping[int, Card], sight: Sight) -> str:
    names = _names(missing, minors)
    if sight.barred & frozenset(missing):
        return f"The container has the node of {names} but may not open it: its device rules were replaced."
    return (
        f"The container does not see {names}, which Berth granted: "
        "the daemon's default runtime is not NVIDIA's, or the toolkit does not know the card."
    )


def _names(numbers: Iterable[int], minors: Mapping[int, Card]) -> str:
    return ", ".join(
        f"{minors[number].uuid} (/dev/nvidia{number})" if number in minors else f"/dev/nvidia{number}"
        for number in sorted(numbers)
    )


def _minor(card: Card) -> int:
    return card.index if card.minor is None else card.minor


def _granted(name: str, cards: Sequence[Card]) -> int | None:
    """The minor of a granted card; of `NODE/INDEX` that of this index; None when no card here has this name."""
    for card in cards:
        if name in (card.uuid, card.place):
            return _minor(card)
    _, slash, index = name.rpartition("/")
    if not (slash and index.isdigit()):
        return None
    return next((_minor(card) for card in cards if card.index == int(index)), int(index))
