"""One real Docker daemon as a host of its own, with its own name, network and folder inside the lab."""

import http.client
import json
import os
import shutil
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from . import build, image, nvidia, tls
from .lab import Lab, end_containers
from .processes import Process, TestbedError, run, spawn, tail, wait_until

Variant = Literal["debian", "today"]
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
TLS_PORT = 2376
# The daemon sees its host's own /run (sockets, plugins, CDI) and a name server that refuses at once. /run is memory on
# real hosts; here the part is that holds secrets.
ENTER = """hostname "$1" && mount --bind "$2/run" /run || exit 1
mkdir -p /run/berth-secrets && mount -t tmpfs tmpfs /run/berth-secrets || exit 1
[ ! -e /etc/resolv.conf ] || mount --bind "$2/resolv.conf" /etc/resolv.conf || exit 1
exec dockerd --config-file "$2/daemon.json" """


class DockerHost:
    """A Docker host; as a context manager it starts with the images loaded, and leaves nothing behind.

    `variant` is Debian's 20.10 or today's engine, built here. `cards` (a number, or full UUIDs) adds
    NVIDIA's real container runtime as the default on stand-in device nodes. `settings` are further keys of
    daemon.json. With `tls` it also listens on its address, port 2376, for clients that show a certificate.
    """

    def __init__(
        self,
        lab: Lab,
        name: str = "",
        *,
        variant: Variant = "debian",
        cards: int | Sequence[str] = 0,
        settings: Mapping[str, object] | None = None,
        tls: bool = False,
    ) -> None:
        """Give the host a number, an address and a folder in the lab; nothing runs before `start`."""
        self.lab = lab
        self.number = lab.new_host()
        self.name = name or f"gpu-{self.number}"
        self.variant = variant
        self.folder = lab.folder / str(self.number)
        self.address = lab.network.address(self.number)
        self.socket = self.folder / "docker.sock"
        self.log = self.folder / "dockerd.log"
        self.certificates = self.folder / "tls" if tls else None
        self.process: Process | None = None
        self._parts = [build.moby(), build.runc()] if variant == "today" else []
        uuids = nvidia.uuids(f"{self.name}.{self.number}", cards) if isinstance(cards, int) else list(cards)
        (self.folder / "run").mkdir()
        (self.folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")
        if uuids:
            self._parts.append(build.toolkit())
        self.cards = nvidia.equip(self.folder, uuids, self._path()) if uuids else []
        self._configure(settings or {})

    def __enter__(self) -> "DockerHost":
        """Start the daemon and load the images."""
        self.start()
        image.load(self.socket)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the host with everything on it."""
        self.remove()

    @property
    def url(self) -> str:
        """Where a client finds the daemon's socket."""
        return f"unix://{self.socket}"

    def start(self, timeout: float = 30) -> None:
        """Start the daemon, also again after `stop` or `kill`, and wait until it answers."""
        self._forget_dead_containerd()
        inside = ["unshare", "-u", "-m", "sh", "-c", ENTER, "sh", self.name, str(self.folder)]
        argv = ["nsenter", f"--net={self.lab.network.namespace(self.number)}", *inside]
        self.process = process = spawn(argv, self.log, {"PATH": self._path(), "HOME": "/root"})
        process.save(self.folder / "dockerd.process")

        def answers() -> bool:
            if not process.alive():
                raise TestbedError(f"dockerd of {self.name} ended:\n{tail(self.log)}")
            return ping(self.socket)

        wait_until(answers, timeout, f"dockerd of {self.name}; its log ends:\n{tail(self.log)}")

    def stop(self, grace: float = 20) -> None:
        """End the daemon as a service manager would, containers included."""
        self._running().end(grace)

    def kill(self) -> None:
        """Kill -9 the daemon; its containers run on."""
        self._running().end()

    def restart(self) -> None:
        """Stop and start the daemon."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze the daemon: its socket accepts and never answers."""
        self._running().send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen daemon go on."""
        self._running().send(signal.SIGCONT)

    def unplug(self) -> None:
        """Cut the host off from the network of the lab; its socket still answers."""
        self.lab.network.unplug(self.number)

    def plug(self) -> None:
        """Connect the host to the network again."""
        self.lab.network.plug(self.number)

    def remove(self) -> None:
        """Kill the daemon and its containers, then take the namespace and the folder away."""
        if self.process:
            self.process.end()
        end_containers(self.folder)
        self.lab.network.remove_host(self.number)
        shutil.rmtree(self.folder, ignore_errors=True)

    def docker(self, *words: str | Path, timeout: float = 60) -> str:
        """Run the docker CLI against this daemon and return what it prints, without the last newline."""
        return run(["docker", *words], timeout=timeout, env=self.client_environment()).stdout.rstrip("\n")

    def client_environment(self) -> dict[str, str]:
        """Environment in which docker clients speak to this daemon, free of the user's own settings."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("DOCKER_")}
        return {**kept, "DOCKER_HOST": self.url, "DOCKER_CONFIG": str(self.lab.folder / "cli")}

    def inspect(self, container: str) -> dict[str, Any]:
        """Return what the daemon knows of a container."""
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", "--type", "container", container))
        return found[0]

    def command(self, *argv: str | Path) -> list[str]:
        """Return the command that runs `argv` in this host's network and under its name."""
        named = ["unshare", "-u", "sh", "-c", 'hostname "$0" && exec "$@"', self.name]
        return ["nsenter", f"--net={self.lab.network.namespace(self.number)}", *named, *map(str, argv)]

    def _running(self) -> Process:
        if self.process is None:
            raise TestbedError(f"{self.name} was never started")
        return self.process

    def _forget_dead_containerd(self) -> None:
        """Remove the pid file of a containerd that is dead but not buried: dockerd would wait for its answer."""
        record = self.folder / "exec" / "containerd" / "containerd.pid"
        if record.exists() and Process.of(int(record.read_text() or 0)) is None:
            record.unlink()

    def _path(self) -> str:
        return ":".join([*map(str, self._parts), SYSTEM_PATH])

    def _configure(self, settings: Mapping[str, object]) -> None:
        document: dict[str, object] = {
            "data-root": str(self.folder / "data"),
            "exec-root": str(self.folder / "exec"),
            "pidfile": str(self.folder / "dockerd.pid"),
            "hosts": [self.url],
            "insecure-registries": [f"{self.lab.network.subnet}.0/24"],
        }
        if self.variant == "debian":
            document["deprecated-key-path"] = str(self.folder / "key.json")  # else all hosts are one engine ID
        if self.cards:
            document |= nvidia.daemon_settings(self.folder)
        if self.certificates:
            document |= tls.daemon_settings(self.certificates, self.address)
            document["hosts"] = [self.url, f"tcp://{self.address}:{TLS_PORT}"]
        if "data-root" in settings:
            (self.folder / "data").symlink_to(str(settings["data-root"]))
        (self.folder / "daemon.json").write_text(json.dumps(document | dict(settings), indent=1))


class UnixConnection(http.client.HTTPConnection):
    """An HTTP connection to a daemon's socket."""

    def __init__(self, path: Path, timeout: float = 5) -> None:
        """Name the socket; the first request connects."""
        super().__init__("docker", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        """Connect to the socket in place of a port."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def ping(path: Path, timeout: float = 5) -> bool:
    """Tell whether a Docker daemon answers on this socket."""
    connection = UnixConnection(path, timeout)
    try:
        connection.request("GET", "/_ping")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
