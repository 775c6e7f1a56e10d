"""Reads a container's or task's output from the daemon's multiplexed stream into lines with their times."""

import re
from collections.abc import AsyncGenerator, Iterator
from datetime import datetime

from berth.dockerapi.client import Docker
from berth.ports import LogLine

HEADER = 8
STREAMS = {0: "stdout", 1: "stdout", 2: "stderr"}
STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d) ?")


async def lines(
    docker: Docker, path: str, since: float, follow: bool, tty: bool = False
) -> AsyncGenerator[LogLine, None]:
    """Output newer than `since` (seconds), oldest first; `tty` output comes raw, as the daemon keeps it.

    A piece that the daemon split (16 KiB) comes as several. Raises EngineError when the stream breaks.
    """
    query = {"stdout": True, "stderr": True, "timestamps": True, "follow": follow, "since": _stamp(since)}
    async with docker.stream(path, query) as reader:
        unpack = Unpack(tty)
        async for piece in reader.iter_any():
            for line in unpack.feed(piece):
                if line.time > since:
                    yield line
        for line in unpack.rest():
            if line.time > since:
                yield line


class Unpack:
    """Bytes in, lines out: frames of 8 bytes of header (stream, length) around stamped lines, or raw lines."""

    def __init__(self, tty: bool = False) -> None:
        self._tty = tty
        self._held = b""

    def feed(self, piece: bytes) -> Iterator[LogLine]:
        """Lines that are whole with this piece."""
        self._held += piece
        yield from self._raw() if self._tty else self._frames()

    def rest(self) -> Iterator[LogLine]:
        """What is left when the stream ended: a last raw line without its end."""
        if self._tty and self._held:
            yield parse("stdout", self._held)

    def _frames(self) -> Iterator[LogLine]:
        while len(self._held) >= HEADER:
            length = int.from_bytes(self._held[4:HEADER], "big")
            if len(self._held) < HEADER + length:
                return
            stream, payload = self._held[0], self._held[HEADER : HEADER + length]
            self._held = self._held[HEADER + length :]
            yield parse(STREAMS.get(stream, "stderr"), payload)

    def _raw(self) -> Iterator[LogLine]:
        *whole, self._held = self._held.split(b"\n")
        for line in whole:
            yield parse("stdout", line + b"\n")


def parse(stream: str, payload: bytes) -> LogLine:
    """One stamped line; without a stamp its time is 0."""
    text = payload.decode(errors="replace")
    found = STAMP.match(text)
    if not found:
        return LogLine(0.0, stream, text)
    whole, fraction, zone = found.groups()
    seconds = datetime.fromisoformat(whole + zone).timestamp() + float(f"0.{fraction or 0}")
    return LogLine(seconds, stream, text[found.end() :])


def _stamp(since: float) -> str:
    return f"{since:.6f}" if since else "0"
