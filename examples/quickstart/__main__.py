"""`make quickstart`: start Berth, deploy the example stack, show cards and a waiting job, remove all again."""

import asyncio
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.quickstart import engine, image

STACK = Path(__file__).with_name("stack.yml")
ONE_NODE = "A100-SXM4-80GB:2"
START_S = 40.0


class Session:
    """A server of the quickstart's own, and the CLI on it with what it says shown as a person would see it."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        self.environ = environ

    def show(self, *words: str) -> None:
        """Run a verb and show the line that was typed with its answer."""
        print(f"\n$ berth {' '.join(words)}", flush=True)
        done = self._berth(*words)
        print((done.stdout + done.stderr).rstrip())
        if done.returncode not in (0, 6):
            raise SystemExit(f"the quickstart stops here: that ended with exit code {done.returncode}")

    def ask(self, *words: str) -> object:
        """Run a verb with --json, quietly."""
        done = self._berth(*words, "--json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def _berth(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "berth", *words]
        return subprocess.run(command, capture_output=True, text=True, env=self.environ, timeout=120, check=False)


def main() -> int:
    """The whole tour; leaves everything as it was found."""
    found = asyncio.run(engine.look())
    with tempfile.TemporaryDirectory(prefix="berth-quickstart-") as name:
        folder = Path(name)
        environ = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "BERTH_SERVER": "", "BERTH_TOKEN": ""}
        try:
            if found is not None:
                _prepare(found, environ)
            _tour(folder, environ, found)
        finally:
            left = asyncio.run(engine.put_back(found)) if found is not None else []
    for sentence in left:
        print(f"not put back: {sentence}")
    print(NEXT)
    return 0


def _prepare(found: engine.Found, environ: dict[str, str]) -> None:
    """The image: one of 64 bytes where this machine can run it, else the small one that everybody can pull."""
    if platform.machine() == "x86_64":
        asyncio.run(engine.load_image())
        environ["IMAGE"] = image.NAME
    else:
        environ["IMAGE"] = "busybox:1"
    if found.swarm and found.nodes > 1:
        print(f"The other nodes of this Swarm cannot get the example's image: only {found.manager} is used.")


def _tour(folder: Path, environ: dict[str, str], found: engine.Found | None) -> None:
    environ.setdefault("IMAGE", "busybox:1")
    environ["NODE"] = found.manager if found else "node1"
    flags = ("--simulate", f"{environ['NODE']}={ONE_NODE}")
    if found is not None:
        print("Its cards are simulated for this tour; engine, containers and networks are real.")
    with _server(folder, environ, *flags):
        berth = Session(folder, environ)
        berth.show("gpus")
        berth.show("stack", "deploy", "-c", str(STACK), "tour")
        _until(lambda: _running(berth) == 2, "two of the three services to run")
        berth.show("cards")
        berth.show("jobs")
        berth.show("why", "tour_waits")
        berth.show("stack", "rm", "tour", "-y")
        _until(lambda: _all_free(berth), "the cards to be free again")
        berth.show("cards")


@contextmanager
def _server(folder: Path, environ: dict[str, str], *flags: str) -> Iterator[None]:
    port = _free_port()
    words = ("up", "--data", str(folder / "data"), "--listen", f"127.0.0.1:{port}", *flags)
    print(f"\n$ berth {' '.join(words)} &")
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "berth", *words], stdout=subprocess.PIPE, stderr=log, text=True, env=environ
        )
    try:
        _greeting(server, folder)
        yield
    finally:
        server.terminate()
        server.wait(15)


def _greeting(server: "subprocess.Popen[str]", folder: Path) -> None:
    assert server.stdout is not None
    for line in server.stdout:
        print(line.rstrip())
        if line.startswith("Stop with"):
            return
    raise SystemExit(f"the server did not start:\n{(folder / 'server.log').read_text()}")


def _running(berth: Session) -> int:
    jobs = berth.ask("jobs")
    return sum(job["state"] == "running" for job in jobs) if isinstance(jobs, list) else 0


def _all_free(berth: Session) -> bool:
    cards = berth.ask("cards")
    return isinstance(cards, list) and bool(cards) and all(card["state"] in ("free", "foreign") for card in cards)


def _until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + START_S
    while not true():
        if time.monotonic() > end:
            raise SystemExit(f"waited {START_S:.0f} s for {what}")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


NEXT = """
Everything is as it was found. What to type next:
  berth up                                         on your Swarm manager or Docker host: real cards, or hand-set labels
  berth stack deploy -c docker-compose.yml NAME    your own file, as it is
  berth run --gpus 1 IMAGE COMMAND                 one job; its output follows
  berth --help                                     all verbs"""

if __name__ == "__main__":
    sys.exit(main())
