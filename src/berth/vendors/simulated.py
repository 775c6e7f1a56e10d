"""Cards that exist only in Berth, from --simulate and --cards: everything around them (engine, containers) is real."""

import uuid
from collections.abc import Iterable
from pathlib import Path

from berth.model.card import Card, Use
from berth.model.cards_file import CardEntry
from berth.model.errors import Problem
from berth.model.launch import CardMount
from berth.model.simulate import SimulatedNode, models_of
from berth.vendors.cards_file import CardsFile

UNNAMED_MODEL = "Simulated-GPU"


def simulated_uuid(node: str, index: int) -> str:
    """The same at every start: `GPU-` and the UUIDv5 of `NODE/INDEX` (namespace OID)."""
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{node}/{index}')}"


class SimulatedCards:
    """The cards of one node. A file's object for the same node and index goes over what the SPEC says."""

    name = "simulated"

    def __init__(self, node: str = "", spec: Iterable[SimulatedNode] = (), cards: Path | None = None) -> None:
        """Raises BadInput when the file cannot be used."""
        self._node = node
        self._models = models_of(tuple(spec), node)
        self._file = CardsFile(cards) if cards else None
        self._made: tuple[int, tuple[Card, ...]] = (-1, ())

    @property
    def faults(self) -> tuple[Problem, ...]:
        """What is wrong with the file since its last good content."""
        return self._file.faults if self._file else ()

    def discover(self) -> tuple[Card, ...]:
        """The cards by index: the very same tuple while the file is the same."""
        listed = self._listed()
        version = self._file.version if self._file else 0
        if self._made[0] != version:
            indices = sorted({*range(len(self._models)), *listed})
            self._made = (version, tuple(self._card(index, listed) for index in indices))
        return self._made[1]

    def usage(self) -> tuple[Use, ...]:
        """`util` and `mem_used_mib` of the file's objects; an idle card where it says nothing."""
        listed = self._listed()
        return tuple(_use(card, listed.get(card.index)) for card in self.discover())

    def mount(self, cards: tuple[Card, ...]) -> CardMount:
        """UUIDs in the environment and no device: there is none."""
        return CardMount(env={"NVIDIA_VISIBLE_DEVICES": ",".join(card.uuid for card in cards) or "void"})

    def _listed(self) -> dict[int, CardEntry]:
        return self._file.entries(self._node) if self._file else {}

    def _card(self, index: int, listed: dict[int, CardEntry]) -> Card:
        model = self._models[index] if index < len(self._models) else UNNAMED_MODEL
        base = Card(
            uuid=simulated_uuid(self._node, index),
            node=self._node,
            index=index,
            vendor=self.name,
            model=model,
            minor=index,
        )
        return listed.get(index, CardEntry()).card(base)


def _use(card: Card, entry: CardEntry | None) -> Use:
    if entry is None:
        return Use(uuid=card.uuid, util=0.0)
    return Use(uuid=card.uuid, util=0.0 if entry.util is None else entry.util, mem_used_mib=entry.mem_used_mib)
