"""The cards of this node as its vendor finds them, looked at again and again; `agent` tells the server what changed."""

from berth.agent.aside import Aside
from berth.model.card import Card, Use
from berth.model.errors import BerthError, Problem
from berth.ports import Vendor, VendorAbsent

DRIVER_S = 8.0
NOT_HERE = ("nvidia-library-missing", "nvidia-bindings-missing")
"""Problems that only say that this host has no such cards: told only when the vendor was asked for by name."""


class Inventory:
    """What the latest look found. `vendor` is "" while no driver answers; `cards` then are empty."""

    def __init__(self, vendor: Vendor, required: bool) -> None:
        self.vendor = ""
        self.cards: tuple[Card, ...] = ()
        self.uses: tuple[Use, ...] = ()
        self.problems: tuple[Problem, ...] = ()
        self._vendor, self._required = vendor, required
        self._aside = Aside()

    @property
    def strict(self) -> bool:
        """True when a real driver found the cards, so that a container has to see what it was granted."""
        return self.vendor == "nvidia"

    async def look(self) -> bool:
        """Look at cards and their use. True when the cards or what stands against them changed.

        A driver that hangs leaves the cards as they were: nothing is known of them until it answers.
        """
        before = (self.vendor, self.cards, self.problems)
        try:
            self.cards, self.uses = await self._aside.run(self._ask, DRIVER_S)
            self.vendor, self.problems = self._vendor.name, self._vendor.faults
        except VendorAbsent as error:
            told = self._required or error.problem.code not in NOT_HERE
            self.vendor, self.cards, self.uses = "", (), ()
            self.problems = (error.problem,) if told else ()
        except BerthError as error:
            self.problems = error.problems
        except TimeoutError:
            self.problems = (_hangs(self._vendor.name),)
        return before != (self.vendor, self.cards, self.problems)

    def _ask(self) -> tuple[tuple[Card, ...], tuple[Use, ...]]:
        return self._vendor.discover(), self._vendor.usage()


def _hangs(vendor: str) -> Problem:
    message = f"The {vendor} driver has not answered for {DRIVER_S:g} s."
    return Problem(
        code="nvidia-no-answer", message=message, hint="Run `nvidia-smi` on the node; restart it if that hangs."
    )
