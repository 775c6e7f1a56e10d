"""How fast 1,000 jobs are taken durably: in one POST of a list, and one by one from 8 clients at the same time.

The clients are threads with a connection each; a job counts once the server has answered, which is after its commit.
The peer is the bare sqlite3 module: the same number of rows, one transaction with a flush for the list, and one each
for the single jobs. JSON keys: `list_ms`, `clients_ms` (1,000 jobs each), `list_cpu_ms`, `clients_cpu_ms` (the server's
CPU time), `sqlite_list_ms`, `sqlite_single_ms`.
"""

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.http import Api
from benchmarks.process import cpu_s
from tests.acceptance.berth import Berth

JOBS = 1000
CLIENTS = 8
TURNS = 3
JOB = {"image": "busybox", "command": ["true"], "gpus": 1}
WAITING = "node1=A100-SXM4-80GB:8"


def main() -> None:
    """Start a server on the simulated engine, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.submit", description=__doc__)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        found = measure(Path(home))
    if args.json:
        print(json.dumps(found))
        return
    print(f"{JOBS} jobs, one list      {found['list_ms']:7.0f} ms   CPU {found['list_cpu_ms']:7.0f} ms")
    print(f"{JOBS} jobs, {CLIENTS} clients     {found['clients_ms']:7.0f} ms   CPU {found['clients_cpu_ms']:7.0f} ms")
    print(
        f"bare sqlite3            {found['sqlite_list_ms']:7.0f} ms, and one by one {found['sqlite_single_ms']:.0f} ms"
    )


def measure(home: Path) -> dict[str, float]:
    """The medians of several turns, each on a fresh server, so that no turn waits behind the jobs of another."""
    taken: dict[str, list[float]] = {}
    for turn in range(TURNS):
        for name, work in (("list", one_list), ("clients", many_clients)):
            wall, cpu = _turn(home / f"{name}-{turn}", work)
            taken.setdefault(f"{name}_ms", []).append(wall)
            taken.setdefault(f"{name}_cpu_ms", []).append(cpu)
    medians = {key: round(statistics.median(values) * 1000, 1) for key, values in taken.items()}
    return {**medians, **bare(home / "peer.db")}


def _turn(folder: Path, work: Callable[[int, Path], None]) -> tuple[float, float]:
    """Seconds by the clock, and of the server's CPU, for 1,000 jobs."""
    folder.mkdir()
    with Berth(folder, "--engine", "simulated", "--simulate", WAITING) as server:
        assert server.process is not None
        api = Api(server.port, folder / "data")
        api.call("POST", "/v1/jobs", JOB)  # the first request of a server's life loads what it needs
        before, began = cpu_s(server.process.pid), time.perf_counter()
        work(server.port, folder / "data")
        wall, cpu = time.perf_counter() - began, cpu_s(server.process.pid) - before
        api.close()
    return wall, cpu


def one_list(port: int, data: Path) -> None:
    """All in one POST: all or none."""
    api = Api(port, data)
    taken = api.call("POST", "/v1/jobs", [JOB] * JOBS)
    api.close()
    if len(taken) != JOBS:
        raise SystemExit(f"{len(taken)} of {JOBS} jobs were taken")


def many_clients(port: int, data: Path) -> None:
    """One POST a job, 8 at a time."""

    def client(number: int) -> None:
        api = Api(port, data)
        for _ in range(number, JOBS, CLIENTS):
            api.call("POST", "/v1/jobs", JOB)
        api.close()

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))


def bare(path: Path) -> dict[str, float]:
    """The same number of rows by sqlite3 alone, each transaction flushed to disk."""
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    store.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, body TEXT)")
    body = json.dumps(JOB)
    began = time.perf_counter()
    store.execute("BEGIN")
    store.executemany("INSERT INTO jobs (body) VALUES (?)", [(body,)] * JOBS)
    store.execute("COMMIT")
    listed = time.perf_counter()
    for _ in range(JOBS):
        store.execute("INSERT INTO jobs (body) VALUES (?)", (body,))
    single = time.perf_counter()
    store.close()
    return {
        "sqlite_list_ms": round((listed - began) * 1000, 1),
        "sqlite_single_ms": round((single - listed) * 1000, 1),
    }


if __name__ == "__main__":
    main()
