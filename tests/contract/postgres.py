"""A PostgreSQL server of its own for tests: in a temporary folder, on loopback, run by an ordinary user."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.testbed.install import install

BINARIES = Path("/usr/lib/postgresql/15/bin")
PACKAGE = "postgresql-15"
WAIT_S = 20.0


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server; its URL without the database's name. Skips where it is not installed and cannot be."""
    if not BINARIES.is_dir():
        if os.geteuid() != 0 and not os.environ.get("CI"):
            pytest.skip(f"PostgreSQL is not installed: apt-get install {PACKAGE}")
        install((PACKAGE,))
    folder = Path(tempfile.mkdtemp(prefix="berth-pg-"))
    try:
        yield from _serve(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(folder: Path) -> Iterator[str]:
    user = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    shutil.chown(folder, user)
    password, data = secrets.token_hex(8), folder / "data"
    (folder / "password").write_text(password)
    shutil.chown(folder / "password", user)
    made = [f"{BINARIES}/initdb", "-D", str(data), "-U", "berth", "-A", "scram-sha-256", "--no-sync"]
    made += ["--pwfile", f"{folder}/password", "-E", "UTF8", "--locale", "C"]
    subprocess.run(made, check=True, user=user, stdout=subprocess.DEVNULL, timeout=60, cwd=folder)
    port = _free_port()
    command = [f"{BINARIES}/postgres", "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-F"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, user=user, stdout=subprocess.DEVNULL, stderr=log, cwd=folder)
    try:
        _wait(server, port, folder / "log")
        yield f"postgresql://berth:{password}@127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGQUIT)  # at once, without writing out what is thrown away
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and server.poll() is None:
        ready = [f"{BINARIES}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
        if subprocess.run(ready, check=False).returncode == 0:
            return
        time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not start: {log.read_text()[-2000:]}")
