"""The slots and runs of the simulated engine, indexed, journalled, and shown as the loop wants to see them."""

import heapq
from collections.abc import Iterator, Sequence

import msgspec

from berth.engines.simulated.journal import Journal
from berth.engines.simulated.records import Drop, Entry, Labels, Run, Slot
from berth.model.seen import Life, SlotObject


class State:
    """All that exists. `touched` counts changes: what is shown may be shown again while it stays the same."""

    def __init__(self, names: Sequence[str], journal: Journal) -> None:
        self._journal = journal
        self.labels = {name: Labels(name, 1, {}) for name in names}
        self.slots: dict[str, Slot] = {}
        self.runs: dict[str, Run] = {}
        self.lives: dict[str, Life] = {}
        self.objects: dict[str, SlotObject] = {}
        self.touched = 0
        self._by_name: dict[str, str] = {}
        self._by_slot: dict[str, set[str]] = {}
        self._ends: list[tuple[float, str]] = []
        self._version = 0

    def load(self, now: float) -> None:
        """Take up what the journal kept."""
        for entry in self._journal.open():
            if not isinstance(entry, Labels) or entry.node in self.labels:
                self._apply(entry, now)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def next_version(self) -> int:
        """A number that no slot had before."""
        self._version += 1
        return self._version

    def put(self, entry: Slot | Run | Labels, now: float) -> None:
        """Insert or replace."""
        self._apply(entry, now)
        self._journal.write(entry)
        count = len(self.slots) + len(self.runs) + len(self.labels)
        self._journal.tidy(self._entries(), count)

    def drop(self, key: str) -> None:
        """Forget a slot or run."""
        slot, run = self.slots.pop(key, None), self.runs.pop(key, None)
        if slot:
            self.objects.pop(key)
            self._by_name.pop(slot.name, None)
        if run:
            self.lives.pop(key)
            self._by_slot[run.slot].discard(key)
            if not self._by_slot[run.slot]:
                self._by_slot.pop(run.slot)
        if slot or run:
            self._journal.write(Drop(key))
            self.touched += 1

    def named(self, name: str) -> Slot | None:
        """The slot of this name."""
        return self.slots.get(self._by_name.get(name, ""))

    def runs_of(self, slot: str) -> list[Run]:
        """The runs of a slot, oldest attempt first."""
        return sorted((self.runs[key] for key in self._by_slot.get(slot, ())), key=lambda run: run.attempt)

    def settle(self, now: float) -> None:
        """Runs whose time has come have ended."""
        while self._ends and self._ends[0][0] <= now:
            _, key = heapq.heappop(self._ends)
            if key in self.runs:
                self.lives[key] = self.runs[key].seen(now)
                self.touched += 1

    def next_end(self) -> float | None:
        """When the next run ends by itself."""
        return self._ends[0][0] if self._ends else None

    def _apply(self, entry: Entry, now: float) -> None:
        self.touched += 1
        if isinstance(entry, Slot):
            self.slots[entry.id] = entry
            self.objects[entry.id] = entry.seen()
            self._by_name[entry.name] = entry.id
            self._version = max(self._version, entry.version)
        elif isinstance(entry, Run):
            self.runs[entry.id] = entry
            self.lives[entry.id] = entry.seen(now)
            self._by_slot.setdefault(entry.slot, set()).add(entry.id)
            if entry.ends_at is not None:
                heapq.heappush(self._ends, (entry.ends_at, entry.id))
        elif isinstance(entry, Labels):
            self.labels[entry.node] = entry

    def _entries(self) -> Iterator[Entry]:
        yield from self.labels.values()
        yield from self.slots.values()
        yield from self.runs.values()


def ended(run: Run, now: float, exit_code: int) -> Run:
    """The run, ended from outside now."""
    return msgspec.structs.replace(run, stopped_at=now, exit_code=exit_code)
