"""How many cards a service or job asks for, and by which of its many signs; the ranking is INTERFACE.md's.

Structured fields (devices, gpus, generic_resources) > NV_GPU > a list in NVIDIA_VISIBLE_DEVICES > `gpu.free >= N` >
the label gpu.task=true > `runtime: nvidia` or NVIDIA_VISIBLE_DEVICES=all. Only structured fields contradict each other.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from berth.compose.fields import Var
from berth.compose.report import Report
from berth.compose.text import Place

NV_GPU = "NV_GPU"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_NOTHING = ("none", "void")
_CARD = re.compile(r"\d{1,4}|GPU-[0-9a-fA-F][0-9a-fA-F-]*|MIG-[0-9A-Za-z][0-9A-Za-z/-]+|[A-Za-z0-9][\w.-]*/\d{1,4}")


class Ask(msgspec.Struct, frozen=True):
    """One sign: `words` name it in messages. `named` cards, or `gpus` of them, or every matching one of a node."""

    words: str
    place: Place | None
    field: str
    gpus: int = 0
    named: tuple[str, ...] = ()
    all_matching: bool = False

    @property
    def meaning(self) -> str:
        """What it asks for, in words."""
        if self.all_matching:
            return "every card"
        if self.named:
            return f"cards {', '.join(self.named)}"
        return {0: "no card", 1: "1 card"}.get(self.gpus, f"{self.gpus} cards")


class Signs(msgspec.Struct):
    """All signs of one service or job; `env` is its whole environment."""

    structured: list[Ask]
    env: Mapping[str, Var]
    free: Ask | None = None
    label: Ask | None = None
    runtime: Ask | None = None


def settle(signs: Signs, report: Report) -> Ask | None:
    """The sign that counts, or None when nothing asks for cards. Notes contradictions and what was overwritten."""
    _contradictions(signs.structured, report)
    nv_gpu, visible = _nv_gpu(signs.env, report), _visible(signs.env, report)
    everything = visible if visible is not None and visible.all_matching else None
    listed = visible if everything is None else None
    ranked = [*signs.structured, nv_gpu, listed, signs.free, signs.label, signs.runtime, everything]
    winner = next((ask for ask in ranked if ask is not None), None)
    if winner is None:
        return None
    for env in (nv_gpu, visible):
        if env is not None and env is not winner:
            _overwritten(env, winner, report)
    if winner is everything or winner is signs.runtime:
        hint = "Say how many: deploy.resources.reservations.devices with count: N"
        report.warn(
            winner.place, "gpu-assumed", f"{winner.words} alone is taken as 1 card, bound by Berth.", hint, winner.field
        )
        return msgspec.structs.replace(winner, gpus=1, all_matching=False)
    return winner


def card_names(names: Iterable[str], at: Ask, report: Report) -> tuple[str, ...]:
    """The names of cards that can be meant: indices, full UUIDs, NODE/INDEX. Notes others and repeated ones."""
    found: dict[str, None] = {}
    for name in (name.strip() for name in names):
        if not name:
            continue
        if not _CARD.fullmatch(name):
            hint = "Write an index such as 0, a UUID such as GPU-..., or NODE/INDEX; 'berth cards' lists them."
            report.wrong(at.place, "bad-card", f"{at.words}: '{name[:80]}' is not the name of a card.", hint, at.field)
            continue
        if name in found:
            message = f"{at.words} names card {name} twice."
            report.wrong(at.place, "duplicate-card", message, "Name each card once.", at.field)
        found[name] = None
    return tuple(found)


def _contradictions(structured: list[Ask], report: Report) -> None:
    for ask in structured[1:]:
        first = structured[0]
        if _size(ask) != _size(first):
            message = f"{first.words} asks for {first.meaning}, {ask.words} for {ask.meaning}."
            report.wrong(ask.place, "gpu-contradiction", message, "Keep one of them.", ask.field)


def _size(ask: Ask) -> int:
    return -1 if ask.all_matching else len(ask.named) or ask.gpus


def _nv_gpu(env: Mapping[str, Var], report: Report) -> Ask | None:
    var = env.get(NV_GPU)
    if var is None or not (var.value or "").strip():
        return None
    ask = Ask(f"{NV_GPU}={var.value}", var.place, var.field)
    named = card_names(re.split(r"[,\s]+", var.value or ""), ask, report)
    return msgspec.structs.replace(ask, named=named) if named else None


def _visible(env: Mapping[str, Var], report: Report) -> Ask | None:
    var = env.get(VISIBLE)
    value = (var.value or "").strip() if var is not None else ""
    if var is None or not value:
        return None
    ask = Ask(f"{VISIBLE}={value}", var.place, var.field)
    if value == "all":
        return msgspec.structs.replace(ask, all_matching=True)
    if value in _NOTHING:
        return ask
    named = card_names(value.split(","), ask, report)
    return msgspec.structs.replace(ask, named=named) if named else None


def _overwritten(env: Ask, winner: Ask, report: Report) -> None:
    if env.named == winner.named and _size(env) == _size(winner):
        return
    message = f"{env.words} gives way to {winner.words}: {winner.meaning}. Berth sets what the container sees."
    report.warn(env.place, "gpu-overwritten", message, "Remove the variable.", env.field)
