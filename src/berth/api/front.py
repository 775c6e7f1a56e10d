"""The thin layer before everything: proves who asks, answers what is asked most from kept bytes, bounds bodies."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any, Protocol

from berth.api.answers import (
    Receive,
    Scope,
    Send,
    TooLarge,
    as_berth_error,
    is_bug,
    send_error,
    send_json,
)
from berth.api.idempotent import Idempotent
from berth.api.proof import prove, refuse_agent
from berth.api.room import Room

MOST_BYTES = 32 * 1024 * 1024
"""The largest body: a bundle of stack files (4 MiB each) in base64."""
DISCARD_S = 5.0
OPEN = "/healthz"
log = logging.getLogger("berth")
ASGI = Callable[[Scope, Receive, Send], Any]


class AgentStream(Protocol):
    """What takes the WebSocket of an agent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection to its end."""
        ...

    async def close(self) -> None:
        """End all connections."""
        ...


class Front:
    """The ASGI application of the server. `close` ends the streams that are open, before the server stops."""

    def __init__(self, room: Room, inner: ASGI, agents: AgentStream) -> None:
        self._control = room.control
        self._watch = room.watch
        self._kept = room.kept.paths
        self._inner = inner
        self._agents = agents
        self._idempotent = Idempotent(room.control, inner)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self._agents(scope, receive, send)
            return
        started = _Started(send)
        try:
            await self._http(scope, receive, started)
        except Exception as problem:
            error = as_berth_error(problem)
            if is_bug(error):
                log.error("%s %s failed", scope["method"], scope["path"], exc_info=problem)
            if not started.begun:
                await send_error(send, error)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == OPEN:
            await send_json(send, 200, b'{"ok":true}')
            return
        actor = prove(self._control, scope["headers"])
        if actor.role == "agent":
            refuse_agent(actor)
        make = self._kept.get(path)
        if make is not None and scope["method"] == "GET" and not scope["query_string"]:
            await send_json(send, 200, make())
            return
        scope["actor"] = actor
        receive = _bounded(scope, receive)
        if scope["method"] == "POST" and (key := _header(scope, b"idempotency-key")):
            await self._idempotent(key.decode("latin-1"), scope, receive, send)
            return
        await self._inner(scope, receive, send)

    async def close(self) -> None:
        """Let every stream and long poll end."""
        self._watch.close()
        await self._agents.close()


class _Started:
    """Passes messages on and knows whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Any) -> None:
        self.begun = True
        await self._send(message)


def _header(scope: Scope, name: bytes) -> bytes:
    return next((bytes(value) for key, value in scope["headers"] if key == name), b"")


def _bounded(scope: Scope, receive: Receive) -> Receive:
    """A receive that refuses more than MOST_BYTES, by the announced length at once. Raises TooLarge."""
    length = _header(scope, b"content-length")
    left = -1 if length.isdigit() and int(length) > MOST_BYTES else MOST_BYTES

    async def counted() -> Any:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            await _discard(message, receive)
            raise _too_large()
        return message

    return counted


async def _discard(message: Any, receive: Receive) -> None:
    """Read on for a while without keeping it: whoever still sends when the connection closes never sees the answer."""
    left = MOST_BYTES
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_S):
            while left > 0 and message.get("more_body", False):
                message = await receive()
                left -= len(message.get("body", b""))


def _too_large() -> Exception:
    return TooLarge.of(
        "body-too-large",
        f"the request is larger than {MOST_BYTES >> 20} MiB.",
        "Send less at once: split a list of jobs, keep data out of stack files",
    )
