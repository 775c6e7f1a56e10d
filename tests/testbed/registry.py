"""Debian's docker-registry on the lab's own address, open or behind a password."""

import shutil
from pathlib import Path
from types import TracebackType
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from .daemons import DockerHost
from .lab import Lab
from .processes import Process, TestbedError, run, spawn, tail, wait_until

CONFIG = """version: 0.1
log: {{level: info}}
storage:
  filesystem: {{rootdirectory: "{folder}/images"}}
  delete: {{enabled: true}}
http: {{addr: "{address}"}}
"""
LOGIN = """auth:
  htpasswd: {{realm: testbed, path: "{folder}/htpasswd"}}
"""


class Registry:
    """Context manager: a registry that all hosts of the lab reach as `address` without TLS."""

    def __init__(self, lab: Lab, port: int = 5000, *, user: str = "", password: str = "") -> None:
        """Name a registry; with a user it asks for the password."""
        self.address = f"{lab.network.gateway}:{port}"
        self.folder = lab.folder / f"registry-{port}"
        self.user, self.password = user, password
        self.process: Process | None = None

    def __enter__(self) -> "Registry":
        """Start it and wait until it answers."""
        self.folder.mkdir()
        config = CONFIG + (LOGIN if self.user else "")
        (self.folder / "config.yml").write_text(config.format(folder=self.folder, address=self.address))
        if self.user:
            line = run(["htpasswd", "-niB", self.user], stdin=self.password).stdout
            (self.folder / "htpasswd").write_text(line)
        log = self.folder / "registry.log"
        self.process = spawn(["docker-registry", "serve", self.folder / "config.yml"], log)
        self.process.save(self.folder / "registry.process")
        wait_until(self._answers, 10, f"the registry at {self.address}: {tail(log)}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it and forget its images."""
        if self.process:
            self.process.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def client(self) -> Path:
        """Configuration folder (DOCKER_CONFIG) of a docker client that is logged in here."""
        return self.folder / "client"

    def push(self, host: DockerHost, image: str) -> str:
        """Push an image of this host, logged in where needed, and return its name in the registry."""
        env = {**host.client_environment(), "DOCKER_CONFIG": str(self.client)}
        if self.user:
            login = ["docker", "login", "--username", self.user, "--password-stdin", self.address]
            run(login, env=env, stdin=self.password)
        name = f"{self.address}/{image}"
        run(["docker", "tag", image, name], env=env)
        run(["docker", "push", "--quiet", name], env=env, timeout=60)
        return name

    def _answers(self) -> bool:
        if self.process is None or not self.process.alive():
            raise TestbedError(f"the registry at {self.address} ended: {tail(self.folder / 'registry.log')}")
        try:
            with urlopen(f"http://{self.address}/v2/", timeout=5):
                return True
        except HTTPError as error:
            error.close()
            return error.code == 401
        except URLError:
            return False
