"""Opens connections to a daemon for `client`: unix socket, tcp, TLS, or `ssh HOST docker system dial-stdio`."""

import asyncio
import socket
import ssl
import subprocess
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.client_proto import ResponseHandler

from berth.dockerapi.address import Address, TlsFiles
from berth.model.errors import BadInput, Problem

KEPT_STDERR = 2000


def connector(address: Address) -> tuple[aiohttp.BaseConnector, str]:
    """A connector for the address, and the base URL to ask over it. Raises BadInput for unusable TLS files."""
    parts = urlsplit(address.url)
    if parts.scheme == "unix":
        return aiohttp.UnixConnector(path=parts.path, limit=0), "http://docker"
    if parts.scheme == "ssh":
        return SshConnector(ssh_command(address.url)), "http://docker"
    base = f"{parts.hostname}:{parts.port or (2376 if address.tls else 2375)}"
    if address.tls or parts.scheme == "https":
        return aiohttp.TCPConnector(limit=0, ssl=_ssl(address.tls or TlsFiles())), f"https://{base}"
    return aiohttp.TCPConnector(limit=0), f"http://{base}"


def ssh_command(url: str) -> list[str]:
    """The command that carries one connection, as docker/cli's connhelper builds it. Raises BadInput."""
    parts = urlsplit(url)
    if not parts.hostname or parts.password or parts.query or parts.fragment:
        raise BadInput(
            Problem(
                code="bad-docker-host",
                message=f"{url} is not an ssh address of a Docker daemon.",
                hint="Write ssh://user@host or ssh://user@host:port; the password is left to ssh-agent or a key.",
            )
        )
    words = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-T"]
    words += ["-l", parts.username] if parts.username else []
    words += ["-p", str(parts.port)] if parts.port else []
    dial = ["docker", "--host", f"unix://{parts.path}"] if parts.path.strip("/") else ["docker"]
    return [*words, "--", parts.hostname, *dial, "system", "dial-stdio"]


class SshConnector(aiohttp.BaseConnector):
    """One ssh process per connection; its standard input and output are the connection itself."""

    def __init__(self, command: list[str]) -> None:
        super().__init__(limit=0, keepalive_timeout=300)
        self._command = command
        self._watchers: set[asyncio.Task[None]] = set()
        self.said = ""

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> ResponseHandler:  # noqa: ARG002
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.PIPE
                )
            except OSError as error:
                ours.close()
                raise aiohttp.ClientConnectorError(req.connection_key, error) from error
        ours.setblocking(False)
        _, protocol = await self._loop.create_connection(self._factory, sock=ours)
        watcher = self._loop.create_task(self._watch(process))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return protocol

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Keep what ssh says, and see it off: it ends when its side of the connection is closed."""
        try:
            while process.stderr and (line := await process.stderr.readline()):
                self.said = (self.said + line.decode(errors="replace"))[-KEPT_STDERR:]
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def end(self) -> None:
        """Wait for the ssh processes to leave, then end those that do not."""
        if self._watchers:
            await asyncio.wait(self._watchers, timeout=1)
        for watcher in list(self._watchers):
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)


def _ssl(files: TlsFiles) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=files.ca or None)
        if not files.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if files.cert:
            context.load_cert_chain(files.cert, files.key or None)
    except OSError as error:
        raise BadInput(
            Problem(
                code="bad-docker-tls",
                message=f"The TLS files for the Docker daemon cannot be used: {error}.",
                hint=f"Check {files.ca or 'ca.pem'}, {files.cert or 'cert.pem'} and {files.key or 'key.pem'}.",
            )
        ) from error
    return context
