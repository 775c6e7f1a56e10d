"""Cards that a person declared by node labels, without an agent: a pure reading, used when a node is adopted."""

import re
from collections.abc import Mapping

import msgspec

from berth.model.card import Card
from berth.model.errors import Problem
from berth.model.gpu_model import memory_in_name, normalise

MOST_CARDS = 1024
UNKNOWN_MODEL = "unknown"
_FALSE = ("false", "0", "no", "off")
_UNITS = {"": 1.0, "m": 1.0, "mib": 1.0, "mb": 1e6 / 2**20, "g": 1024.0, "gib": 1024.0, "gb": 1e9 / 2**20}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


class Declared(msgspec.Struct, frozen=True):
    """What a node's labels declare. `taken` is how many of the cards a script had counted as not free.

    `gpu.free` below `gpu.count` at adoption means that somebody's work holds `taken` cards; which ones is for the
    engine's own services to tell. `problems` name labels that were skipped because they say nothing.
    """

    cards: tuple[Card, ...] = ()
    taken: int = 0
    problems: tuple[Problem, ...] = ()


def is_ours(labels: Mapping[str, str]) -> bool:
    """False when a person took the node away from Berth (`gpu.enable` or `gpu.schedule` is false)."""
    return not any(labels.get(key, "").strip().lower() in _FALSE for key in ("gpu.enable", "gpu.schedule"))


def declared(node: str, labels: Mapping[str, str]) -> Declared:
    """The cards that the labels of a node declare: `NODE/INDEX`, by `gpu.cards`, else `gpu.count`, else `gpu.free`.

    A hand-written model keeps its spelling as an alias. None on a node that is not Berth's or gives no number.
    """
    if not is_ours(labels):
        return Declared()
    problems: list[Problem] = []
    count, free = (_number(labels, key, problems) for key in ("gpu.count", "gpu.free"))
    listed = _indices(labels, problems)
    indices = tuple(range(count if count is not None else free or 0)) if listed is None else listed
    total_known = count is not None or listed is not None
    taken = max(0, len(indices) - free) if total_known and free is not None else 0
    memory = _memory(labels, problems)
    cards = tuple(_card(node, index, labels, memory) for index in indices)
    if not total_known and not free and not problems and labels.get("gpu.enable", "").strip():
        said = "gpu.free=0 and no gpu.count" if free == 0 else "neither gpu.count nor gpu.free"
        problems.append(_problem("gpu.count", f"{node} has gpu.enable, {said}: how many cards it has is not known."))
    return Declared(cards, taken, tuple(problems))


def _card(node: str, index: int, labels: Mapping[str, str], memory: int) -> Card:
    said = labels.get("gpu.model", "").strip()
    model = normalise(said) or UNKNOWN_MODEL
    return Card(
        uuid=f"{node}/{index}",
        node=node,
        index=index,
        vendor=labels.get("gpu.vendor", "").strip().lower() or "nvidia",
        model=model,
        memory_mib=memory or memory_in_name(model),
        driver=labels.get("gpu.driver", "").strip(),
        cuda=labels.get("gpu.cuda", "").strip(),
        declared=True,
        aliases=(said,) if said and said != model else (),
    )


def _number(labels: Mapping[str, str], key: str, problems: list[Problem]) -> int | None:
    text = labels.get(key, "").strip()
    if not text:
        return None
    if _is_number(text) and int(text) <= MOST_CARDS:
        return int(text)
    problems.append(_problem(key, f"The label {key}={text} is not a number of cards from 0 to {MOST_CARDS}."))
    return None


def _indices(labels: Mapping[str, str], problems: list[Problem]) -> tuple[int, ...] | None:
    text = labels.get("gpu.cards", "").strip()
    if not text:
        return None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if parts and all(_is_number(part) and int(part) < MOST_CARDS for part in parts):
        return tuple(sorted({int(part) for part in parts}))
    problems.append(_problem("gpu.cards", f"The label gpu.cards={text} is not a list of card indices such as 2,3."))
    return ()


def _memory(labels: Mapping[str, str], problems: list[Problem]) -> int:
    text = labels.get("gpu.memory", "").strip()
    found = _SIZE.fullmatch(text)
    if found and found[2].lower() in _UNITS:
        return int(float(found[1]) * _UNITS[found[2].lower()])
    if text:
        problems.append(
            _problem("gpu.memory", f"The label gpu.memory={text} is not a size such as 16384 (MiB) or 16GiB.")
        )
    return 0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 7


def _problem(key: str, message: str) -> Problem:
    return Problem(
        code="declared-label", message=message, hint=f"Set it with: berth node label NODE {key}=VALUE", field=key
    )
