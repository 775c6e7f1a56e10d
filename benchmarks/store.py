"""How fast the store keeps things on this machine's disk, beside the bare sqlite3 module writing the same rows.

JSON keys: `thousand_ms` (1,000 submissions in one commit), `one_ms` (a single one), `sqlite_thousand_ms` and
`sqlite_one_ms` (the peer, with the same flush to disk), `grant_ms` (1,000 grants in one commit), `load_ms` (10,000
live jobs read at the start). Medians, in milliseconds.
"""

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TypeVar

from berth.model.change import Batch, Note, PutCard, PutJob, PutTask, Take
from berth.model.event import Event
from berth.store.sql import SqlStore
from berth.store.sql.rows import Row, event_row, job_row, task_row
from tests import build

T = TypeVar("T")
GROUP = 1000
TURNS = 10
SINGLE = 200
NAMES = (f"j{number}" for number in count())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder))
    if args.json:
        print(json.dumps(figures))
        return
    print(
        f"1,000 submissions, one commit  {figures['thousand_ms']:8.2f} ms   sqlite3 {figures['sqlite_thousand_ms']:.2f}"
    )
    print(f"1 submission                   {figures['one_ms']:8.2f} ms   sqlite3 {figures['sqlite_one_ms']:.2f}")
    print(f"1,000 grants, one commit       {figures['grant_ms']:8.2f} ms")
    print(f"10,000 live jobs loaded        {figures['load_ms']:8.2f} ms")


def measure(folder: Path) -> dict[str, float]:
    """The figures, each the median of several turns."""
    store = SqlStore(folder / "berth.db")
    store.open()
    with closing(store):
        many = _median(store.commit, (_submissions(GROUP) for _ in range(TURNS)))
        one = _median(store.commit, (_submissions(1) for _ in range(SINGLE)))
        grant = _median(store.commit, (_grants(store, turn) for turn in range(5)))
        load = _median(lambda _: store.load(), range(3))
    peer = _peer(folder / "peer.db")
    with closing(peer):
        peer_many = _median(lambda rows: _insert(peer, rows), (_rows(_submissions(GROUP)) for _ in range(TURNS)))
        peer_one = _median(lambda rows: _insert(peer, rows), (_rows(_submissions(1)) for _ in range(SINGLE)))
    return {
        "thousand_ms": many,
        "one_ms": one,
        "grant_ms": grant,
        "load_ms": load,
        "sqlite_thousand_ms": peer_many,
        "sqlite_one_ms": peer_one,
    }


def _median(work: Callable[[T], object], inputs: Iterable[T]) -> float:
    taken = []
    for one in inputs:
        began = time.perf_counter()
        work(one)
        taken.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(taken), 3)


def _submissions(number: int) -> list[Batch]:
    return [
        (
            PutJob(build.job(name)),
            PutTask(build.task(name)),
            Note(Event(kind="submitted", message=f"{name} was submitted", time=1.0, job=name)),
        )
        for name in (next(NAMES) for _ in range(number))
    ]


def _grants(store: SqlStore, turn: int) -> list[Batch]:
    cards = [build.card(f"gpu-{turn}-{number // 8}", number % 8) for number in range(GROUP)]
    store.commit([tuple(PutCard(card) for card in cards)])
    names = [f"j{turn * GROUP + number}" for number in range(GROUP)]
    return [
        (
            PutTask(build.task(name, state="starting", attempt=1, cards=(card.uuid,), version=2), was=1),
            Take(f"{name}.1", build.whole(card)),
        )
        for name, card in zip(names, cards, strict=True)
    ]


def _peer(path: Path) -> sqlite3.Connection:
    store = SqlStore(path)
    store.open()
    store.close()
    peer = sqlite3.connect(path, isolation_level=None)
    peer.execute("PRAGMA synchronous = FULL")
    peer.execute("PRAGMA foreign_keys = ON")
    return peer


_seqs = count(1)


def _rows(batches: list[Batch]) -> dict[str, list[Row]]:
    """The rows that the store writes for submissions."""
    changes = [change for batch in batches for change in batch]
    return {
        "jobs": [job_row(one.job) for one in changes if isinstance(one, PutJob)],
        "tasks": [task_row(one.task) for one in changes if isinstance(one, PutTask)],
        "events": [event_row(one.event, next(_seqs)) for one in changes if isinstance(one, Note)],
    }


def _insert(peer: sqlite3.Connection, rows: dict[str, list[Row]]) -> None:
    peer.execute("BEGIN IMMEDIATE")
    for table, found in rows.items():
        columns = ", ".join(found[0])
        places = ", ".join(f":{column}" for column in found[0])
        peer.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", found)
    peer.execute("COMMIT")


if __name__ == "__main__":
    main()
