"""What a server takes while nothing happens: 1,000 simulated nodes of 8 cards each, watched for half a minute.

Also how long it takes until it is up, and what 100 jobs a second cost it in CPU on 64 cards. The peers are the bare
interpreter, and the server's own memory with one node, so that it is seen what the nodes cost.
JSON keys: `rss_mib`, `cpu_percent` (of one core, idle), `start_s`, `one_node_rss_mib`, `one_node_start_s`,
`python_rss_mib`, `job_cpu_ms` (CPU per job, from submit to end).
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.http import Api
from benchmarks.process import bare_mib, cpu_s, resident_mib
from tests.acceptance.berth import Berth

NODES = 1000
CARDS = 8
SETTLE_S = 5.0
PER_S = 100
BURST = 10
JOB = {"image": "busybox", "command": ["sleep", "0.2"], "gpus": 1}


def main() -> None:
    """Start servers, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.footprint", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=30.0, metavar="S", help="how long the server is watched")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        found = measure(Path(home), args.seconds)
    if args.json:
        print(json.dumps(found))
        return
    print(f"{NODES} nodes x {CARDS} cards  {found['rss_mib']:6.1f} MiB   idle {found['cpu_percent']:5.2f} % of a core")
    print(
        f"1 node                {found['one_node_rss_mib']:6.1f} MiB   python -c pass {found['python_rss_mib']:.1f} MiB"
    )
    print(f"until it is up        {found['start_s']:6.2f} s     1 node {found['one_node_start_s']:.2f} s")
    print(f"{PER_S} jobs/s, 64 cards   {found['job_cpu_ms']:6.2f} ms of CPU per job")


def measure(home: Path, seconds: float) -> dict[str, float]:
    """All figures, one server after the other."""
    whole = watched(home / "many", spec(NODES, CARDS), seconds)
    one = watched(home / "one", spec(1, CARDS), 0.0)
    return {
        **whole,
        "one_node_rss_mib": one["rss_mib"],
        "one_node_start_s": one["start_s"],
        "python_rss_mib": round(bare_mib(), 1),
        "job_cpu_ms": per_job(home / "busy", seconds),
    }


def spec(nodes: int, cards: int) -> str:
    """The words of --simulate."""
    return ",".join(f"node{number}=A100-SXM4-80GB:{cards}" for number in range(1, nodes + 1))


def watched(folder: Path, simulate: str, seconds: float) -> dict[str, float]:
    """Memory and CPU of a server that is left alone."""
    folder.mkdir()
    began = time.perf_counter()
    with Berth(folder, "--engine", "simulated", "--simulate", simulate) as server:
        up = time.perf_counter() - began
        assert server.process is not None
        pid = server.process.pid
        server("cards")  # one request, so that what answers is loaded too
        time.sleep(SETTLE_S)
        before, since = cpu_s(pid), time.monotonic()
        time.sleep(seconds)
        used, took = cpu_s(pid) - before, time.monotonic() - since
        return {
            "rss_mib": round(resident_mib(pid), 1),
            "cpu_percent": round(100 * used / took, 2) if seconds else 0.0,
            "start_s": round(up, 2),
        }


def per_job(folder: Path, seconds: float) -> float:
    """The server's CPU for one job that comes, runs and goes, in milliseconds, at a steady rate."""
    folder.mkdir()
    with Berth(folder, "--engine", "simulated", "--simulate", spec(8, 8)) as server:
        assert server.process is not None
        api = Api(server.port, folder / "data")
        before, began, sent = cpu_s(server.process.pid), time.monotonic(), 0
        while time.monotonic() < began + seconds:
            api.call("POST", "/v1/jobs", [JOB] * BURST)
            sent += BURST
            time.sleep(max(0.0, began + sent / PER_S - time.monotonic()))
        while _live(api):
            time.sleep(0.2)
        used = cpu_s(server.process.pid) - before
        api.close()
    return round(1000 * used / sent, 2)


def _live(api: Api) -> bool:
    page: dict[str, Any] = api.call("GET", "/v1/jobs?limit=1")
    return bool(page["items"])


if __name__ == "__main__":
    main()
