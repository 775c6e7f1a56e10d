"""A GPU card as a vendor finds it, what stands against using it, and what the ledger has booked on it."""

from collections.abc import Iterable
from typing import Literal

import msgspec

WHOLE = 1000
"""A whole card in milli: the ledger books thousandths of a card."""

SHORT = ("GPU-", "MIG-")
"""How the uuid of a card begins that may be shortened."""

CardState = Literal["free", "used", "fenced", "foreign", "quarantined", "lost"]


class Card(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One card. `uuid` is its identity; `index` is only shown beside it (it changes across reboots).

    `memory_mib` and `power_limit_w` are whole MiB and watts; `nvlink` holds the UUIDs of the peers.
    `brand` is NVIDIA's word for the product line ("tesla", "geforce"), `arch` the compute capability ("7.0").
    `fence`, `foreign`, `quarantine` are "" or the reason in words; `lost` says that the vendor no longer sees it.
    """

    uuid: str
    node: str
    index: int
    vendor: str
    model: str
    memory_mib: int = 0
    driver: str = ""
    cuda: str = ""
    pci: str = ""
    minor: int | None = None
    numa: int | None = None
    nvlink: tuple[str, ...] = ()
    power_limit_w: int | None = None
    mig: bool = False
    declared: bool = False
    aliases: tuple[str, ...] = ()
    brand: str = ""
    arch: str = ""
    fence: str = ""
    foreign: str = ""
    quarantine: str = ""
    lost: bool = False

    @property
    def place(self) -> str:
        """Where it is, as people write it: `NODE/INDEX`."""
        return f"{self.node}/{self.index}"

    def is_named(self, name: str) -> bool:
        """True when the name means this card: its uuid or the beginning of it, NODE/INDEX, or its index."""
        if name in (self.uuid, self.place, str(self.index)):
            return True
        return name.startswith(SHORT) and name not in SHORT and self.uuid.startswith(name)

    @property
    def usable(self) -> bool:
        """True when nothing but the ledger stands against giving this card."""
        return not (self.lost or self.fence or self.quarantine or self.foreign)

    @property
    def obstacle(self) -> tuple[CardState, str] | None:
        """What stands against using the card: (state, reason), or None."""
        if self.lost:
            return "lost", "the vendor's driver no longer reports this card"
        if self.fence:
            return "fenced", self.fence
        if self.quarantine:
            return "quarantined", self.quarantine
        if self.foreign:
            return "foreign", self.foreign
        return None


class Share(msgspec.Struct, frozen=True):
    """What one task holds of one card: thousandths of the card and MiB of its memory."""

    card: str
    milli: int
    mib: int


class Room(msgspec.Struct, frozen=True):
    """What is left of one card: thousandths and MiB, never negative (the store has a CHECK on both)."""

    milli: int
    mib: int


def room_of(card: Card, held: Iterable[Share]) -> Room:
    """What is left of the card beside the shares that are held of it; no memory where the card has less than that."""
    shares = tuple(held)
    left = card.memory_mib - sum(share.mib for share in shares)
    return Room(WHOLE - sum(share.milli for share in shares), max(0, left))


class Use(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a card does now: MiB used, GPU percent (None: no signal), and the ids of processes that compute on it."""

    uuid: str
    mem_used_mib: int = 0
    util: float | None = None
    pids: tuple[int, ...] = ()
