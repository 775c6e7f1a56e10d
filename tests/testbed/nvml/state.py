"""Writes the file from which the fake libnvidia-ml.so.1 answers: driver, cards, processes, faults."""

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

DRIVER_NOT_LOADED = 9
GPU_IS_LOST = 15
LIBRARY_MISMATCH = 18
UNKNOWN = 999


@dataclass
class FakeProcess:
    """A process on a card; kind C computes, kind G draws."""

    pid: int
    mib: int
    kind: str = "C"


@dataclass
class Xid:
    """One Xid event; the sequence tells listeners which ones are new."""

    sequence: int
    code: int


@dataclass
class FakeCard:
    """What NVML says of one card; None is answered by "not supported", `error` by that code to every call."""

    uuid: str
    name: str = "Tesla V100-SXM2-16GB"
    pci: str = "00000000:3B:00.0"
    error: int = 0
    total_mib: int = 16384
    used_mib: int = 0
    numa: int | None = 0
    power_mw: int | None = 42000
    limit_mw: int | None = 300000
    max_limit_mw: int | None = 300000
    energy_mj: int | None = 1000
    gpu_percent: int | None = 0
    memory_percent: int | None = 0
    celsius: int | None = 36
    persistence: int | None = 1
    compute_mode: int | None = 0
    ecc_corrected: int | None = 0
    ecc_uncorrected: int | None = 0
    capability_major: int | None = 7
    capability_minor: int | None = 0
    brand: int | None = 2
    links: dict[int, str] = field(default_factory=dict)
    processes: list[FakeProcess] = field(default_factory=list)
    xids: list[Xid] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield this card's part of the file."""
        yield f"card {self.uuid}"
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name != "uuid" and isinstance(value, int | str):
                yield f"{entry.name} {value}"
        yield from (f"link {number} {remote}" for number, remote in self.links.items())
        yield from (f"process {task.pid} {task.mib} {task.kind}" for task in self.processes)
        yield from (f"xid {xid.sequence} {xid.code}" for xid in self.xids)


@dataclass
class FakeNvml:
    """The whole library: change it, then `write`; programs on it see that at their next call."""

    path: Path
    cards: list[FakeCard] = field(default_factory=list)
    driver: str = "550.54.15"
    cuda: int = 12040
    init: int = 0
    error: int = 0
    delay: int = 0

    def write(self) -> None:
        """Replace the file in one step."""
        head = ("driver", "cuda", "init", "error", "delay")
        lines = [f"{name} {getattr(self, name)}" for name in head]
        lines.append(f"nvml {self.cuda // 1000}.{self.driver}")
        for card in self.cards:
            lines.extend(card.lines())
        draft = self.path.with_suffix(".new")
        draft.write_text("\n".join(lines) + "\n")
        draft.replace(self.path)

    def xid(self, card: FakeCard, code: int) -> None:
        """Have a card report an Xid event, and write it."""
        newest = max((xid.sequence for other in self.cards for xid in other.xids), default=0)
        card.xids.append(Xid(newest + 1, code))
        self.write()

    def lose(self, card: FakeCard) -> None:
        """Have a card fall off the bus: Xid 79, then "GPU is lost" to every call."""
        card.error = GPU_IS_LOST
        self.xid(card, 79)

    def environment(self, library: Path) -> dict[str, str]:
        """Return the environment of a program to run on the library (the folder from `build.nvml`)."""
        before = os.environ.get("LD_LIBRARY_PATH")
        folders = f"{library}:{before}" if before else str(library)
        return {"LD_LIBRARY_PATH": folders, "BERTH_FAKE_NVML": str(self.path)}

    def preload(self, library: Path) -> None:
        """Load the library into this process: bindings that are used later find it under its name."""
        os.environ["BERTH_FAKE_NVML"] = str(self.path)
        ctypes.CDLL(str(library / "libnvidia-ml.so.1"), ctypes.RTLD_GLOBAL)
