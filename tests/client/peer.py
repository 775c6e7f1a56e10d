"""A peer on a real socket that answers each connection with the next of its scripted bytes, then closes it."""

import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


class Peer:
    """`url` is where it listens; `asked` holds what each connection sent."""

    def __init__(self, listener: socket.socket, answers: Sequence[bytes], tls: ssl.SSLContext | None) -> None:
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{listener.getsockname()[1]}"
        self.asked: list[bytes] = []
        self._listener = listener
        self._answers = answers
        self._tls = tls

    def serve(self) -> None:
        """Answer as many connections as there are answers."""
        for answer in self._answers:
            with suppress(OSError):
                connection, _ = self._listener.accept()
                with self._wrapped(connection) as stream:
                    self.asked.append(_request(stream))
                    stream.sendall(answer)
        self._listener.close()

    def _wrapped(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection


@contextmanager
def peer(*answers: bytes, tls: ssl.SSLContext | None = None) -> Iterator[Peer]:
    """Listen on a free port and play the answers, one per connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(20)
    found = Peer(listener, answers, tls)
    thread = threading.Thread(target=found.serve)
    thread.start()
    try:
        yield found
    finally:
        listener.close()
        thread.join()


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """A whole answer with its length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunked(*parts: bytes, whole: bool = True) -> bytes:
    """A streamed answer; not `whole`: the connection breaks before its end."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return head + body + (b"0\r\n\r\n" if whole else b"")


def _request(stream: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = stream.recv(65536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while lengths and len(body) < lengths[0]:
        body += stream.recv(65536)
    return head + b"\r\n\r\n" + body
