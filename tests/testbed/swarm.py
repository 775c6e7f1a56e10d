"""A real Swarm of several Docker hosts on this machine, its first node the manager."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from .daemons import DockerHost, Variant
from .lab import Lab
from .processes import TestbedError


class Swarm:
    """Context manager: hosts gpu-1 to gpu-N, joined, the images on each; the first `managers` manage.

    `cards` is what each node has, or a table by node name of those that have any.
    """

    def __init__(
        self,
        lab: Lab,
        nodes: int = 3,
        *,
        variant: Variant = "debian",
        cards: int | Mapping[str, int | Sequence[str]] = 0,
        managers: int = 1,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Lay the hosts out; nothing runs before the Swarm is entered."""
        self.managers = managers
        self.nodes = []
        for name in (f"gpu-{number}" for number in range(1, nodes + 1)):
            held = cards.get(name, 0) if isinstance(cards, Mapping) else cards
            self.nodes.append(DockerHost(lab, name, variant=variant, cards=held, settings=settings))

    def __enter__(self) -> "Swarm":
        """Start the daemons side by side and join them."""
        try:
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(DockerHost.__enter__, self.nodes))
                self.manager.docker("swarm", "init", "--advertise-addr", self.manager.address)
                tokens = [self.token("manager" if node in self._managing() else "worker") for node in self.nodes]
                list(pool.map(self._join, self.nodes[1:], tokens[1:]))
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove all hosts."""
        self.remove()

    @property
    def manager(self) -> DockerHost:
        """The first node: it leads from the start."""
        return self.nodes[0]

    def cli(self, *words: str, timeout: float = 60) -> str:
        """Run the docker CLI against the manager."""
        return self.manager.docker(*words, timeout=timeout)

    def node(self, name: str) -> DockerHost:
        """Return the host of this name."""
        for host in self.nodes:
            if host.name == name:
                return host
        raise TestbedError(f"no node {name}: there are {', '.join(host.name for host in self.nodes)}")

    def token(self, role: str) -> str:
        """Return the join token for a `worker` or a `manager`."""
        return self.cli("swarm", "join-token", "--quiet", role)

    def tasks(self, service: str) -> list[dict[str, Any]]:
        """Return the tasks of a service as the API tells them, oldest first."""
        ids = self.cli("service", "ps", "--quiet", "--no-trunc", service).split()
        found: list[dict[str, Any]] = json.loads(self.cli("inspect", "--type", "task", *ids)) if ids else []
        return sorted(found, key=lambda task: str(task["CreatedAt"]))

    def remove(self) -> None:
        """Kill and remove all hosts."""
        for host in reversed(self.nodes):
            host.remove()

    def _managing(self) -> list[DockerHost]:
        return self.nodes[: self.managers]

    def _join(self, host: DockerHost, token: str) -> None:
        host.docker(
            "swarm",
            "join",
            "--advertise-addr",
            host.address,
            "--token",
            token,
            f"{self.manager.address}:2377",
        )
