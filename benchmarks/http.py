"""A client of Berth's HTTP API that keeps its connection open, as a program that submits jobs does."""

import http.client
import json
from pathlib import Path
from typing import Any


class Api:
    """One connection with one token."""

    def __init__(self, port: int, data: Path) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        token = (data / "admin.token").read_text().strip()
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: object = None) -> Any:
        """One request, decoded. Raises RuntimeError for an answer that is not a success."""
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        told = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {told[:500]!r}")
        return json.loads(told) if told.strip() else None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
