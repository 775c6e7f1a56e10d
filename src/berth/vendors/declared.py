"""Cards that a person declared, by node labels (see model.declared) or a file: Berth believes it and asks no driver."""

from collections.abc import Mapping
from pathlib import Path

from berth.model.card import Card, Use
from berth.model.declared import UNKNOWN_MODEL, declared
from berth.model.errors import Problem
from berth.model.launch import CardMount
from berth.vendors.cards_file import CardsFile


class DeclaredCards:
    """The declared cards of one node: from a file on an agent, else from the labels it is given."""

    name = "declared"

    def __init__(self, node: str = "", cards: Path | None = None, labels: Mapping[str, str] | None = None) -> None:
        """Raises BadInput when the file cannot be used."""
        self._node = node
        self._file = CardsFile(cards) if cards else None
        self._declared = declared(node, labels or {})

    @property
    def faults(self) -> tuple[Problem, ...]:
        """Labels that say nothing, or what is wrong with the file since its last good content."""
        return self._file.faults if self._file else self._declared.problems

    def discover(self) -> tuple[Card, ...]:
        """The cards by index; `NODE/INDEX` is the uuid where no other was given."""
        if self._file is None:
            return self._declared.cards
        listed = sorted(self._file.entries(self._node).items())
        return tuple(entry.card(self._base(index)) for index, entry in listed)

    def usage(self) -> tuple[Use, ...]:
        """Only the uuids: what a declared card does is not known."""
        return tuple(Use(uuid=card.uuid) for card in self.discover())

    def mount(self, cards: tuple[Card, ...]) -> CardMount:
        """Indices in the environment, because NVIDIA's toolkit knows no `NODE/INDEX`; a given uuid stays as it is."""
        named = ",".join(str(card.index) if "/" in card.uuid else card.uuid for card in cards)
        return CardMount(env={"NVIDIA_VISIBLE_DEVICES": named or "void"}, runtime="nvidia" if cards else "")

    def _base(self, index: int) -> Card:
        uuid = f"{self._node}/{index}"
        return Card(uuid=uuid, node=self._node, index=index, vendor="nvidia", model=UNKNOWN_MODEL, declared=True)
