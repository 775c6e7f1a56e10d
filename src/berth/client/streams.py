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
SAID_AGAIN = (5, 20)
"""After how many breaks without a line between them the person is told again; from the last on, each time so many."""
Notice = Callable[[str], None]


def log_lines(
    client: Client, job: str, query: Query, opened: Callable[[], None] = lambda: None
) -> Iterator[dict[str, Any]]:
    """Lines of a job's output, `{time, stream, text, task, attempt}`, until the server ends the stream.

    `opened` is called once it has begun. Raises Lost when the connection breaks, ClientError when the server refuses.
    """
    for line in client.stream(f"/v1/jobs/{segment(job)}/logs", query, {"Accept": "application/x-ndjson"}, opened):
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
                for line in self._fresh(retry):
                    retry.calm()
                    yield line
                if self._ended():
                    return
                retry.wait(Lost(self._client.target.server, EOFError("the server ended the stream")))
            except ClientError as error:
                retry.wait(error)

    def _fresh(self, retry: "Patience") -> Iterator[dict[str, Any]]:
        """What one connection brings, without the lines that were there before it broke."""
        self._resume()
        repeated = Counter(self._recent)
        for line in log_lines(self._client, self._job, self._query, retry.answered):
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
            for seq, kind, event in _sse(client, query, last, retry.answered):
                retry.calm()
                last = seq or last
                if kind == "reset":
                    notice("some events were missed: the server no longer has them")
                else:
                    yield event
            retry.wait(Lost(client.target.server, EOFError("the server ended the stream")))
        except ClientError as error:
            retry.wait(error)


def _sse(
    client: Client, query: Query, last: str, opened: Callable[[], None]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(id, event, data) of a stream of server-sent events, each of one line of data; what has no data is skipped."""
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
    fields: dict[str, str] = {}
    for line in client.stream("/v1/events", query, headers, opened):
        if line:
            key, _, value = line.partition(":")
            fields[key] = value.removeprefix(" ")
            continue
        if "data" in fields:
            yield fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"])
        fields = {}


class Patience:
    """Waits between tries, longer each time, and gives up after PATIENCE_S without a sign of the server.

    A server that answers and lets the stream break again and again is not away: that goes on, and is said.
    """

    def __init__(self, notice: Notice, clock: Callable[[], float] = time.monotonic) -> None:
        self._notice = notice
        self._clock = clock
        self._begun = False
        self._broken_at: float | None = None
        self._breaks = 0
        self._delay = 0.0

    def answered(self) -> None:
        """The server has begun the stream again: it is there."""
        self._begun = True
        self._broken_at = None

    def calm(self) -> None:
        """Something came: the next break starts anew."""
        self.answered()
        self._breaks, self._delay = 0, 0.0

    def wait(self, error: ClientError) -> None:
        """Sleep before the next try. Raises `error` when it is no break, or when patience is over."""
        now = self._clock()
        self._begun = self._begun or isinstance(error, Lost)
        if error.exit_code != 5 or not self._begun:
            raise error
        if self._broken_at is None:
            self._broken_at = now
            self._breaks += 1
            self._say()
        if now - self._broken_at > PATIENCE_S:
            raise error
        self._delay = min(3.0, self._delay * 2 or 0.2)
        time.sleep(self._delay)

    def _say(self) -> None:
        if self._breaks == 1:
            self._notice("the connection to the server is gone; trying again")
        elif self._breaks in SAID_AGAIN or self._breaks % SAID_AGAIN[-1] == 0:
            self._notice(
                f"the stream has broken {self._breaks} times and brought nothing; trying again "
                "(a proxy between here and the server may cut it; Ctrl-C ends this)"
            )
