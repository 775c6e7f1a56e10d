"""Keeps the simulated engine's slots and runs in a file, so that a killed server finds its work again."""

from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from berth.engines.simulated.records import Drop, Entry

SLACK = 1000
_decoder = msgspec.json.Decoder(Entry)


class Journal:
    """A file of JSON lines, the newest word on each id last; rewritten when most of it is past. No path: no file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._lines = 0

    def open(self) -> list[Entry]:
        """What was kept, one entry per id. A last line that was cut off is left out."""
        kept: dict[str, Entry] = {}
        if self._path is None:
            return []
        for line in self._path.read_bytes().splitlines() if self._path.exists() else ():
            try:
                entry = _decoder.decode(line)
            except msgspec.MsgspecError:
                continue
            _apply(kept, entry)
        self._rewrite(kept.values())
        return list(kept.values())

    def write(self, *entries: Entry) -> None:
        """Add entries; they survive a kill of this process."""
        if self._file:
            self._file.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))
            self._file.flush()
            self._lines += len(entries)

    def tidy(self, live: Iterable[Entry], count: int) -> None:
        """Rewrite the file when it holds much more than these `count` entries."""
        if self._file and self._lines > SLACK + 4 * count:
            self._rewrite(live)

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()
        self._file = None

    def _rewrite(self, entries: Iterable[Entry]) -> None:
        if self._path is None:
            return
        self.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        lines = [msgspec.json.encode(entry) + b"\n" for entry in entries]
        fresh.write_bytes(b"".join(lines))
        fresh.replace(self._path)
        self._file = self._path.open("ab")
        self._lines = len(lines)


def _apply(kept: dict[str, Entry], entry: Entry) -> None:
    if isinstance(entry, Drop):
        kept.pop(entry.id, None)
    else:
        kept[getattr(entry, "id", "") or f"node {getattr(entry, 'node', '')}"] = entry
