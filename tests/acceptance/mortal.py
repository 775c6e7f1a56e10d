"""A server that dies and is started again until it lives, and witnesses that ask the daemons alone what runs."""

import http.client
import json
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.acceptance.berth import SOURCE, Berth, Failed, until
from tests.testbed.daemons import DockerHost, UnixConnection

NO_SERVER = 5
LOST = (-9, 137)


class Mortal(Berth):
    """`tests.acceptance.crashing` under a supervisor, as systemd would be: a killed server is started again."""

    def __init__(self, folder: Path, pattern: str, *flags: str) -> None:
        super().__init__(folder, *flags)
        self.pattern = pattern
        self.file = folder / "points"
        self._over = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor")
        self.failed = ""

    @property
    def points(self) -> list[str]:
        """The points at which it has died, in order."""
        return self.file.read_text().splitlines() if self.file.exists() else []

    def start(self) -> None:
        """Begin to keep it alive; it may die before it is up."""
        self._supervisor.start()

    def stop(self, number: int = 15, limit: float = 20.0) -> int:
        """End the supervisor, then the server."""
        self._over.set()
        self._supervisor.join(limit)
        return super().stop(number, limit)

    def _supervise(self) -> None:
        words = ("up", "--data", str(self.folder / "data"), "--listen", f"127.0.0.1:{self.port}", *self.flags)
        line = [sys.executable, "-m", "tests.acceptance.crashing", str(self.file), self.pattern, *words]
        while not self._over.is_set():
            with (self.folder / "server.log").open("a") as log:
                self.process = subprocess.Popen(line, stdout=log, stderr=log, env=self.environ, cwd=SOURCE)
            while self.process.poll() is None and not self._over.wait(0.02):
                pass
            if not self._over.is_set() and self.process.returncode not in LOST:
                self.failed = f"the server ended {self.process.returncode}: {self.errors()}"
                return

    def __call__(self, *words: str, stdin: str | None = None, timeout: float = 150.0) -> str:
        """The CLI, which must end well in the end."""
        return super().__call__(*words, stdin=stdin, timeout=timeout)

    def run(self, *words: str, stdin: str | None = None, timeout: float = 150.0) -> "subprocess.CompletedProcess[str]":
        """The CLI as a patient person uses it: typed again while no server answers, or it died over the answer."""
        end = time.monotonic() + timeout
        until(lambda: self.failed or any((self.folder / "config").glob("**/*")), timeout, "it was up once")
        while True:
            done = super().run(*words, stdin=stdin, timeout=timeout)
            if done.returncode != NO_SERVER or time.monotonic() > end:
                return done
            if self.failed:
                raise Failed(self.failed)
            time.sleep(0.1)


class Witness:
    """Looks at the daemons' own lists all the time, and remembers each card that two containers had at once."""

    def __init__(self, hosts: Sequence[DockerHost], cluster: str = "") -> None:
        self._hosts = hosts
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="witness")
        self.twice: set[str] = set()
        self.looks = 0

    def __enter__(self) -> "Witness":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(20)

    def running(self) -> list[dict[str, str]]:
        """Labels of all tasks of Berth whose containers run now."""
        return [one for host in self._hosts for one in containers(host)]

    def _watch(self) -> None:
        while not self._over.wait(0.03):
            for host in self._hosts:
                found = containers(host)
                held = [card for one in found for card in one.get("berth.cards", "").split(",") if card]
                if len(set(held)) < len(held):
                    told = [(one["berth.task"], one["berth.attempt"], one["berth.cards"]) for one in found]
                    self.twice.add(f"{host.name}: {told}")
                attempts = [one["berth.task"] for one in found if "berth.attempt" in one]
                if len(set(attempts)) < len(attempts):
                    self.twice.add(f"{host.name}: a slot runs twice: {sorted(attempts)}")
            self.looks += 1


def containers(host: DockerHost) -> list[dict[str, str]]:
    """The labels of each running container of Berth on this host, as its daemon lists them in one answer."""
    filters = urllib.parse.quote(json.dumps({"label": ["berth.task"]}))
    connection = UnixConnection(host.socket)
    try:
        connection.request("GET", f"/containers/json?filters={filters}")
        found: list[dict[str, Any]] = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return []
    finally:
        connection.close()
    return [one["Labels"] for one in found if one["State"] == "running"]
