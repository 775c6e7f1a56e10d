"""A real `berth up` in a process of its own, and the real CLI beside it, for the acceptance tests and benchmarks."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2]
START_S = 30.0


class Failed(AssertionError):
    """The CLI ended otherwise than expected; carries all that it said."""


class Berth:
    """One server on a data folder; `berth("jobs")` runs the CLI as its user."""

    def __init__(self, folder: Path, *flags: str, environ: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.flags = flags
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environ = {**clean_environ(folder), **(environ or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.greeting = ""

    def __enter__(self) -> "Berth":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it says that it is up."""
        words = ("up", "--data", str(self.folder / "data"), "--listen", f"127.0.0.1:{self.port}", *self.flags)
        out = self.folder / "server.out"
        with out.open("w") as told, (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "berth", *words], stdout=told, stderr=log, env=self.environ, cwd=SOURCE
            )
        end = time.monotonic() + START_S
        while "Stop with Ctrl-C" not in out.read_text():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop(signal.SIGKILL)
                raise Failed(f"the server did not start: {out.read_text()}\n{self.errors()}")
            time.sleep(0.02)
        self.greeting = out.read_text()

    def errors(self) -> str:
        """What the server wrote to stderr."""
        return (self.folder / "server.log").read_text()[-8000:]

    def stop(self, number: int = signal.SIGTERM, limit: float = 10.0) -> int:
        """End the server; its exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(limit)
        self.process = None
        return code

    def kill(self) -> None:
        """kill -9."""
        self.stop(signal.SIGKILL)

    def run(self, *words: str, stdin: str | None = None, timeout: float = 60.0) -> "subprocess.CompletedProcess[str]":
        """The CLI, whatever its exit code."""
        return subprocess.run(
            [sys.executable, "-m", "berth", *words],
            input=stdin, capture_output=True, text=True, env=self.environ, timeout=timeout, cwd=self.folder,
        )  # fmt: skip

    def __call__(self, *words: str, stdin: str | None = None, timeout: float = 60.0) -> str:
        """The CLI, which must end well; its standard output."""
        done = self.run(*words, stdin=stdin, timeout=timeout)
        if done.returncode != 0:
            raise Failed(f"berth {' '.join(words)} ended {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *words: str, stdin: str | None = None) -> Any:
        """The CLI with --json, decoded."""
        return json.loads(self(*words, "--json", stdin=stdin))

    def items(self, path: str) -> list[dict[str, Any]]:
        """The first page of a list of the API: what a process of the CLI would show, without the process."""
        token = (self.folder / "data" / "admin.token").read_text().strip()
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["items"]
            return found

    def refused(self, *words: str, code: int, stdin: str | None = None) -> str:
        """The CLI, which must end with this exit code; its standard error."""
        done = self.run(*words, stdin=stdin)
        if done.returncode != code:
            raise Failed(f"berth {' '.join(words)} ended {done.returncode}, not {code}: {done.stdout}{done.stderr}")
        return done.stderr

    def job(self, key: str) -> dict[str, Any]:
        """The job object, by `jobs --all`."""
        found = [job for job in self.json("jobs", "--all") if key in (job["id"], job["name"])]
        if not found:
            raise Failed(f"no job {key}")
        newest: dict[str, Any] = max(found, key=lambda job: job["submitted_at"])
        return newest

    def free(self) -> int:
        """How many cards are free."""
        return sum(card["state"] == "free" for card in self.json("cards"))


def until(true: Callable[[], Any], seconds: float = 20.0, what: str = "", step: float = 0.1) -> Any:
    """Wait until it is true, at most so long; what it was then."""
    end = time.monotonic() + seconds
    while True:
        found = true()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what or true}; last: {found!r}")
        time.sleep(step)


def stays(true: Callable[[], Any], seconds: float, what: str = "", step: float = 0.2) -> None:
    """It must be true all the time for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not true():
            raise Failed(f"did not stay true for {seconds} s: {what or true}")
        time.sleep(step)


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def clean_environ(folder: Path) -> dict[str, str]:
    """The environment of a user whose home is the folder: no Docker settings, no kept server."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("BERTH_", "DOCKER_", "XDG_"))}
    source = os.pathsep.join(part for part in (str(SOURCE / "src"), os.environ.get("PYTHONPATH", "")) if part)
    return {**kept, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "PYTHONPATH": source}
