"""The cards that a person lists in a file (--cards): its objects as values; vendors turn them into cards."""

import difflib
from collections.abc import Sequence

import msgspec

from berth.model.card import Card
from berth.model.errors import BadInput, Problem
from berth.model.gpu_model import memory_in_name, normalise


class CardEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One object of the file. What is not given is made up: the node is the reader's own, the index the place in
    the node's list, the uuid follows from both, the memory from the model's name. `util` is percent.
    """

    node: str = ""
    index: int | None = None
    uuid: str = ""
    model: str = ""
    memory_mib: int | None = None
    driver: str = ""
    cuda: str = ""
    pci: str = ""
    minor: int | None = None
    numa: int | None = None
    nvlink: tuple[str, ...] = ()
    power_limit_w: int | None = None
    mig: bool = False
    aliases: tuple[str, ...] = ()
    util: float | None = None
    mem_used_mib: int = 0

    def card(self, base: Card) -> Card:
        """The card `base` (its uuid, node, index, vendor, model) with everything that this entry says."""
        model = normalise(self.model) or base.model
        given = {name: getattr(self, name) for name in _FACTS if getattr(self, name) not in ("", None, ())}
        memory = self.memory_mib if self.memory_mib is not None else base.memory_mib or memory_in_name(model)
        return msgspec.structs.replace(base, **{**given, "model": model, "memory_mib": memory})


_FACTS = ("uuid", "driver", "cuda", "pci", "minor", "numa", "nvlink", "power_limit_w", "mig", "aliases")
_OUTPUT = {"vendor", "state", "reason", "job", "job_name", "task", "share", "holders", "declared"}
"""Keys of the card object that Berth prints and that say nothing here: accepted, so that its output can be fed back."""


def parse_cards(data: bytes, source: str) -> tuple[CardEntry, ...]:
    """Read the file's content; `source` is its path, for errors. Raises BadInput that names the object and field."""
    try:
        found: Sequence[dict[str, object]] = msgspec.json.decode(data, type=list[dict[str, object]])
    except msgspec.MsgspecError as error:
        raise _wrong(source, f"is not a JSON list of card objects: {error}") from error
    entries = tuple(_entry(source, number, fields) for number, fields in enumerate(found))
    uuids = [entry.uuid for entry in entries if entry.uuid]
    twice = sorted({uuid for uuid in uuids if uuids.count(uuid) > 1})
    if twice:
        raise _wrong(source, f"lists the uuid {twice[0]} twice")
    return entries


def of_node(entries: Sequence[CardEntry], node: str) -> dict[int, CardEntry]:
    """A node's entries by index; an entry without a node belongs to every reader, one without an index comes next."""
    mine: dict[int, CardEntry] = {}
    for entry in entries:
        if entry.node in ("", "*", node):
            place = entry.index if entry.index is not None else max(mine, default=-1) + 1
            mine[place] = entry
    return mine


def _entry(source: str, number: int, fields: dict[str, object]) -> CardEntry:
    for key in fields:
        if key not in CardEntry.__struct_fields__ and key not in _OUTPUT:
            near = difflib.get_close_matches(key, CardEntry.__struct_fields__, 1)
            hint = f"Write {near[0]}." if near else f"The fields are: {', '.join(CardEntry.__struct_fields__)}."
            raise _wrong(source, f"has an unknown field {key} in object {number}", hint, key)
    try:
        entry = msgspec.convert({k: v for k, v in fields.items() if k not in _OUTPUT}, CardEntry)
    except msgspec.ValidationError as error:
        raise _wrong(source, f"is wrong in object {number}: {error}") from error
    if (entry.index or 0) < 0 or (entry.memory_mib or 0) < 0:
        raise _wrong(source, f"has a negative number in object {number}")
    return entry


def _wrong(source: str, what: str, hint: str = "", field: str = "") -> BadInput:
    example = '[{"node": "gpu-1", "index": 0, "model": "A100-SXM4-80GB", "memory_mib": 81920}]'
    return BadInput(
        Problem(
            code="cards-file",
            message=f"{source} {what}.",
            hint=hint or f"Write it like this: {example}",
            field=field or "--cards",
            file=source,
        )
    )
