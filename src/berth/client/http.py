"""One small HTTP client: JSON calls, paged lists, and streams of lines, with errors made readable for a person."""

import http.client
import json
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from berth import __version__
from berth.client.config import Target
from berth.client.errors import ClientError, failure

CONNECT_S = 10.0
ANSWER_S = 120.0
"""How long a call may take; a deployment on a busy Swarm takes its time."""
RETRY_AFTER_S = (0.2, 0.5)
Query = Mapping[str, str | int | None]


class Answer(NamedTuple):
    """An answer's status, its headers (lower case), and its decoded JSON (None when there is no body)."""

    status: int
    headers: dict[str, str]
    value: Any


class Lost(ClientError):
    """The connection broke after it had been made: the call may or may not have had an effect."""

    def __init__(self, server: str, error: Exception) -> None:
        self.reason = str(error) or type(error).__name__
        message = f"the connection to {server} broke: {self.reason}"
        hint = "look at what became of it ('berth jobs', 'berth events'), then type it again"
        super().__init__([{"code": "connection-lost", "message": message, "hint": hint}], 5)


class Client:
    """Speaks to one server. Every method raises ClientError; nothing is connected before the first call."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._base = urlsplit(target.server)
        self._tls: ssl.SSLContext | None = None

    def get(self, path: str, query: Query | None = None) -> Any:
        """The JSON at this path."""
        return self.call("GET", path, query=query).value

    def post(self, path: str, body: Any = None, query: Query | None = None) -> Any:
        """Post JSON; safe to repeat, because the server keeps the answer under the key that is sent along."""
        return self.call("POST", path, query=query, body=body).value

    def delete(self, path: str) -> Any:
        """Remove what is at this path."""
        return self.call("DELETE", path).value

    def items(self, path: str, query: Query | None = None) -> list[Any]:
        """The whole list, page after page."""
        found: list[Any] = []
        cursor: str | None = None
        while True:
            page = self.get(path, {**(query or {}), "cursor": cursor})
            found += page["items"]
            cursor = page.get("next")
            if not cursor:
                return found

    def call(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Answer:
        """One call, repeated when the connection broke and a repeat is harmless. `body`: JSON, or bytes as they are."""
        sent = dict(headers or {})
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        if method == "POST":
            sent["Idempotency-Key"] = os.urandom(16).hex()
        address = _address(path, query)
        for delay_s in RETRY_AFTER_S if method in ("GET", "POST") else ():
            try:
                return self._once(method, address, data, sent, timeout_s)
            except Lost:
                time.sleep(delay_s)
        return self._once(method, address, data, sent, timeout_s)

    def stream(
        self,
        path: str,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
        opened: Callable[[], None] = lambda: None,
    ) -> Iterator[str]:
        """Lines of a stream that may stay open for hours; `opened` is called once the server has begun it.

        Raises Lost when it breaks, ClientError when refused.
        """
        connection = self._connect(CONNECT_S)
        try:
            response = self._ask(connection, "GET", _address(path, query), None, dict(headers or {}))
            if response.status >= 300:
                raise self._problem(response.status, response.read())
            if connection.sock is not None:
                connection.sock.settimeout(None)
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            opened()
            yield from _lines(response)
        except (OSError, http.client.HTTPException) as error:
            raise Lost(self.target.server, error) from error
        finally:
            connection.close()

    def _once(self, method: str, address: str, data: bytes | None, headers: dict[str, str], timeout_s: float) -> Answer:
        connection = self._connect(timeout_s)
        try:
            response = self._ask(connection, method, address, data, headers)
            raw = response.read()
        except TimeoutError as error:
            raise self._no_server(f"it has not answered for {timeout_s:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise Lost(self.target.server, error) from error
        finally:
            connection.close()
        if response.status >= 300:
            raise self._problem(response.status, raw)
        try:
            value = json.loads(raw) if raw else None
        except ValueError as error:
            raise self._not_berth("its answer is not JSON") from error
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, value)

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        try:
            connection = self._connection()
            connection.timeout = CONNECT_S
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            raise self._untrusted(error) from error
        except ssl.SSLError as error:
            raise self._not_berth("it does not speak TLS", "write http:// instead of https://") from error
        except (OSError, ValueError) as error:
            raise self._no_server(_plain_reason(error)) from error
        connection.sock.settimeout(timeout_s)
        return connection

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._base.hostname or "", self._base.port
        if self._base.scheme != "https":
            return http.client.HTTPConnection(host, port or 80)
        if self._tls is None:
            self._tls = self._tls_context()
        return http.client.HTTPSConnection(host, port or 443, context=self._tls)

    def _tls_context(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.target.ca or None)
        except OSError as error:
            message = f"the CA file {self.target.ca} cannot be used: {_plain_reason(error)}"
            raise failure("bad-ca", message, "name a PEM file of the server's CA: --ca FILE") from error

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        address: str,
        data: bytes | None,
        sent: dict[str, str],
    ) -> http.client.HTTPResponse:
        headers = {"Accept": "application/json", "User-Agent": f"berth/{__version__}", **sent}
        if self.target.token:
            headers["Authorization"] = f"Bearer {self.target.token}"
        try:
            connection.request(method, self._base.path + address, body=data, headers=headers)
            return connection.getresponse()
        except http.client.BadStatusLine as error:
            if isinstance(error, http.client.RemoteDisconnected):
                raise
            raise self._not_berth("it does not speak HTTP") from error

    def _problem(self, status: int, raw: bytes) -> ClientError:
        try:
            body = json.loads(raw)
            problems, exit_code = list(body["errors"]), int(body["exit_code"])
        except (ValueError, KeyError, TypeError):
            return self._not_berth(f"it answers with HTTP {status}")
        if status == 401:
            for problem in problems:
                problem["hint"] = self._login()
        return ClientError(problems, exit_code)

    def _login(self) -> str:
        return f"type 'berth login {self.target.server}', or add --token-file FILE"

    def _no_server(self, reason: str) -> ClientError:
        return failure(
            "no-server",
            f"no Berth answers at {self.target.server}: {reason}",
            "start one with 'berth up', or name another one: 'berth login URL' or --server URL",
            exit_code=5,
        )

    def _not_berth(self, reason: str, hint: str = "") -> ClientError:
        hint = hint or "name the address that 'berth up' printed: 'berth login URL' or --server URL"
        return failure("not-berth", f"what answers at {self.target.server} is not a Berth: {reason}", hint, 5)

    def _untrusted(self, error: ssl.SSLCertVerificationError) -> ClientError:
        message = f"the certificate of {self.target.server} is not trusted: {error.verify_message}"
        return failure("untrusted-certificate", message, "name the CA that signed it: --ca FILE", exit_code=5)


def segment(text: str) -> str:
    """A name or id as one part of a path."""
    return quote(text, safe="")


def _lines(response: http.client.HTTPResponse) -> Iterator[str]:
    """Lines as they come. Not by `readline`: that takes a broken connection for the end of the stream."""
    rest = b""
    while part := response.read1(65536):
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").removesuffix("\r")
    if rest:
        yield rest.decode("utf-8", "replace")


def _address(path: str, query: Query | None) -> str:
    given = {key: value for key, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _plain_reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "there is no host of this name"
    if isinstance(error, TimeoutError):
        return f"nothing came back within {CONNECT_S:g} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
