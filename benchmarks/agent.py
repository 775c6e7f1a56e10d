"""What a node's agent takes while nothing happens: memory and CPU with 8 NVIDIA cards and a Docker daemon of its own.

The whole `berth agent` process runs NVIDIA's real bindings on a library that lists 8 linked cards, beside a real daemon
with five containers, and talks to a server over a WebSocket. The peer beside it is the bare interpreter.
JSON keys: `rss_mib` (all of it resident), `cpu_percent` (of one core), `python_rss_mib`.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.process import bare_mib, cpu_s, resident_mib
from tests.agent.server import HttpServer, Server, token_file
from tests.testbed import build
from tests.testbed.daemons import DockerHost
from tests.testbed.image import IMAGE
from tests.testbed.lab import Lab
from tests.testbed.nvml import FakeCard, FakeNvml

BERTH = (sys.executable, "-c", "from berth.main.cli import main; raise SystemExit(main())")
CARDS = 8
SETTLE_S = 10.0


def main() -> None:
    """Start daemon, server and agent, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=float, default=40.0, metavar="S", help="how long the agent is watched")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, Lab("bag", "10.87.0") as lab, DockerHost(lab, "gpu-1") as host:
        for _ in range(5):
            host.docker("run", "--detach", IMAGE)
        figures = asyncio.run(measure(host, Path(home), args.seconds))
    if args.json:
        print(json.dumps(figures))
    else:
        print(f"berth agent, {CARDS} cards  {figures['rss_mib']:6.1f} MiB  {figures['cpu_percent']:6.3f} % of a core")
        print(f"python -c pass         {figures['python_rss_mib']:6.1f} MiB")


async def measure(host: DockerHost, home: Path, seconds: float) -> dict[str, float]:
    """The figures of an agent that was left alone for `seconds`."""
    fake = FakeNvml(home / "nvml", [_card(index) for index in range(CARDS)])
    fake.write()
    server = Server(lease_s=15)
    http = HttpServer(server, "secret")
    await http.start()
    words = ["agent", "--server", http.url, "--token-file", str(token_file(home, "secret")), "--docker-host", host.url]
    environ = {**os.environ, **fake.environment(build.nvml())}
    agent = await asyncio.create_subprocess_exec(*BERTH, *words, env=environ, stderr=subprocess.DEVNULL)
    try:
        await asyncio.sleep(SETTLE_S)
        before, began = cpu_s(agent.pid), time.monotonic()
        await asyncio.sleep(seconds)
        used, took = cpu_s(agent.pid) - before, time.monotonic() - began
        if not server.heard:
            raise SystemExit("the agent never reached the server")
        resident = resident_mib(agent.pid)
    finally:
        agent.terminate()
        await agent.wait()
        await http.stop()
    return {"rss_mib": resident, "cpu_percent": 100 * used / took, "python_rss_mib": bare_mib()}


def _card(index: int) -> FakeCard:
    """One of eight cards, each linked to the six that follow."""
    links = {link: _bus((index + link + 1) % CARDS) for link in range(6)}
    return FakeCard(f"GPU-{index:08d}-0000-0000-0000-000000000000", pci=_bus(index), links=links)


def _bus(index: int) -> str:
    return f"00000000:{index + 1:02X}:00.0"


if __name__ == "__main__":
    main()
