"""The WebSocket of an agent: its token names the node, control does the talking."""

import asyncio
import contextlib
from typing import Any

from berth.api.answers import Receive, Scope, Send, body_of
from berth.api.proof import prove
from berth.control.agents import Agents
from berth.control.context import Control
from berth.model.errors import BerthError, NotFound, Refused
from berth.model.token import Actor
from berth.model.wire import Down, Up, frame, read_up

PATH = "/v1/agents/stream"
GONE = 1001


class AgentSockets:
    """Takes WebSockets and hands each to `Agents.serve`; `close` ends them all."""

    def __init__(self, control: Control, agents: Agents) -> None:
        self._control = control
        self._agents = agents
        self._peers: set[_Socket] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection to its end."""
        try:
            actor = self._proven(scope)
        except BerthError as error:
            await _deny(scope, send, error)
            return
        await receive()
        await send({"type": "websocket.accept"})
        peer = _Socket(receive, send)
        self._peers.add(peer)
        try:
            await self._agents.serve(peer, actor.node)
        finally:
            self._peers.discard(peer)
            await peer.close()

    async def close(self) -> None:
        """End all connections; agents come again to the next server."""
        for peer in list(self._peers):
            await peer.close()

    def _proven(self, scope: Scope) -> Actor:
        actor = prove(self._control, scope["headers"])
        if scope["path"] != PATH:
            raise NotFound.of("no-such-path", f"there is no WebSocket at {scope['path']}.", f"Agents use {PATH}")
        if actor.role != "agent":
            raise Refused.of(
                "agent-only",
                f"this stream is for agents; the token is that of {actor.name} with role {actor.role}.",
                "Create one for the node: berth token create --role agent --node NAME",
            )
        return actor


async def _deny(scope: Scope, send: Send, error: BerthError) -> None:
    """Refuse the handshake with the error as body, or plainly where the server cannot send one."""
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    headers = [(b"content-type", b"application/json")]
    await send({"type": "websocket.http.response.start", "status": error.http_status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body_of(error)})


class _Socket:
    """One agent as `AgentPeer`."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._gone = False
        self._closed = asyncio.Event()

    async def receive(self) -> Up | None:
        """The next message that this version understands; None once the agent is gone."""
        while not self._gone:
            message = await self._next()
            if message is None:
                break
            known = read_up(message.get("text") or message.get("bytes") or b"")
            if known is not None:
                return known
        self._gone = True
        return None

    async def _next(self) -> Any:
        reading = asyncio.ensure_future(self._receive())
        closed = asyncio.ensure_future(self._closed.wait())
        try:
            await asyncio.wait([reading, closed], return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                return None
            message = reading.result()
            return message if message["type"] == "websocket.receive" else None
        finally:
            reading.cancel()
            closed.cancel()

    async def send(self, message: Down) -> None:
        """Say something to it; nothing happens when it is gone."""
        if not self._gone:
            with contextlib.suppress(OSError, RuntimeError):
                await self._send({"type": "websocket.send", "text": frame(message).decode()})

    async def close(self) -> None:
        """End the connection."""
        if self._closed.is_set():
            return
        self._closed.set()
        if not self._gone:
            self._gone = True
            with contextlib.suppress(OSError, RuntimeError):
                await self._send({"type": "websocket.close", "code": GONE})
