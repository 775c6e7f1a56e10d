"""A proxy between a Docker client and a daemon that delays, loses, cuts or repeats chosen requests."""

import asyncio
import re
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

Kind = Literal["late-request", "late-answer", "no-answer", "lost-answer", "cut", "twice"]
LIMIT = 1 << 20
PATIENCE = 30


@dataclass
class Fault:
    """What happens to the next `times` requests whose "METHOD /path" matches.

    late-request and late-answer wait `seconds`; no-answer swallows the request and holds the connection; cut
    ends the connection before the daemon hears of the request, lost-answer once the daemon has answered;
    twice gives the answer and sends the request again `seconds` later.
    """

    kind: Kind
    match: str = ""
    times: int = 1
    seconds: float = 0

    def takes(self, line: str) -> bool:
        """Tell whether this request is one of them, and count it."""
        if self.times < 1 or not re.search(self.match, line):
            return False
        self.times -= 1
        return True


class Proxy:
    """Context manager: listens at `url` for clients of `upstream`; both are unix:// or tcp:// addresses.

    `faults` may be changed at any time; `requests` tells what clients asked, as "METHOD /path".
    """

    def __init__(self, upstream: str, url: str) -> None:
        """Name both ends; nothing listens before the proxy is entered."""
        self.upstream, self.url = upstream, url
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None

    def __enter__(self) -> "Proxy":
        """Listen, in a thread of its own."""
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening and cut all connections."""
        if self._server:
            self._loop.call_soon_threadsafe(self._server.close)
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def add(self, fault: Fault) -> Fault:
        """Have a fault happen from now on."""
        self.faults.append(fault)
        return fault

    def cut(self) -> None:
        """Cut all connections that are open now; new ones are welcome."""
        self._do(self._cut())

    def fault_for(self, line: str) -> Fault | None:
        """Note a request and return what shall happen to it."""
        self.requests.append(line)
        return next((fault for fault in self.faults if fault.takes(line)), None)

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the connections until it ends or all are cut."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        scheme, _, where = self.url.partition("://")
        if scheme == "unix":
            Path(where).unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._accept, where, limit=LIMIT)
        else:
            host, _, port = where.rpartition(":")
            self._server = await asyncio.start_server(self._accept, host, int(port), limit=LIMIT)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.keep(_Connection(self, reader, writer).serve())

    async def _cut(self) -> None:
        doomed = list(self._tasks)
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)


class _Connection:
    """One client: its requests go to a connection of its own to the daemon, the answers come back as they are."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.hold = 0.0

    async def serve(self) -> None:
        """Carry requests until one side ends."""
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                from_daemon, to_daemon = await _connect(self.proxy.upstream)
                try:
                    await self._carry(from_daemon, to_daemon)
                finally:
                    to_daemon.close()
        finally:
            self.writer.close()

    async def _carry(self, from_daemon: asyncio.StreamReader, to_daemon: asyncio.StreamWriter) -> None:
        answers = asyncio.create_task(self._answer(from_daemon))
        try:
            while True:
                request = await _request(self.reader)
                fault = self.proxy.fault_for(request.split(b" HTTP/", 1)[0].decode(errors="replace"))
                if fault and not await self._suffer(fault, request, answers):
                    return
                await _send(to_daemon, request)
                if b"\r\nupgrade:" in request.lower():
                    await _pump(self.reader, to_daemon)
                    await answers
        finally:
            answers.cancel()

    async def _suffer(self, fault: Fault, request: bytes, answers: "asyncio.Task[None]") -> bool:
        """Let a fault happen; False ends the connection without an answer."""
        if fault.kind == "late-request":
            await asyncio.sleep(fault.seconds)
        elif fault.kind == "late-answer":
            self.hold = fault.seconds
        elif fault.kind == "twice":
            self.proxy.keep(self._repeat(request, fault.seconds))
        elif fault.kind == "no-answer":
            await asyncio.Event().wait()
        else:
            answers.cancel()
            if fault.kind == "lost-answer":
                await self._repeat(request, 0)
            return False
        return True

    async def _answer(self, from_daemon: asyncio.StreamReader) -> None:
        while chunk := await from_daemon.read(LIMIT):
            delay, self.hold = self.hold, 0
            await asyncio.sleep(delay)
            await _send(self.writer, chunk)
        self.writer.write_eof() if self.writer.can_write_eof() else self.writer.close()

    async def _repeat(self, request: bytes, seconds: float) -> None:
        """Send a request on a connection of its own and throw the answer away."""
        await asyncio.sleep(seconds)
        reader, writer = await _connect(self.proxy.upstream)
        try:
            await _send(writer, request)
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        finally:
            writer.close()


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    scheme, _, where = url.partition("://")
    if scheme == "unix":
        return await asyncio.open_unix_connection(where, limit=LIMIT)
    host, _, port = where.rpartition(":")
    return await asyncio.open_connection(host, int(port), limit=LIMIT)


async def _request(reader: asyncio.StreamReader) -> bytes:
    """Read one HTTP request with its whole body."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *(\d+)", head.lower())
    if length:
        return head + await reader.readexactly(int(length[1]))
    parts = [head]
    while b"\r\ntransfer-encoding: chunked" in head.lower():
        size = await reader.readuntil(b"\r\n")
        parts += [size, await reader.readexactly(int(size, 16) + 2)]
        if int(size, 16) == 0:
            break
    return b"".join(parts)


async def _send(writer: asyncio.StreamWriter, content: bytes) -> None:
    writer.write(content)
    await writer.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(LIMIT):
        await _send(writer, chunk)
    writer.write_eof()
