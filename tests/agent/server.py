"""The server's side of agents for tests: it welcomes, remembers what it is told, and waits for what must come."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import WSMsgType, web

from berth.agent.agent import AgentSettings, run_agent
from berth.agent.link import Link
from berth.model.wire import Down, Hello, Refuse, Up, Welcome, frame, read_up
from berth.ports import AgentPeer

T = TypeVar("T")


class Server:
    """Serves any number of connections, one after the other; `answer` is what a hello gets."""

    def __init__(self, lease_s: float = 30.0) -> None:
        self.answer: Down = Welcome(lease_s=lease_s, node="gpu-1")
        self.heard: list[Up] = []
        self.peers: list[AgentPeer] = []
        self._news = asyncio.Event()

    async def serve(self, peer: AgentPeer) -> None:
        """One connection, to its end."""
        self.peers.append(peer)
        first = True
        while (message := await peer.receive()) is not None:
            self.heard.append(message)
            self._news.set()
            if first:
                await peer.send(self.answer)
                if isinstance(self.answer, Refuse):
                    await peer.close()
                    return
            first = False

    async def wait(self, kind: type[T], fits: Callable[[T], bool] = lambda _: True, seconds: float = 10) -> T:
        """The first message of this kind that fits, in the order heard."""
        async with asyncio.timeout(seconds):
            while True:
                for message in self.heard:
                    if isinstance(message, kind) and fits(message):
                        return message
                self._news.clear()
                await self._news.wait()

    def all(self, kind: type[T]) -> list[T]:
        """Everything of this kind that was heard."""
        return [message for message in self.heard if isinstance(message, kind)]


@asynccontextmanager
async def agent(settings: AgentSettings, link: Link) -> AsyncIterator["asyncio.Task[None]"]:
    """A running agent."""
    task = asyncio.create_task(run_agent(settings, link))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=5)
        assert task.done()


class HttpServer:
    """The same behind a real WebSocket, with one token. Keeps its port over `stop` and `start`."""

    def __init__(self, server: Server, token: str, tls: Any = None) -> None:
        self.server, self.token, self._tls = server, token, tls
        self.port = 0
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen on loopback."""
        app = web.Application()
        app.router.add_get("/v1/agents/stream", self._stream)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._tls)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Cut every connection and stop to listen."""
        if self._runner:
            for peer in self.server.peers:
                await peer.close()
            await self._runner.cleanup()
            self._runner = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await self.server.serve(SocketPeer(socket))
        await socket.close()
        return socket


class SocketPeer:
    """A WebSocket as the port's AgentPeer."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket

    async def receive(self) -> Up | None:
        """The next message that is understood."""
        async for got in self._socket:
            if got.type is WSMsgType.TEXT and (message := read_up(got.data)) is not None:
                return message
        return None

    async def send(self, message: Down) -> None:
        """Say something."""
        with suppress(ConnectionError):
            await self._socket.send_str(frame(message).decode())

    async def close(self) -> None:
        """End it."""
        await self._socket.close()


def hello_of(server: Server) -> Hello:
    """The newest hello."""
    return server.all(Hello)[-1]


def token_file(folder: Path, token: str) -> Path:
    """A token file as `berth token create` makes it."""
    file = folder / "token"
    file.write_text(token + "\n")
    return file
