"""Figures in words: ages, sizes, cards and counts, the same in every table."""

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any


def seconds(stamp: str | None) -> float | None:
    """An RFC 3339 time as seconds since the epoch; None stays None."""
    return datetime.fromisoformat(stamp).timestamp() if stamp else None


def ago(stamp: str | None, now: float | None = None) -> str:
    """How long ago a time was, in one unit or two: "42s", "3m", "5h", "12d"."""
    then = seconds(stamp)
    return "" if then is None else span(max(0.0, (time.time() if now is None else now) - then))


def span(length_s: float) -> str:
    """A length of time, short: "0.4s", "42s", "3m", "5h", "12d"."""
    if length_s < 1:
        return f"{length_s:.1f}s"
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "m"), (172800, 3600, "h")):
        if length_s < limit:
            return f"{int(length_s // size)}{unit}"
    return f"{int(length_s // 86400)}d"


def between(start: str | None, end: str | None) -> str:
    """How long something lasted; "" where it has not begun; until now where it has not ended."""
    first, last = seconds(start), seconds(end)
    return "" if first is None else span(max(0.0, (time.time() if last is None else last) - first))


def clock(stamp: str | None) -> str:
    """A time as a person's own clock shows it, to the second."""
    then = seconds(stamp)
    return "" if then is None else datetime.fromtimestamp(then).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def mib(amount: int | None) -> str:
    """Memory: "40 GiB", "512 MiB", or "unknown"."""
    if not amount:
        return "unknown"
    return f"{amount / 1024:.0f} GiB" if amount >= 1024 else f"{amount} MiB"


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 card", "2 cards"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def short_cards(cards: Iterable[str]) -> str:
    """UUIDs as a person can tell them apart: the first characters; NODE/INDEX stays whole."""
    return ", ".join(uuid if "/" in uuid or len(uuid) <= 12 else uuid[:12] for uuid in cards)


def job_nodes(job: dict[str, Any]) -> str:
    """The nodes where a job's tasks are, in order of slots, each once."""
    return ", ".join(dict.fromkeys(task["node"] for task in job.get("tasks", []) if task.get("node")))


def note(job: dict[str, Any]) -> str:
    """What there is to say beside a job's state: why it waits, how it ended; "" where the state says it all."""
    message = job.get("message") or job.get("reason") or ""
    code = job.get("exit_code")
    if job["state"] in FINISHED and code is not None:
        ended = f"exit {code}"
        return ended if message in ("", "exit", ended, f"task: non-zero exit ({code})") else f"{ended}: {message}"
    return "" if message == job["state"] else message


def cards_of_wanted(job: dict[str, Any]) -> str:
    """How many cards a job has: "2", or "1 of 4" while it has not all that its tasks ask for."""
    if job["gpus"] < 0:
        return f"all ({job_cards(job)})"
    wanted, held = job["gpus"] * job["replicas"], job_cards(job)
    return str(wanted) if held == wanted or job["state"] in FINISHED else f"{held} of {wanted}"


def job_cards(job: dict[str, Any]) -> int:
    """How many cards a job's tasks hold now."""
    return sum(len(task.get("cards", [])) for task in job.get("tasks", []) if task.get("state") not in ENDED)


ENDED = frozenset({"ended", "failed"})
FINISHED = frozenset({"succeeded", "failed", "cancelled"})
