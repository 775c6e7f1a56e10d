"""A POST that is repeated under one Idempotency-Key happens once: its answer is kept with it, and given again."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from berth.api.answers import JSON, KeyReused, Receive, Scope, Send, send_json
from berth.control.context import Control
from berth.model.change import Remember
from berth.model.errors import BadInput
from berth.model.stored import Content

LONGEST_KEY = 255
SECRETS_KEPT = 100
SECRETS_S = 600.0
"""Answers with a secret are never written to disk: they are repeated from memory, for a few minutes."""


class Pending:
    """The answer to be kept. A route that commits by itself takes `change` into its own batch, so that work and answer
    are one; else the answer is kept after it is known. `instead` replaces an answer that must not be written down.
    """

    def __init__(self, key: str, mark: str, now: Callable[[], float]) -> None:
        self._key = key
        self._mark = mark
        self._now = now
        self.kept = False
        self.instead: bytes | None = None

    def change(self, body: bytes, status: int = 201) -> Remember:
        """The change that keeps this answer."""
        self.kept = True
        return Remember(key=self._key, body_hash=self._mark, response=b"%d %s" % (status, body), at=self._now())


class Idempotent:
    """Calls the inner application at most once per caller and key; the same key at the same time waits its turn."""

    def __init__(self, control: Control, inner: Callable[[Scope, Receive, Send], Any]) -> None:
        self._control = control
        self._inner = inner
        self._under_way: dict[str, asyncio.Event] = {}
        self._secrets: OrderedDict[str, tuple[float, str, bytes]] = OrderedDict()

    async def __call__(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a POST with this key. Raises BadInput, KeyReused."""
        if len(key) > LONGEST_KEY:
            text = f"an Idempotency-Key has at most {LONGEST_KEY} characters; this one has {len(key)}."
            raise BadInput.of("key-too-long", text, "Use a random word per request", field="Idempotency-Key")
        body = await _whole(receive)
        mark, name = self._mark(scope, body), f"{scope['actor'].token}:{key}"
        while (other := self._under_way.get(name)) is not None:
            await other.wait()
        done = self._under_way[name] = asyncio.Event()
        try:
            if not await self._again(name, mark, send):
                await self._first(Pending(name, mark, self._control.clock.now), scope, body, (name, mark), send)
        finally:
            del self._under_way[name]
            done.set()

    def _mark(self, scope: Scope, body: bytes) -> str:
        """Stands for all that the request asks for; keyed, since a body may hold a secret that could be guessed."""
        parts = (scope["method"].encode(), scope["path"].encode(), scope["query_string"], body)
        asked = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return self._control.vault.digest(Content(asked))

    async def _again(self, name: str, mark: str, send: Send) -> bool:
        """Give the kept answer again, if there is one."""
        found = self._secret(name) or await self._control.writer.read(lambda store: store.remembered(name))
        if found is None:
            return False
        if found[0] != mark:
            raise KeyReused.of(
                "key-reused",
                "another request came before under this Idempotency-Key.",
                "Use a new random key for every new request",
                field="Idempotency-Key",
            )
        status, _, body = found[1].partition(b" ")
        await send_json(send, int(status), body, [(b"idempotent-replayed", b"true")])
        return True

    async def _first(self, pending: Pending, scope: Scope, body: bytes, about: tuple[str, str], send: Send) -> None:
        scope["pending"] = pending
        answer = _Captured()
        await self._inner(scope, _replay(body), answer)
        if answer.status < 300:
            if pending.instead is not None:
                self._keep_secret(*about, answer)
            if not pending.kept:
                kept = pending.change(pending.instead or answer.body, 409 if pending.instead else answer.status)
                await self._control.writer.commit((kept,))
        await answer.give(send)

    def _keep_secret(self, name: str, mark: str, answer: "_Captured") -> None:
        now = self._control.clock.monotonic()
        self._secrets[name] = (now, mark, b"%d %s" % (answer.status, answer.body))
        while len(self._secrets) > SECRETS_KEPT:
            self._secrets.popitem(last=False)

    def _secret(self, name: str) -> tuple[str, bytes] | None:
        oldest = self._control.clock.monotonic() - SECRETS_S
        while self._secrets and next(iter(self._secrets.values()))[0] < oldest:
            self._secrets.popitem(last=False)
        kept = self._secrets.get(name)
        return (kept[1], kept[2]) if kept is not None else None


class _Captured:
    """An answer held back until it is kept."""

    def __init__(self) -> None:
        self.status = 500
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", []))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    async def give(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers or [JSON]})
        await send({"type": "http.response.body", "body": self.body})


async def _whole(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        return next(messages, {"type": "http.disconnect"})

    return receive
