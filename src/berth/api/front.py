"""The thin layer before everything: proves who asks, answers what is asked most from kept bytes, bounds bodies."""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from berth.api.answers import (
    Receive,
    Scope,
    Send,
    as_berth_error,
    header,
    is_bug,
    send_error,
    send_json,
)
from berth.api.body import Body
from berth.api.idempotent import Idempotent
from berth.api.proof import prove, refuse_agent
from berth.api.room import Room

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
        started, body = _Started(send), Body(scope, receive)
        try:
            await self._http(scope, body, started)
        except Exception as problem:
            error = as_berth_error(problem)
            if is_bug(error):
                log.error("%s %s failed", scope["method"], scope["path"], exc_info=problem)
            if not started.begun:
                await send_error(send, error)
            await body.end()

    async def _http(self, scope: Scope, body: Body, send: Send) -> None:
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
        body.check_announced()
        if scope["method"] == "POST" and (key := header(scope, b"idempotency-key")):
            await self._idempotent(key.decode("latin-1"), scope, body, send)
        else:
            await self._inner(scope, body, send)
        await body.end()

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
