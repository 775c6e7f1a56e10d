"""How many `GET /v1/cards` a server answers: 64 cards, token checked, asked by wrk on the same machine.

Measured once at rest and once while jobs come and go on the simulated engine: 110 a second are submitted, and at least
100 a second have to be over, too. The peer beside it is the same answer, with the same token check, by a plain route
of the framework (its guard) on the same HTTP server. JSON keys: `requests_per_s`, `p99_ms`; with `loaded_` under load
(`jobs_per_s`: how many came and went in each second of that); with `peer_` the peer's.
"""

import argparse
import asyncio
import hashlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

BERTH = (sys.executable, "-c", "from berth.main.cli import main; raise SystemExit(main())")
CARDS = ",".join(f"node{n}=A100-SXM4-80GB:8" for n in range(1, 9))
CLIENTS = 16
READY_S = 30.0
JOBS_PER_S = 110
WARM_S = 1.0
"""How long jobs come before they are counted: as many go then as come."""
MOST_LIVE = 1000
AT_ONCE = 10
JOB = {"image": "busybox", "command": ["sleep", "0.2"], "gpus": 1}
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


class Door(NamedTuple):
    """A running server: its port and a token that it takes."""

    port: int
    token: str


class Figures(NamedTuple):
    """What wrk found: answers per second, and the latency that 99 of 100 stayed under, in milliseconds."""

    requests_per_s: float
    p99_ms: float


def main() -> None:
    """Start the servers, measure in turn, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.api", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seconds", type=int, default=10, metavar="N", help="length of each measurement")
    parser.add_argument("--peer", nargs=2, metavar=("PORT", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        asyncio.run(peer(int(args.peer[0]), Path(args.peer[1])))
        return
    if shutil.which("wrk") is None:
        raise SystemExit("this benchmark needs wrk: apt-get install wrk")
    with tempfile.TemporaryDirectory() as home:
        found = measure(Path(home), args.seconds)
    print(json.dumps(found) if args.json else in_words(found))


def measure(home: Path, seconds: int) -> dict[str, float]:
    """All figures; server and peer are measured one after the other, never together."""
    with berth(home) as door:
        rest = wrk(door, seconds)
        with Jobs(door) as jobs, jobs.counted():
            loaded = wrk(door, seconds)
        body = get(door, "/v1/cards")
    with plain(home, body) as door:
        other = wrk(door, seconds)
    return {
        **rest._asdict(),
        **{f"loaded_{key}": value for key, value in loaded._asdict().items()},
        "jobs_per_s": jobs.per_s,
        **{f"peer_{key}": value for key, value in other._asdict().items()},
    }


def in_words(found: dict[str, float]) -> str:
    """The figures for a person."""
    rows = (
        ("berth, at rest", found["requests_per_s"], found["p99_ms"]),
        (f"berth, {found['jobs_per_s']:g} jobs/s", found["loaded_requests_per_s"], found["loaded_p99_ms"]),
        ("plain route, at rest", found["peer_requests_per_s"], found["peer_p99_ms"]),
    )
    return "\n".join(f"{name:<24}{per_s:>10,.0f} requests/s   p99 {p99:6.2f} ms" for name, per_s, p99 in rows)


@contextmanager
def berth(home: Path) -> Iterator[Door]:
    """`berth up` on the simulated engine."""
    port = free_port()
    words = ["up", "--engine", "simulated", "--simulate", CARDS, "--data", f"{home}/data"]
    environ = {**os.environ, "XDG_CONFIG_HOME": f"{home}/config"}
    command = [*BERTH, *words, "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as running:
        try:
            until_ready(port, running)
            yield Door(port, (home / "data" / "admin.token").read_text().strip())
        finally:
            running.terminate()


@contextmanager
def plain(home: Path, body: bytes) -> Iterator[Door]:
    """The peer's process."""
    port, file = free_port(), home / "body.json"
    file.write_bytes(body)
    command = [sys.executable, "-m", "benchmarks.api", "--peer", str(port), str(file)]
    with subprocess.Popen(command) as running:
        try:
            until_ready(port, running)
            yield Door(port, file.name)
        finally:
            running.terminate()


