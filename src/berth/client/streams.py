"""Log lines and events as they come, over connections that break: each is taken up again where it stopped."""

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

from berth.client.errors import ClientError
from berth.client.http import Client, Lost, Query, segment

PATIENCE_S = 60.0
"""How long a server may be away before a stream is given up."""
OVERLAP = 500
"""How many of the newest lines are remembered, to drop those that come twice after a break."""
Notice = Callable[[str], None]


def log_lines(client: Client, job: str, query: Query) -> Iterator[dict[str, Any]]:
    """Lines of a job's output, `{time, stream, text, task, attempt}`, until the server ends the stream.

    Raises Lost when the connection breaks, ClientError when the server refuses.
    """
    for line in client.stream(f"/v1/jobs/{segment(job)}/logs", query, {"Accept": "application/x-ndjson"}):
        if line:
            yield json.loads(line)


class LogFollower:
    """Follows a job's output across broken connections until the job has ended, each line once.

    `since` and `tail` limit what is shown of the past. `notice` tells the person about a break.
    """

    def __init__(self, client: Client, job: str, query: dict[str, str | int | None], notice: Notice) -> None:
        self._client = client
        self._job = job
        self._query = {**query, "follow": 1}
        self._notice = notice
        self._recent: deque[tuple[Any, ...]] = deque(maxlen=OVERLAP)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        retry = Patience(self._notice)
        while True:
            try:
                for line in self._fresh():
                    retry.calm()
                    yield line
                if self._ended():
                    return
                retry.wait(Lost(self._client.target.server, EOFError("the server ended the stream")))
            except ClientError as error:
                retry.wait(error)

    def _fresh(self) -> Iterator[dict[str, Any]]:
        """What one connection brings, without the lines that were there before it broke."""
        self._resume()
        repeated = Counter(self._recent)
        for line in log_lines(self._client, self._job, self._query):
            mark = (line.get("task"), line.get("attempt"), line["time"], line.get("stream"), line["text"])
            if repeated[mark] > 0:
                repeated[mark] -= 1
                continue
            self._recent.append(mark)
            yield line

    def _resume(self) -> None:
        """After a break ask for what follows the oldest remembered line, instead of for the same past again."""
        if not self._recent or (len(self._recent) < OVERLAP and self._query.get("tail") is None):
            return  # every line so far is remembered: asking for the same again loses nothing
        self._query = {**self._query, "since": min(mark[2] for mark in self._recent), "tail": None}

    def _ended(self) -> bool:
        return self._client.get(f"/v1/jobs/{segment(self._job)}").get("ended_at") is not None


def events(client: Client, query: Query, notice: Notice) -> Iterator[dict[str, Any]]:
    """Events as they happen, for ever; after a break those that were missed come first. Raises ClientError."""
    last = ""
    retry = Patience(notice)
    while True:
        try:
            for seq, kind, event in _sse(client, query, last):
                retry.calm()
                last = seq or last
                if kind == "reset":
                    notice("some events were missed: the server no longer has them")
                else:
                    yield event
            retry.wait(Lost(client.target.server, EOFError("the server ended the stream")))
        except ClientError as error:
            retry.wait(error)


def _sse(client: Client, query: Query, last: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(id, event, data) of a stream of server-sent events, each of one line of data; what has no data is skipped."""
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
    fields: dict[str, str] = {}
    for line in client.stream("/v1/events", query, headers):
        if line:
            key, _, value = line.partition(":")
            fields[key] = value.removeprefix(" ")
            continue
        if "data" in fields:
            yield fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"])
        fields = {}


class Patience:
    """Waits between tries, longer each time, and gives up after PATIENCE_S without a sign of the server."""

    def __init__(self, notice: Notice) -> None:
        self._notice = notice
        self._begun = False
        self._broken_at: float | None = None
        self._delay = 0.0

    def calm(self) -> None:
        """Something came: the next break starts anew."""
        self._begun = True
        self._broken_at, self._delay = None, 0.0

    def wait(self, error: ClientError) -> None:
        """Sleep before the next try. Raises `error` when it is no break, or when patience is over."""
        now = time.monotonic()
        self._begun = self._begun or isinstance(error, Lost)
        if error.exit_code != 5 or not self._begun:
            raise error
        if self._broken_at is None:
            self._broken_at = now
            self._notice("the connection to the server is gone; trying again")
        if now - self._broken_at > PATIENCE_S:
            raise error
        self._delay = min(3.0, self._delay * 2 or 0.2)
        time.sleep(self._delay)
