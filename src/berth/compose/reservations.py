"""Reads the structured signs for cards (devices, gpus, generic_resources) of a service; cards ranks them."""

from collections.abc import Iterator

import msgspec

from berth.compose import keys
from berth.compose.cards import Ask, card_names
from berth.compose.fields import Fields, as_text, as_whole, kind
from berth.compose.tree import Items, Mapping, Node, Scalar

CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"
MOST = 1024
_CARD_KINDS = ("gpu", "nvidia-gpu")
_DRIVERS = ("", "nvidia")
_OF_DRIVER = ("compute", "utility", "graphics", "video", "display", "compat32", "ngx")


class Reserved(msgspec.Struct):
    """Structured asks, other generic resources by kind, and the driver capabilities that devices name."""

    asks: list[Ask]
    generic: dict[str, int]
    capabilities: tuple[str, ...] = ()


def reserved(service: Fields, reservations: Fields) -> Reserved:
    """All that the structured fields of a service say about cards."""
    devices = _devices(reservations, "devices", list(reservations.rows("devices")), need=True)
    gpus = _gpus(service)
    cards, generic = _generic(reservations)
    asks = [ask for ask in (devices[0], gpus[0], cards) if ask is not None]
    return Reserved(asks, generic, tuple(dict.fromkeys((*devices[1], *gpus[1]))))


def _gpus(service: Fields) -> tuple[Ask | None, tuple[str, ...]]:
    node = service.node("gpus")
    if node is None:
        return None, ()
    if isinstance(node, Items):
        return _devices(service, "gpus", list(service.rows("gpus")), need=False)
    ask = Ask("gpus", service.at("gpus"), service.field("gpus"))
    return count(service, "gpus", ask), ()


def count(owner: Fields, key: str, ask: Ask) -> Ask | None:
    """The ask with the number that stands under a key: a whole number from 0, or `all`. Notes anything else."""
    node = owner.node(key)
    if node is None or as_text(node) == "all":
        return msgspec.structs.replace(ask, all_matching=True)
    number = as_whole(node)
    said = node.written[:40] if isinstance(node, Scalar) else kind(node)
    if number is None:
        owner.wrong(
            key, "gpu-count", f"{key}: {said} is not a number of whole cards.", f"Write {key}: 1, or {key}: all"
        )
    elif number < 0:
        hint = f"Write {key}: all for every matching card of one node, or the number."
        owner.wrong(key, "gpu-count", f"{key}: {said} is negative.", hint)
    elif number > MOST:
        owner.wrong(key, "gpu-count", f"{key}: {said} is more than any node has.", f"Write {key}: 1")
    else:
        return msgspec.structs.replace(ask, gpus=number)
    return None


def _devices(owner: Fields, key: str, rows: list[tuple[str, Node]], need: bool) -> tuple[Ask | None, tuple[str, ...]]:
    found: list[Ask] = []
    capabilities: list[str] = []
    for path, node in rows:
        if not isinstance(node, Mapping):
            owner.mistyped(node, path, "a device such as {driver: nvidia, count: 1, capabilities: [gpu]}")
            continue
        device = Fields(node, path, owner.report, keys.DEVICE)
        words = [text for text, _ in device.strings("capabilities")]
        if _is_card(device, words, need):
            capabilities += [word for word in words if word in _OF_DRIVER]
            found += [ask for ask in (_device(device),) if ask is not None]
    return _together(owner, key, found), tuple(capabilities)


def _is_card(device: Fields, words: list[str], need: bool) -> bool:
    driver = device.text("driver")
    if driver not in _DRIVERS:
        hint = "Write driver: nvidia with count: N; Berth chooses how the card gets in."
        device.wrong("driver", "device-driver", f"driver: {driver[:40]} is not carried.", hint)
        return False
    if "gpu" in words or (not need and not words):
        return True
    if not words and device.is_word("capabilities"):
        return False
    said = f"capabilities: [{', '.join(words)}] names no gpu" if words else "capabilities are missing"
    device.wrong("capabilities", "device-capabilities", f"{said}.", "Write capabilities: [gpu]")
    return False


def _device(device: Fields) -> Ask | None:
    ask = Ask(device.path, device.at("count"), device.field("count"))
    ids = device.strings("device_ids")
    if not ids:
        return count(device, "count", ask)
    if device.node("count") is not None:
        message = "count and device_ids contradict each other."
        device.wrong("count", "count-and-device-ids", message, "Keep count to take any cards, device_ids for these.")
        return None
    ask = Ask(device.path, device.at("device_ids"), device.field("device_ids"))
    return msgspec.structs.replace(ask, named=card_names((text for text, _ in ids), ask, device.report))


def _together(owner: Fields, key: str, found: list[Ask]) -> Ask | None:
    """Several devices of one list as one ask: counts add up, named cards join."""
    if len(found) < 2:
        return found[0] if found else None
    kinds = {(bool(ask.named), ask.all_matching) for ask in found}
    whole = Ask(owner.field(key), owner.at(key), owner.field(key))
    if len(kinds) > 1:
        message = f"the entries of {key} ask in different ways: {', '.join(ask.meaning for ask in found)}."
        owner.wrong(key, "gpu-contradiction", message, "Write one entry with count, or one with device_ids.")
        return None
    named = card_names((name for ask in found for name in ask.named), whole, owner.report)
    total = sum(ask.gpus for ask in found)
    return msgspec.structs.replace(whole, named=named, gpus=total, all_matching=found[0].all_matching)


def _generic(reservations: Fields) -> tuple[Ask | None, dict[str, int]]:
    cards: Ask | None = None
    others: dict[str, int] = {}
    for spec in _discrete(reservations):
        name, value = spec.text("kind"), spec.whole("value")
        if not name or value is None:
            if not name:
                spec.wrong("kind", "bad-value", "the kind of the resource is missing.", "Write kind: gpu")
        elif name.lower() in _CARD_KINDS:
            before = cards.gpus if cards else 0
            cards = Ask("generic_resources", spec.at("value"), spec.field("value"), gpus=before + value)
        else:
            others[name] = others.get(name, 0) + value
    return cards, others


def _discrete(reservations: Fields) -> Iterator[Fields]:
    for path, node in reservations.rows("generic_resources"):
        if isinstance(node, Mapping):
            row = Fields(node, path, reservations.report, keys.GENERIC)
            yield row.table("discrete_resource_spec", keys.DISCRETE)
        else:
            reservations.mistyped(node, path, "{discrete_resource_spec: {kind: gpu, value: 1}}")