async def peer(port: int, file: Path) -> None:
    """A plain route that answers these bytes to whoever has the token, until the process is ended."""
    import litestar
    from litestar import Litestar, Response
    from litestar.connection import ASGIConnection
    from litestar.exceptions import NotAuthorizedException
    from litestar.handlers import BaseRouteHandler

    from berth.api.serve import serve

    body, known = await asyncio.to_thread(file.read_bytes), {hashlib.sha256(file.name.encode()).hexdigest()}

    def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        secret = connection.headers.get("authorization", "")[len("Bearer ") :]
        if hashlib.sha256(secret.encode()).hexdigest() not in known:
            raise NotAuthorizedException

    @litestar.get("/v1/cards", guards=[guard])
    async def cards() -> Response[bytes]:
        return Response(body, media_type="application/json")

    @litestar.get("/healthz")
    async def healthz() -> str:
        return "ok"

    app: Any = Litestar([cards, healthz], openapi_config=None, logging_config=None)
    await serve(app, "127.0.0.1", port)
    await asyncio.Event().wait()


def free_port() -> int:
    """A port that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def until_ready(port: int, running: "subprocess.Popen[bytes]") -> None:
    """Return once the server answers."""
    end = time.monotonic() + READY_S
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        if running.poll() is not None or time.monotonic() > end:
            raise SystemExit("the server did not start")
        time.sleep(0.1)


def get(door: Door, path: str) -> bytes:
    """The body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)
    connection.request("GET", path, headers={"Authorization": f"Bearer {door.token}"})
    body = connection.getresponse().read()
    connection.close()
    return body


def wrk(door: Door, seconds: int) -> Figures:
    """One run of wrk. Raises SystemExit when an answer was not 200."""
    command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--latency"]
    command += ["-H", f"Authorization: Bearer {door.token}", f"http://127.0.0.1:{door.port}/v1/cards"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate, late = re.search(r"Requests/sec:\s*([\d.]+)", text), re.search(r"99%\s+([\d.]+)(us|ms|s)\b", text)
    if rate is None or late is None or "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"wrk met errors:\n{text}")
    return Figures(round(float(rate[1])), round(float(late[1]) * UNITS[late[2]], 2))


class Jobs:
    """Short jobs, JOBS_PER_S submitted in lists of AT_ONCE, by a thread from `with` to its end."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._sent = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._submit)
        self.per_s = 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Sets `per_s` to how many came and went in a second of the block."""
        time.sleep(WARM_S)
        gone, began = self._gone(), time.monotonic()
        yield
        self.per_s = round((self._gone() - gone) / (time.monotonic() - began), 1)

    def __enter__(self) -> "Jobs":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _gone(self) -> int:
        """How many have ended; those that live are counted after those that were sent, so never too many."""
        sent = self._sent
        live = len(json.loads(get(self._door, f"/v1/jobs?limit={MOST_LIVE}"))["items"])
        if live == MOST_LIVE:
            raise SystemExit("jobs come faster than they go")
        return sent - live

    def _submit(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._door.port, timeout=30)
        headers = {"Authorization": f"Bearer {self._door.token}", "Content-Type": "application/json"}
        body, began = json.dumps([JOB] * AT_ONCE), time.monotonic()
        while not self._over.is_set():
            connection.request("POST", "/v1/jobs", body, headers)
            response = connection.getresponse()
            if response.status != 201:
                raise SystemExit(f"a job was refused: {response.read()[:300]!r}")
            response.read()
            self._sent += AT_ONCE
            self._over.wait(max(0.0, began + self._sent / JOBS_PER_S - time.monotonic()))
        connection.close()


if __name__ == "__main__":
    main()
