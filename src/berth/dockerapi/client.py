"""Asks the Docker daemon: bytes in and out, a negotiated version, bounded waits; `failures` names what fails."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from berth.dockerapi import failures, transport
from berth.dockerapi.address import Address
from berth.model.errors import EngineError, Problem

OLDEST = (1, 41)
NEWEST = (1, 56)
CONNECT_S = 10.0
ANSWER_S = 30.0

Query = Mapping[str, object]


class Version(
    msgspec.Struct, frozen=True, rename={"version": "Version", "api": "ApiVersion", "minimum": "MinAPIVersion"}
):
    """What the daemon says of itself: its own version, and the newest and oldest API that it speaks."""

    version: str
    api: str
    minimum: str = "1.12"


class Docker:
    """One daemon. Reads raise EngineError; changes raise EngineError, StaleVersion, or EngineUnknown."""

    def __init__(self, address: Address, answer_s: float = ANSWER_S) -> None:
        """Nothing is connected before `open`; an answer has to come within `answer_s` seconds."""
        self.address = address
        self._answer_s = answer_s
        self.api = ""
        self._session: aiohttp.ClientSession | None = None
        self._base = ""
        self._prefix = ""

    async def open(self) -> Version:
        """Connect and agree on the API version: the newest that both speak, at least 1.41 (Docker 20.10)."""
        connector, self._base = transport.connector(self.address)
        timeout = aiohttp.ClientTimeout(total=self._answer_s, sock_connect=CONNECT_S)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        try:
            said = msgspec.json.decode(await self.read("/version"), type=Version)
            self.api = negotiate(said)
        except BaseException:
            await self.close()
            raise
        self._prefix = f"/v{self.api}"
        return said

    async def close(self) -> None:
        """Close all connections."""
        if self._session:
            connector = self._session.connector
            await self._session.close()
            if isinstance(connector, transport.SshConnector):
                await connector.end()
        self._session = None

    async def read(self, path: str, query: Query | None = None) -> bytes:
        """The body of a GET."""
        return await self._ask("GET", path, query)

    async def send(
        self,
        path: str,
        body: object = None,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
        answer_s: float | None = None,
    ) -> bytes:
        """Make a change, with `body` as JSON (bytes: a tar archive as it is); the answer, within `answer_s` seconds."""
        return await self._ask(method, path, query, body, headers, answer_s)

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        silence_s: float | None = None,
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """An answer that goes on: events, logs, a pull. Ends with EngineError when it breaks."""
        what = f"{method} {path}"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=silence_s)
        try:
            async with self._opened().request(
                method, self._url(path), params=_written(query), headers=headers, timeout=timeout
            ) as answer:
                if answer.status >= 400:
                    raise failures.answered(answer.status, await answer.read(), what, changes=False)
                yield answer.content
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise failures.unreachable(self.address.url, self._why(error)) from error

    async def _ask(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        answer_s: float | None = None,
    ) -> bytes:
        what, changes = f"{method} {path}", method != "GET"
        data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        form = "application/x-tar" if isinstance(body, bytes) else "application/json"
        marks = {**(headers or {}), **({"Content-Type": form} if data else {})}
        timeout = aiohttp.ClientTimeout(total=answer_s or self._answer_s, sock_connect=CONNECT_S)
        try:
            async with self._opened().request(
                method, self._url(path), params=_written(query), data=data, headers=marks, timeout=timeout
            ) as answer:
                got = await answer.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise failures.unreachable(self.address.url, self._why(error)) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = self._why(error)
            raise (
                failures.lost(self.address.url, what, why) if changes else failures.unreachable(self.address.url, why)
            ) from error
        if answer.status >= 400:
            raise failures.answered(answer.status, got, what, changes)
        return got

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise failures.unreachable(self.address.url, "the connection is not open")
        return self._session

    def _url(self, path: str) -> str:
        return f"{self._base}{self._prefix}{path}"

    def _why(self, error: Exception) -> str:
        connector = self._session.connector if self._session else None
        said = connector.said.strip() if isinstance(connector, transport.SshConnector) else ""
        return said or str(error) or type(error).__name__


def segment(text: str) -> str:
    """A name or id as one segment of a path."""
    return quote(text, safe="")


def negotiate(said: Version) -> str:
    """The newest API version that both sides speak. Raises EngineError when there is none."""
    theirs, minimum = _number(said.api), _number(said.minimum)
    if theirs < OLDEST or minimum > NEWEST:
        raise EngineError(
            Problem(
                code="engine-version",
                message=f"Docker {said.version} speaks API {said.minimum} to {said.api}; Berth needs 1.41 to 1.56.",
                hint="Use Docker 20.10 or newer, or a newer Berth.",
            )
        )
    return ".".join(map(str, min(theirs, NEWEST)))


def _number(version: str) -> tuple[int, int]:
    major, _, minor = version.partition(".")
    return int(major), int(minor or 0)


def _written(query: Query | None) -> dict[str, str]:
    return {name: _text(value) for name, value in (query or {}).items() if value is not None}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
