"""Connections that send too much, too slowly or not at all, on real sockets: each has an end, and others are served."""

import asyncio
import json
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from berth.api import body, serve
from tests.api.lab import Lab, lab, node_with

SOON_S = 3.0
HALF = b"GET /v1/cards HTTP/1.1\r\nHost: x\r\n"


class Line(NamedTuple):
    """One connection, by hand."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self) -> tuple[int, str]:
        """Status and the first error's code of the next answer."""
        async with asyncio.timeout(SOON_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(int(line.split()[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
            value = json.loads(await self.reader.readexactly(length))
        return int(head.split()[1]), value["errors"][0]["code"] if "errors" in value else ""

    async def ended(self) -> bool:
        """True once the server has closed it."""
        async with asyncio.timeout(SOON_S):
            while await self.reader.read(1 << 16):
                pass
            return True


@asynccontextmanager
async def line(api: Lab, sends: bytes = b"") -> AsyncIterator[Line]:
    """A connection on which this is sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", api.server.port)
    try:
        writer.write(sends)
        yield Line(reader, writer)
    finally:
        writer.close()


def post(api: Lab, length: str) -> bytes:
    """The head of a POST whose body has this length."""
    known = f"Authorization: {api.headers()['Authorization']}\r\nContent-Type: application/json\r\n"
    return f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\n{known}{length}\r\n\r\n".encode()


@pytest.mark.parametrize("length", [body.MOST_BYTES + 1, 10**18])
async def test_what_says_that_it_is_too_large_is_answered_before_it_comes(tmp_path: Path, length: int) -> None:
    async with lab(tmp_path, node_with()) as api, line(api, post(api, f"Content-Length: {length}")) as found:
        began = time.monotonic()
        assert await found.answer() == (413, "body-too-large")
        assert time.monotonic() - began < body.DISCARD_S / 2


@pytest.mark.parametrize("length", ["Content-Length: 40000000", "Transfer-Encoding: chunked"])
async def test_who_sends_too_much_before_listening_sees_the_answer(tmp_path: Path, length: str) -> None:
    part = b" " * (1 << 20)
    chunk = b"%x\r\n%b\r\n" % (len(part), part) if "chunked" in length else part
    async with lab(tmp_path, node_with()) as api, line(api, post(api, length)) as found:
        async with asyncio.timeout(SOON_S):
            for _ in range(36):
                found.writer.write(chunk)
                await found.writer.drain()
        assert await found.answer() == (413, "body-too-large")


async def test_a_body_that_stands_still_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "STALL_S", 0.3)
    async with lab(tmp_path, node_with()) as api, line(api, post(api, "Content-Length: 100") + b"{") as found:
        assert await found.answer() == (408, "body-too-slow")
        assert await found.ended()


async def test_a_body_that_comes_drop_by_drop_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "WHOLE_S", 0.5)
    async with lab(tmp_path, node_with()) as api, line(api, post(api, "Content-Length: 100")) as found:
        answered = asyncio.create_task(found.answer())
        while not answered.done():
            found.writer.write(b" ")
            await asyncio.sleep(0.05)
        assert answered.result() == (408, "body-too-slow")


@pytest.mark.parametrize("sends", [b"", HALF], ids=["nothing", "half of the headers"])
async def test_who_sends_no_request_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sends: bytes) -> None:
    monkeypatch.setattr(serve, "HEADERS_MS", 300)
    async with lab(tmp_path, node_with()) as api, line(api, sends) as found:
        assert await found.ended()


async def test_headers_that_never_end_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "HEADERS_MS", 500)
    async with lab(tmp_path, node_with()) as api, line(api, HALF) as found:
        over = asyncio.create_task(found.ended())
        while not over.done():
            found.writer.write(b"X-More: 1\r\n")
            await asyncio.sleep(0.05)
        assert over.exception() is None or isinstance(over.exception(), ConnectionError)


async def test_many_that_are_slow_keep_nobody_waiting(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with()) as api:
        sends = [HALF, post(api, "Content-Length: 100") + b"{", post(api, "Transfer-Encoding: chunked")] * 40
        slow = [line(api, words) for words in sends]
        for one in slow:
            await one.__aenter__()
        began = time.monotonic()
        assert len((await api.get("/v1/cards"))["items"]) == 2
        assert (await api.get("/v1/jobs?limit=5"))["items"] == []
        assert time.monotonic() - began < 1.0
        for one in slow:
            await one.__aexit__(None, None, None)


async def test_connections_are_bounded_and_one_more_waits_for_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "MOST_CONNECTIONS", 4)
    ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    async with lab(tmp_path, node_with()) as api:
        held = [line(api, HALF) for _ in range(4)]
        for one in held:
            await one.__aenter__()
        await asyncio.sleep(0.2)
        async with line(api, ask) as found:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await found.reader.read(1)
            await held.pop().__aexit__(None, None, None)
            assert await found.answer() == (200, "")
        for one in held:
            await one.__aexit__(None, None, None)


async def test_as_many_files_may_be_open_as_connections_need(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, before[1]), before[1]))
    try:
        async with lab(tmp_path):
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(serve.FILES, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
