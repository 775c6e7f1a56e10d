"""MemoryLogs: the output of attempts in memory, with the same bound, for the simulator and for tests."""

from collections import deque
from collections.abc import Sequence
from itertools import islice

from berth.ports import LogLine

MOST = 10_000_000
"""Bytes of output kept of each attempt."""


class MemoryLogs:
    """`ports.LogStore` in dictionaries."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lines: dict[str, dict[tuple[str, int], deque[LogLine]]] = {}
        self._sizes: dict[tuple[str, int], int] = {}

    def append(self, task: str, attempt: int, lines: Sequence[LogLine]) -> None:
        """Add lines and forget the oldest beyond the bound."""
        key = (task, attempt)
        kept = self._lines.setdefault(task.rpartition(".")[0], {}).setdefault(key, deque())
        kept.extend(lines)
        size = self._sizes.get(key, 0) + sum(len(line.text) for line in lines)
        while size > self._most:
            size -= len(kept.popleft().text)
        self._sizes[key] = size

    def read(self, task: str, attempt: int, since: float = 0.0, tail: int | None = None) -> list[LogLine]:
        """Lines newer than `since`, only the last `tail` of them when given."""
        newest_first = (line for line in reversed(self._of(task, attempt)) if line.time > since)
        return list(islice(newest_first, tail))[::-1]

    def last_time(self, task: str, attempt: int) -> float:
        """Time of the newest line kept; 0.0 when there is none."""
        return max((line.time for line in self._of(task, attempt)), default=0.0)

    def drop(self, job: str) -> None:
        """Forget all output of a job."""
        for key in self._lines.pop(job, {}):
            self._sizes.pop(key, None)

    def _of(self, task: str, attempt: int) -> deque[LogLine]:
        return self._lines.get(task.rpartition(".")[0], {}).get((task, attempt), deque())
