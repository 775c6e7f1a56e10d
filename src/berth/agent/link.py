"""How the agent reaches its server: a WebSocket, or a pair of queues when both live in one process (`berth up`)."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import aiohttp

from berth.model.errors import Problem
from berth.model.wire import Down, Up, frame, read_down
from berth.ports import AgentPeer

PATH = "/v1/agents/stream"
PING_S = 10.0
CONNECT_S = 10.0
CLOSE = aiohttp.ClientWSTimeout(ws_close=1.0)


class LinkDown(Exception):
    """The server cannot be reached, or the stream ended. `refused`: it answered, and its answer was no."""

    def __init__(self, problem: Problem, refused: bool = False) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.refused = refused


class Stream(Protocol):
    """One connection to the server. `send` and `receive` raise LinkDown once it has ended."""

    async def send(self, message: Up) -> None:
        """Say something."""
        ...

    async def receive(self) -> Down:
        """The next message that this version understands."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...


class Link(Protocol):
    """A way to the server, used again for every new connection."""

    async def connect(self) -> Stream:
        """Open a connection. Raises LinkDown."""
        ...


class HttpLink:
    """The WebSocket at /v1/agents/stream, with the token of `token_file` as bearer (read at each connection).

    `ca` is a PEM file of the authority that signed the server's certificate (None: those of this host).
    """

    def __init__(self, server: str, token_file: Path, ca: Path | None = None) -> None:
        self._url = server.rstrip("/") + PATH
        self._token_file, self._ca = token_file, ca

    async def connect(self) -> Stream:
        """Open the WebSocket. A token that is not accepted, or no agent API, is a LinkDown with `refused`."""
        headers = {"Authorization": f"Bearer {self._token()}"}
        session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S))
        try:
            socket = await session.ws_connect(
                self._url, headers=headers, heartbeat=PING_S, timeout=CLOSE, ssl=self._tls()
            )
        except aiohttp.WSServerHandshakeError as error:
            await session.close()
            raise LinkDown(self._said_no(error.status), refused=error.status in (401, 403, 404)) from error
        except aiohttp.ClientConnectorCertificateError as error:
            await session.close()
            raise LinkDown(_untrusted(self._url, error)) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            await session.close()
            raise LinkDown(self._away(str(error) or type(error).__name__)) from error
        except BaseException:
            await session.close()
            raise
        return _HttpStream(session, socket, self._away)

    def _token(self) -> str:
        try:
            return self._token_file.read_text().strip()
        except OSError as error:
            message = f"The token file {self._token_file} cannot be read: {error.strerror}."
            hint = "Make it on the server: berth token create --role agent --node NAME > FILE"
            raise LinkDown(Problem(code="bad-token-file", message=message, hint=hint), refused=True) from error

    def _tls(self) -> ssl.SSLContext | bool:
        if self._ca is None:
            return True
        try:
            return ssl.create_default_context(cafile=str(self._ca))
        except OSError as error:
            message = f"The CA file {self._ca} cannot be used: {error}."
            raise LinkDown(Problem(code="bad-ca", message=message, hint="Give --ca a PEM file."), True) from error

    def _said_no(self, status: int) -> Problem:
        if status in (401, 403):
            message = f"{self._url} did not accept the token in {self._token_file} (HTTP {status})."
            hint = "Make a new one on the server: berth token create --role agent --node NAME > FILE"
            return Problem(code="agent-refused", message=message, hint=hint)
        return self._away(f"it answered HTTP {status}")

    def _away(self, why: str) -> Problem:
        message = f"The server at {self._url} cannot be reached: {why}."
        return Problem(code="no-server", message=message, hint="Check --server, --ca, and that `berth up` runs.")


def _untrusted(url: str, error: Exception) -> Problem:
    message = f"The certificate of {url} is not trusted: {error}."
    return Problem(code="untrusted-certificate", message=message, hint="Give --ca the PEM file of its authority.")


class _HttpStream:
    def __init__(
        self, session: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse, away: Callable[[str], Problem]
    ) -> None:
        self._session, self._socket, self._away = session, socket, away

    async def send(self, message: Up) -> None:
        try:
            await self._socket.send_str(frame(message).decode())
        except (aiohttp.ClientError, ConnectionError, RuntimeError) as error:
            raise LinkDown(self._away(f"the stream broke ({error})")) from error

    async def receive(self) -> Down:
        while True:
            got = await self._socket.receive()
            if got.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                raise LinkDown(self._away("the stream ended"))
            message = read_down(got.data)
            if message is not None:
                return message

    async def close(self) -> None:
        await self._socket.close()
        await self._session.close()


class InProcessLink:
    """The agent of the server's own process. `serve` is what the server also runs for each WebSocket, with the peer."""

    def __init__(self, serve: Callable[[AgentPeer], Awaitable[None]]) -> None:
        self._serve = serve

    async def connect(self) -> Stream:
        """Start the server's side of a new connection."""
        return _Pair(self._serve)


class _Pair:
    """Both ends at once: the agent's (Stream) is this, the server's (AgentPeer) is `peer`."""

    def __init__(self, serve: Callable[[AgentPeer], Awaitable[None]]) -> None:
        self._up: asyncio.Queue[Up | None] = asyncio.Queue()
        self._down: asyncio.Queue[Down | None] = asyncio.Queue()
        self._ended = False
        self._task = asyncio.ensure_future(serve(_Peer(self._up, self._down)))
        self._task.add_done_callback(self._served)

    async def send(self, message: Up) -> None:
        if self._ended:
            raise _ended()
        self._up.put_nowait(message)

    async def receive(self) -> Down:
        message = None if self._ended and self._down.empty() else await self._down.get()
        if message is None:
            self._ended = True
            raise _ended()
        return message

    async def close(self) -> None:
        self._ended = True
        self._up.put_nowait(None)
        await asyncio.wait([self._task], timeout=2)
        self._task.cancel()

    def _served(self, task: "asyncio.Future[None]") -> None:
        self._down.put_nowait(None)
        if not task.cancelled() and (error := task.exception()):
            asyncio.get_running_loop().call_exception_handler({"message": "agent stream", "exception": error})


class _Peer:
    def __init__(self, up: "asyncio.Queue[Up | None]", down: "asyncio.Queue[Down | None]") -> None:
        self._up, self._down, self._gone = up, down, False

    async def receive(self) -> Up | None:
        message = None if self._gone else await self._up.get()
        self._gone = message is None
        return message

    async def send(self, message: Down) -> None:
        self._down.put_nowait(message)

    async def close(self) -> None:
        self._gone = True
        self._down.put_nowait(None)


def _ended() -> LinkDown:
    return LinkDown(Problem(code="no-server", message="The server in this process ended the stream."))
