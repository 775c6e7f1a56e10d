"""An ssh server on a Docker host of the lab, for clients that reach its daemon by ssh://."""

import os
import shutil
from pathlib import Path
from types import TracebackType

from .daemons import DockerHost
from .install import install
from .processes import Process, run, spawn, tail, wait_until

PRIVILEGES = Path("/run/sshd")
SERVER = """ListenAddress {host.address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
SetEnv DOCKER_HOST={host.url}
"""
CLIENT = """Host {host.address}
  User root
  IdentityFile {folder}/client
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking yes
"""


class SshServer:
    """Context manager: sshd at the host's address; whoever has `config` is let in as root and is root's docker.

    Docker clients call `ssh` by name: `client_environment` puts one first in PATH that reads `config`.
    """

    def __init__(self, host: DockerHost) -> None:
        """Name the host; nothing runs before the server is entered."""
        self.host = host
        self.folder = host.folder / "ssh"
        self.config = self.folder / "config"
        self.url = f"ssh://root@{host.address}"
        self.process: Process | None = None

    def __enter__(self) -> "SshServer":
        """Make keys, start sshd and wait until it lets the client in."""
        install(("openssh-server",))
        self.folder.mkdir()
        PRIVILEGES.mkdir(exist_ok=True)
        self._keys()
        self._wrap_client()
        (self.folder / "server").write_text(SERVER.format(host=self.host, folder=self.folder))
        log = self.folder / "sshd.log"
        server = self.host.command("/usr/sbin/sshd", "-D", "-e", "-f", self.folder / "server")
        self.process = spawn(server, log)
        self.process.save(self.folder / "sshd.process")
        login: list[str | Path] = ["ssh", "-F", self.config, self.host.address, "true"]
        wait_until(lambda: run(login, check=False).returncode == 0, 10, f"sshd of {self.host.name}: {tail(log)}", 0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop sshd; its files go with the host."""
        if self.process:
            self.process.end()

    def client_environment(self) -> dict[str, str]:
        """Return the environment in which docker clients reach the daemon by ssh."""
        env = self.host.client_environment()
        path = f"{self.folder}/bin:{env.get('PATH', os.defpath)}"
        return {**env, "DOCKER_HOST": self.url, "PATH": path}

    def _keys(self) -> None:
        for name in ("host", "client"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name])
        key = (self.folder / "host.pub").read_text()
        (self.folder / "known_hosts").write_text(f"{self.host.address} {key}")

    def _wrap_client(self) -> None:
        self.config.write_text(CLIENT.format(host=self.host, folder=self.folder))
        wrapper = self.folder / "bin" / "ssh"
        wrapper.parent.mkdir()
        real = shutil.which("ssh")
        wrapper.write_text(f'#!/bin/sh\nexec {real} -F {self.config} "$@"\n')
        wrapper.chmod(0o755)
