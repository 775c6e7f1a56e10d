"""Simulated cards of nodes that have no agent: the server itself tells the inventory, again when the file changes."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from berth.control.context import Control
from berth.control.inventory import put_inventories
from berth.model.card import Card
from berth.model.simulate import SimulatedNode, check_names
from berth.ports import Vendor
from berth.vendors import detect
from berth.vendors.cards_file import CardsFile

PERIOD_S = 1.0


class Simulation:
    """Keeps the simulated cards of every node in the ledger."""

    def __init__(self, control: Control, spec: Iterable[SimulatedNode], cards: Path | None) -> None:
        self._control = control
        self._spec = tuple(spec)
        self._cards = cards
        self._vendors: dict[str, Vendor] = {}
        self._told: dict[str, tuple[Card, ...]] = {}

    def check(self) -> None:
        """Raise BadInput when SPEC or file names a node that the engine does not have."""
        check_names((entry.node for entry in self._spec), self._control.cluster.nodes)
        if self._cards is not None:
            check_names(CardsFile(self._cards).nodes(), self._control.cluster.nodes, option="--cards")

    async def tell(self) -> None:
        """Bring every node's simulated cards in line with SPEC and file."""
        found: dict[str, tuple[Card, ...]] = {}
        for node in self._control.cluster.nodes.values():
            if not node.gone and not (node.agent_up and node.agent != "simulated"):
                cards = self._vendor(node.name).discover()
                if cards and self._told.get(node.name) is not cards:
                    found[node.name] = cards
        if found:
            await put_inventories(self._control, found, agent="simulated")
        for name in found:
            self._control.uses.update({use.uuid: use for use in self._vendor(name).usage()})
        self._told.update(found)

    def _vendor(self, name: str) -> Vendor:
        if name not in self._vendors:
            self._vendors[name] = detect("simulated", name, self._spec, self._cards)
        return self._vendors[name]

    async def keep(self) -> None:
        """Do so for as long as the server runs."""
        while True:
            await asyncio.sleep(PERIOD_S)
            await self.tell()
