"""How long a verb takes as a whole process: `berth cards` and `berth run --detach` against a server on this machine.

The peer beside it is the bare interpreter (`python -c pass`), run in turn with the verbs, so that noise hits both.
JSON keys: `verb_ms` (`berth cards`), `run_ms` (`berth run --detach`), `python_ms`; medians of whole processes.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.acceptance.berth import Berth

BERTH = (sys.executable, "-m", "berth")
TURNS = 31


def main() -> None:
    """Start a server on the simulated engine, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cli", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--turns", type=int, default=TURNS, metavar="N", help="processes of each kind")
    args = parser.parse_args()
    simulated = ("--engine", "simulated", "--simulate", "node1=A100-SXM4-80GB:8")
    with tempfile.TemporaryDirectory() as home, Berth(Path(home), *simulated) as server:
        figures = measure(server.environ, args.turns)
    if args.json:
        print(json.dumps(figures))
    else:
        print(f"berth cards         {figures['verb_ms']:7.1f} ms")
        print(f"berth run --detach  {figures['run_ms']:7.1f} ms")
        print(f"python -c pass      {figures['python_ms']:7.1f} ms   (medians of {args.turns} whole processes)")


def measure(environ: dict[str, str], turns: int) -> dict[str, float]:
    """Medians in milliseconds; the first turn warms the disk's cache and is not counted."""
    kinds = {
        "verb_ms": [*BERTH, "cards"],
        "run_ms": [*BERTH, "run", "--detach", "busybox", "true"],
        "python_ms": [sys.executable, "-c", "pass"],
    }
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(turns + 1):
        for kind, words in kinds.items():
            began = time.perf_counter()
            subprocess.run(words, env=environ, check=True, stdout=subprocess.DEVNULL)
            taken[kind].append((time.perf_counter() - began) * 1000)
    return {kind: round(statistics.median(times[1:]), 1) for kind, times in taken.items()}


if __name__ == "__main__":
    main()
