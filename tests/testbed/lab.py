"""One testbed on this machine: its folder, network and lock, and the removal of all that it started."""

import fcntl
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import IO

from .install import install
from .network import Network
from .processes import Process, TestbedError, command_lines, kill_all

CGROUPS = Path("/sys/fs/cgroup")
HELPERS = ("containerd", "containerd-shim-runc-v2", "containerd-shim")


class Lab:
    """Context manager around hosts that see each other; labs of other prefix and subnet do not clash.

    Everything lives in `folder`. A lab that an earlier run left behind is removed on entry; one that is still
    in use is refused. BERTH_TESTBED_PREFIX and BERTH_TESTBED_SUBNET change the defaults, bt and 10.88.0.
    """

    def __init__(self, prefix: str | None = None, subnet: str | None = None) -> None:
        """Name a lab; nothing happens before it is entered."""
        self.network = Network(
            prefix or os.environ.get("BERTH_TESTBED_PREFIX", "bt"),
            subnet or os.environ.get("BERTH_TESTBED_SUBNET", "10.88.0"),
        )
        root = Path(os.environ.get("BERTH_TESTBED_STATE", "/var/tmp/berth-testbed"))
        self.folder = root.resolve() / self.network.prefix
        self._lock: IO[str] | None = None
        self._last = 0

    def __enter__(self) -> "Lab":
        """Install what is missing, sweep what an earlier run left, and open the network."""
        install()
        self.take()
        if self.kept.exists() and self.network.is_open():
            self.release()
            raise TestbedError(f"testbed {self.network.prefix} is up: take it down, or take another prefix")
        self.sweep()
        try:
            self.folder.mkdir(parents=True)
            self.network.open()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove everything."""
        self.sweep()
        self.release()

    @property
    def kept(self) -> Path:
        """File that says that this lab stays up after the process that made it; holds its description."""
        return self.folder / "kept.json"

    def take(self) -> None:
        """Hold this lab alone; raise when another process holds it."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self._lock = open(f"{self.folder}.lock", "w")  # noqa: SIM115 - held until release
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise TestbedError(
                f"testbed {self.network.prefix} is in use by another process: take another prefix"
            ) from error

    def release(self) -> None:
        """Let others use this lab."""
        if self._lock:
            self._lock.close()
            self._lock = None

    def new_host(self) -> int:
        """Give out the next host number and make its folder and network namespace."""
        self._last += 1
        (self.folder / str(self._last)).mkdir()
        self.network.add_host(self._last)
        return self._last

    def sweep(self) -> None:
        """Kill what this lab started (by recorded pid, or the folder that it serves) and remove the rest."""
        for record in sorted(self.folder.glob("**/*.process")):
            process = Process.load(record)
            if process:
                kill_all([process])
        for host in self.folder.glob("[0-9]*"):
            end_containers(host)
        self.network.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def end_containers(host: Path) -> None:
    """Kill the containers of the daemon whose folder this is, their helpers and their control groups."""
    kill_all(_helpers(host))
    for container in host.glob("data/containers/*"):
        for group in [*CGROUPS.glob(f"*/docker/{container.name}"), CGROUPS / "docker" / container.name]:
            _end_group(group)


def _helpers(host: Path) -> list[Process]:
    found = []
    for pid, words in command_lines().items():
        serves = any(word.startswith(f"{host}/") for word in words[1:])
        process = Process.of(pid) if serves and Path(words[0]).name in HELPERS else None
        if process:
            found.append(process)
    return found


def _end_group(group: Path) -> None:
    for folder in [*sorted(group.glob("**/"), reverse=True), group]:
        try:
            members = [Process.of(int(pid)) for pid in (folder / "cgroup.procs").read_text().split()]
            kill_all(process for process in members if process)
            folder.rmdir()
        except OSError:
            continue
