"""LogFiles: the output of each attempt in files of a folder, one JSON line per piece, the newest 10 MB kept.

`FOLDER/JOB/SLOT.ATTEMPT.0` is written to; at 5 MB it becomes `.1`, that one `.2`, and the old `.2` goes: so at least
10 MB and at most 15 MB are there. A line that a crash has cut off is skipped, and the next one begins anew.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from urllib.parse import quote

import msgspec

from berth.ports import LogLine

SEGMENT = 5_000_000
"""Bytes of one file before the next begins."""
KEPT = 3
"""Files of one attempt, the newest first."""
PIECE = 1_000_000
"""A longer text is kept as several pieces of the same time, so that no file outgrows its bound."""
LOOK_BACK = 200
"""Lines in which the newest time is looked for: streams of one container are out of order by far less."""
_STREAMS = ("stdout", "stderr")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[float, int, str]).decode


class LogFiles:
    """`ports.LogStore` in a folder; may be used by several threads. `append` raises OSError when the disk is full."""

    def __init__(self, folder: Path, segment: int = SEGMENT) -> None:
        self._folder = folder
        self._segment = segment
        self._lock = Lock()

    def append(self, task: str, attempt: int, lines: Sequence[LogLine]) -> None:
        """Add lines: one write for all that fit into the present file."""
        current = self._file(task, attempt, 0)
        encoded = [data for line in lines for data in _records(line, min(PIECE, self._segment))]
        with self._lock:
            self._make_folder(current.parent)
            while encoded:
                fd = os.open(current, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                try:
                    fits = self._fill(fd, encoded)
                finally:
                    os.close(fd)
                encoded = encoded[fits:]
                if encoded:
                    self._rotate(task, attempt)

    def read(self, task: str, attempt: int, since: float = 0.0, tail: int | None = None) -> list[LogLine]:
        """Lines newer than `since`, only the last `tail` of them when given."""
        found: list[LogLine] = []
        for line in self._backwards(task, attempt):
            if tail is not None and len(found) >= tail:
                break
            if line.time > since:
                found.append(line)
        return found[::-1]

    def last_time(self, task: str, attempt: int) -> float:
        """Time of the newest line kept; 0.0 when there is none."""
        newest = 0.0
        for count, line in enumerate(self._backwards(task, attempt)):
            if count == LOOK_BACK:
                break
            newest = max(newest, line.time)
        return newest

    def drop(self, job: str) -> None:
        """Remove the job's folder."""
        with self._lock, contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._folder / _safe(job))

    def _file(self, task: str, attempt: int, number: int) -> Path:
        job, _, slot = task.rpartition(".")
        return self._folder / _safe(job) / f"{_safe(slot)}.{attempt}.{number}"

    def _make_folder(self, folder: Path) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)

    def _fill(self, fd: int, encoded: Sequence[bytes]) -> int:
        """Write as many records as the file takes (one at least into an empty one); how many that were."""
        size = os.fstat(fd).st_size
        torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        fits = 0
        for data in encoded:
            if size and size + len(data) > self._segment:
                break
            size += len(data)
            fits += 1
        data = (b"\n" if torn and fits else b"") + b"".join(encoded[:fits])
        while data:
            data = data[os.write(fd, data) :]
        return fits

    def _rotate(self, task: str, attempt: int) -> None:
        for number in range(KEPT - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._file(task, attempt, number - 1).replace(self._file(task, attempt, number))

    def _backwards(self, task: str, attempt: int) -> Iterator[LogLine]:
        """Every whole line, the newest first. The files are opened at one instant, so that none is read twice."""
        with contextlib.ExitStack() as stack:
            files = []
            with self._lock:
                for number in range(KEPT):
                    with contextlib.suppress(FileNotFoundError):
                        files.append(stack.enter_context(self._file(task, attempt, number).open("rb")))
            for file in files:
                yield from _parsed(reversed(file.read().split(b"\n")))


def _records(line: LogLine, piece: int) -> Iterator[bytes]:
    stream = _STREAMS.index(line.stream) if line.stream in _STREAMS else 0
    for start in range(0, len(line.text) or 1, piece):
        text = line.text[start : start + piece]
        try:
            yield _encode((line.time, stream, text)) + b"\n"
        except UnicodeEncodeError:
            clean = text.encode("utf-8", "replace").decode()
            yield _encode((line.time, stream, clean)) + b"\n"


def _parsed(records: Iterable[bytes]) -> Iterator[LogLine]:
    for record in records:
        if record:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, IndexError):
                time, stream, text = _decode(record)
                yield LogLine(time, _STREAMS[stream], text)


def _safe(name: str) -> str:
    """A file name that is the name itself for every id that Berth makes, and can never lead out of the folder."""
    return quote(name, safe="").replace(".", "%2E") or "%"
