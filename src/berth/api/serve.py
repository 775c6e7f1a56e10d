"""Runs the application on granian inside this process and event loop, and stops it cleanly."""

import asyncio
import contextlib
import logging
import resource
import socket
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces, TaskImpl
from granian.errors import ConfigurationError
from granian.http import HTTP1Settings
from granian.server import embed

from berth.api.answers import Receive, Scope, Send
from berth.model.errors import BadInput, Problem

BACKLOG = 1024
MOST_CONNECTIONS = 8192
"""Connections at the same time; more wait until one ends."""
FILES = 2 * MOST_CONNECTIONS
HEADERS_MS = 30_000
"""How long a connection may be without a whole head of a request, from its start or from the last answer."""
STOP_S = 3
"""How long answers that are under way may take after the stop was asked for."""


_Granian: Any = embed.Server


class App(Protocol):
    """What is served."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        ...

    async def close(self) -> None:
        """End what would go on for hours."""
        ...


class Tls(NamedTuple):
    """The server's certificate (with its chain) and private key, both PEM files."""

    cert: Path
    key: Path


class Server:
    """A running server: `port` is the one that is really bound."""

    def __init__(self, app: App, listener: socket.socket, tls: Tls | None) -> None:
        self.host, self.port = listener.getsockname()[:2]
        self._app = app
        self._granian = _Embedded(app, listener, tls)
        self._running = asyncio.get_running_loop().create_task(self._granian.serve(), name="http")

    async def stop(self) -> None:
        """Take no more connections, end the streams, let short answers finish; all within a few seconds."""
        await self._app.close()
        self._granian.end()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S + 1):
                await self._running

    async def broken(self) -> None:
        """Returns when the server has ended."""
        await asyncio.wait([self._running])


async def serve(app: App, host: str, port: int, tls: Tls | None = None) -> Server:
    """Serve `app` at this address; port 0 takes a free one. Raises OSError when the address cannot be had,
    and BadInput when the certificate cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    listener.setblocking(False)
    try:
        return Server(app, listener, tls)
    except (OSError, ConfigurationError) as error:
        listener.close()
        raise _bad_certificate(tls, error) from error


def _room() -> int:
    """How many connections are taken: half of the files that this process may open, which is raised where it can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        soft = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(MOST_CONNECTIONS, soft // 2)


def _bad_certificate(tls: Tls | None, error: Exception) -> BadInput:
    files = f"{tls.cert} and {tls.key}" if tls else "the certificate"
    reason = getattr(error, "strerror", "") or str(error)
    return BadInput(
        Problem(
            code="bad-certificate",
            message=f"{files} cannot be used for TLS: {reason}.",
            hint="Name a certificate and its private key, both in PEM form: --tls-cert FILE --tls-key FILE",
        )
    )


class _Embedded(_Granian):  # type: ignore[misc]
    """Granian on a socket that is bound already: its own would share the port with a second server (SO_REUSEPORT)."""

    def __init__(self, app: App, listener: socket.socket, tls: Tls | None) -> None:
        logging.getLogger("_granian").setLevel(logging.ERROR)
        logging.getLogger("granian").setLevel(logging.ERROR)
        super().__init__(
            target=app,
            interface=Interfaces.ASGINL,
            task_impl=TaskImpl.asyncio,
            http=HTTPModes.http1,
            backlog=BACKLOG,
            backpressure=_room(),
            http1_settings=HTTP1Settings(header_read_timeout=HEADERS_MS),
            log_enabled=False,
            ssl_cert=tls.cert if tls else None,
            ssl_key=tls.key if tls else None,
        )
        self.workers_kill_timeout = STOP_S
        self._listener = listener

    def end(self) -> None:
        """Ask for the end of `serve`."""
        self.signal_handler_interrupt()

    def _init_shared_socket(self) -> None:
        holder: Any = SocketHolder
        self._ssp = None
        self._shd = holder(self._listener.detach(), False, BACKLOG)
        self._sfd = self._shd.get_fd()
