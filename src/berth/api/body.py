"""The body of a request as it comes in: bounded in size and in time, by the front, before anything else reads it."""

import asyncio
import contextlib
from typing import Any

from berth.api.answers import Receive, Scope, TooLarge, TooSlow, header

MOST_BYTES = 32 * 1024 * 1024
"""The largest body: a bundle of stack files (4 MiB each) in base64."""
STALL_S = 30.0
"""How long a body may stand still."""
WHOLE_S = 300.0
"""How long a body may take from its first byte to its last."""
DISCARD_S = 5.0


class Body:
    """The ASGI receive of one request: the same messages, and an error where they are too many or too slow."""

    __slots__ = ("_ends", "_left", "_receive", "_scope", "_whole")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._left = MOST_BYTES
        self._ends = 0.0
        self._whole = False

    def check_announced(self) -> None:
        """Raises TooLarge for a body that says itself that it is, before any of it is read."""
        length = header(self._scope, b"content-length")
        if length.isdigit() and int(length) > MOST_BYTES:
            raise _too_large()

    async def __call__(self) -> Any:
        """The next message. Raises TooLarge, TooSlow. After the body it is the end of the connection, at any time."""
        message = await (self._receive() if self._whole else self._in_time())
        self._count(message)
        if self._left < 0:
            raise _too_large()
        return message

    async def end(self) -> None:
        """After the answer: read on for a moment what nobody wanted. Who still sends when the connection closes never
        sees the answer.
        """
        sends = header(self._scope, b"content-length") or header(self._scope, b"transfer-encoding")
        if self._whole or not sends:
            return
        self._left = MOST_BYTES
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_S):
                while self._left > 0 and not self._whole:
                    self._count(await self._receive())

    async def _in_time(self) -> Any:
        now = asyncio.get_running_loop().time()
        self._ends = self._ends or now + WHOLE_S
        try:
            async with asyncio.timeout_at(min(now + STALL_S, self._ends)):
                return await self._receive()
        except TimeoutError:
            self._whole = True  # nothing more is waited for
            raise _too_slow() from None

    def _count(self, message: Any) -> None:
        self._left -= len(message.get("body", b""))
        self._whole = self._whole or not message.get("more_body", False)


def _too_large() -> Exception:
    return TooLarge.of(
        "body-too-large",
        f"the request is larger than {MOST_BYTES >> 20} MiB.",
        "Send less at once: split a list of jobs, keep data out of stack files",
    )


def _too_slow() -> Exception:
    return TooSlow.of(
        "body-too-slow",
        f"the request stood still for {STALL_S:g} seconds, or was not whole after {WHOLE_S:g}.",
        "Send it again; on a slow line send less at once",
    )
