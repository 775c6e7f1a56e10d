"""How long a verb takes as a whole process: `berth cards` and `berth run --detach` against a server on this machine.

The peer beside it is the bare interpreter (`python -c pass`), run in turn with the verbs, so that noise hits both.
JSON keys: `verb_ms` (`berth cards`), `run_ms` (`berth run --detach`), `python_ms`; medians of whole processes.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

BERTH = (sys.executable, "-c", "from berth.main.cli import main; raise SystemExit(main())")
TURNS = 31
READY_S = 30.0


def main() -> None:
    """Start a server on the simulated engine, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cli", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--turns", type=int, default=TURNS, metavar="N", help="processes of each kind")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, server(home) as environ:
        figures = measure(environ, args.turns)
    if args.json:
        print(json.dumps(figures))
    else:
        print(f"berth cards         {figures['verb_ms']:7.1f} ms")
        print(f"berth run --detach  {figures['run_ms']:7.1f} ms")
        print(f"python -c pass      {figures['python_ms']:7.1f} ms   (medians of {args.turns} whole processes)")


@contextmanager
def server(home: str) -> Iterator[dict[str, str]]:
    """`berth up` on the simulated engine; gives the environment in which the CLI finds it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {**os.environ, "XDG_CONFIG_HOME": f"{home}/config"}
    environ.pop("BERTH_SERVER", None)
    environ.pop("BERTH_TOKEN", None)
    words = ["up", "--engine", "simulated", "--simulate", "node1=A100-SXM4-80GB:8"]
    words += ["--data", f"{home}/data", "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen([*BERTH, *words], env=environ, stdout=subprocess.DEVNULL) as running:
        try:
            until_ready(environ)
            yield environ
        finally:
            running.terminate()


def until_ready(environ: dict[str, str]) -> None:
    """Return once `berth cards` answers."""
    end = time.monotonic() + READY_S
    while subprocess.run([*BERTH, "cards"], env=environ, capture_output=True, check=False).returncode:
        if time.monotonic() > end:
            raise SystemExit(f"the server has not answered for {READY_S:g} s")
        time.sleep(0.2)


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
