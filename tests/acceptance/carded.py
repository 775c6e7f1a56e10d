"""Real engines whose cards are stand-ins behind NVIDIA's real toolkit, with Berth and its agents on a fake NVML."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.acceptance.berth import SOURCE, Berth, free_port, until
from tests.testbed import build
from tests.testbed.daemons import DockerHost, UnixConnection
from tests.testbed.lab import Lab
from tests.testbed.nvml import FakeCard, FakeNvml
from tests.testbed.swarm import Swarm

NODE = "gpu-2"
TWINS = ("GPU-7a3c51d0-0b1e-5d7c-9f58-1d2f9a7e0001", "GPU-7a3c9e44-62c0-5f0b-8a3d-70c4be110002")
"""Its two cards: their UUIDs begin alike."""
OPEN_DOORS = """swarm-resource = "DOCKER_RESOURCE_GPU"
accept-nvidia-visible-devices-as-volume-mounts = true
accept-nvidia-visible-devices-envvar-when-unprivileged = true
"""
LOOK = "ls /dev | grep -x 'nvidia[0-9]*' | tr '\\n' ' '"


class Carded:
    """One Berth on one engine, whose node `gpu-2` has two cards (`host` is its daemon); the toolkit lets everything in
    that a person could ask it for, so that only Berth keeps cards apart.
    """

    def __init__(self, folder: Path, host: DockerHost, daemons: Sequence[DockerHost], listen: str = "") -> None:
        self.host, self.daemons = host, daemons
        self.manager = manager = daemons[0]
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.cards = [card.uuid for card in host.cards]
        config = host.folder / "toolkit.toml"
        if OPEN_DOORS not in config.read_text():
            config.write_text(OPEN_DOORS + config.read_text())
        self.map = host.folder / "run" / "cdi" / "nvidia.json"
        self._right = self.map.read_text()
        self.nvml = FakeNvml(
            folder / "nvml", [FakeCard(uuid, pci=f"0:{3 + n}:0.0") for n, uuid in enumerate(self.cards)]
        )
        self.nvml.write()
        flags = ("--listen", listen, "--insecure") if listen else ()
        self.berth = Berth(folder, "--docker-host", manager.url, *flags, environ=self._environ(host is manager))
        self.berth.url = f"http://{listen}" if listen else self.berth.url
        self._doors = ExitStack()

    def _environ(self, has_cards: bool) -> dict[str, str]:
        return self.nvml.environment(build.nvml()) if has_cards else {}

    def __enter__(self) -> "Carded":
        with self._doors as doors:
            doors.enter_context(self.berth)
            if self.host is not self.manager:
                doors.enter_context(self._agent())
            until(lambda: self.berth.free() == 2, 15, "two free cards", step=0.2)
            self._doors = doors.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._doors.close()

    @contextmanager
    def _agent(self) -> Iterator[None]:
        """`berth agent` on the node with cards, in its network, started as `berth up` says."""
        token = self.folder / "node.token"
        token.write_text(self.berth("token", "create", "--role", "agent", "--node", NODE))
        words = ("--server", self.berth.url, "--token-file", str(token), "--docker-host", self.host.url)
        with (self.folder / "agent.log").open("w") as log:
            process = subprocess.Popen(
                self.host.command(sys.executable, "-m", "berth", "agent", *words),
                env={**self.berth.environ, **self._environ(True)}, stdout=log, stderr=log, cwd=SOURCE,
            )  # fmt: skip
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)

    def clean(self) -> None:
        """End all that a test left, and wait until both cards are free."""
        for stack in self.berth.json("stack", "ls"):
            self.berth("stack", "rm", stack["name"], "-y")
        for job in self.berth.json("jobs"):
            self.berth("cancel", job["id"], "-y")
        until(lambda: not self.berth.json("jobs") and not self.berth.json("stack", "ls"), 20, "no job is left")
        until(lambda: self.berth.free() == 2, 10, "both cards are free")

    def mend(self) -> None:
        """Give the node its right CDI file again, and let it take work."""
        self.map.write_text(self._right)
        self.berth("node", "undrain", NODE)

    def run(self, *words: str, image: str = "bb:1", command: tuple[str, ...] = ("sleep", "600")) -> str:
        """`berth run --detach`; the job's id, once it runs."""
        job = self.berth("run", "--detach", *words, image, *command).strip()
        self.running(job)
        return job

    def deploy(self, stack: str, text: str) -> "subprocess.CompletedProcess[str]":
        """`berth stack deploy` of this text, whatever its exit code."""
        file = self.folder / "stack.yml"
        file.write_text(text)
        return self.berth.run("stack", "deploy", "-c", "stack.yml", stack)

    def running(self, job: str) -> None:
        """Wait until it runs."""
        self.berth("wait", job, "--for", "running", "--timeout", "20s")

    def containers(self, job: str) -> list[tuple[DockerHost, str]]:
        """The containers that run for a job, each with its daemon."""
        label = f"label=berth.job={self.berth.job(job)['id']}"
        words = ("ps", "--quiet", "--no-trunc", "--filter", label, "--filter", "status=running")
        return [(daemon, found) for daemon in self.daemons for found in daemon.docker(*words).split()]

    def container(self, job: str) -> str:
        """The id of the one container that runs for a job, on the node with cards."""
        [(daemon, found)] = until(lambda: self.containers(job), 10, f"a container of {job}")
        assert daemon is self.host
        return found

    def seen(self, job: str) -> list[str]:
        """The nodes of cards in the /dev of the job's container."""
        return self.host.docker("exec", self.container(job), "sh", "-c", LOOK).split()

    def granted(self, job: str) -> list[str]:
        """What the ledger says: the device nodes of the cards of the job's only task."""
        [task] = self.berth.job(job)["tasks"]
        return sorted(f"nvidia{self.cards.index(uuid)}" for uuid in task["cards"])

    def inspected(self, job: str) -> dict[str, Any]:
        """`docker inspect` of the job's container."""
        return self.host.inspect(self.container(job))

    def variable(self, job: str, name: str) -> str | None:
        """A variable of the job's container, None when it is not set."""
        pairs = dict(pair.split("=", 1) for pair in self.inspected(job)["Config"]["Env"])
        return pairs.get(name)

    def objects(self) -> dict[str, list[str]]:
        """The ids of everything that somebody could have created on the engine, by kind."""
        kinds = ["containers/json?all=1", "networks", "volumes"]
        kinds += ["services", "secrets", "configs"] if self.host is not self.manager else []
        found = {kind: _ids(self.manager, kind) for kind in kinds}
        return {**found, "on the node": _ids(self.host, kinds[0])}


def _ids(daemon: DockerHost, path: str) -> list[str]:
    connection = UnixConnection(daemon.socket)
    try:
        connection.request("GET", f"/{path}")
        answer = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    entries = answer.get("Volumes") or [] if isinstance(answer, dict) else answer
    return sorted(entry.get("Id") or entry.get("ID") or entry["Name"] for entry in entries)


@contextmanager
def on_docker(lab: Lab, folder: Path) -> Iterator[Carded]:
    """One Docker host of its own."""
    with DockerHost(lab, NODE, variant="today", cards=TWINS) as host, Carded(folder, host, [host]) as carded:
        yield carded


@contextmanager
def on_swarm(lab: Lab, folder: Path) -> Iterator[Carded]:
    """Three nodes; the manager has no card, and the second has an agent of its own."""
    listen = f"{lab.network.gateway}:{free_port()}"
    with (
        Swarm(lab, 3, variant="today", cards={NODE: TWINS}) as swarm,
        Carded(folder, swarm.node(NODE), swarm.nodes, listen) as carded,
    ):
        yield carded
