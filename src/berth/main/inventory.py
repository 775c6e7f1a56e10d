"""Simulated cards of nodes that have no agent: the server itself tells the inventory, again when the file changes."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from berth.control.context import Control
from berth.control.nodes import put_inventory
from berth.model.card import Card
from berth.model.node import Node
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
        for node in list(self._control.cluster.nodes.values()):
            if not node.gone and not (node.agent_up and node.agent != "simulated"):
                await self._tell_node(node)

    async def _tell_node(self, node: Node) -> None:
        vendor = self._vendors.get(node.name)
        if vendor is None:
            vendor = self._vendors[node.name] = detect("simulated", node.name, self._spec, self._cards)
        cards = vendor.discover()
        if cards and self._told.get(node.name) is not cards:
            await put_inventory(self._control, node, cards, agent="simulated")
            self._told[node.name] = cards
            self._control.uses.update({use.uuid: use for use in vendor.usage()})

    async def keep(self) -> None:
        """Do so for as long as the server runs."""
        while True:
            await asyncio.sleep(PERIOD_S)
            await self.tell()
