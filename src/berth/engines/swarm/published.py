"""Which ports Swarm has published, and where: `look` asks for those of all services and tasks.

An ingress port is taken on every node for as long as its service exists; a host port only where a task runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from berth.engines.swarm.records import PublishedPort, RawTask, ServiceSpec
from berth.model import marks
from berth.model.seen import SeenPort

EVERY_NODE = ""


class Publishing(Protocol):
    """A service as far as its ports go; `published` are those that it has, with the numbers that Swarm chose."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def wanted(self) -> ServiceSpec:
        """Its spec."""
        ...

    @property
    def published(self) -> tuple[PublishedPort, ...]:
        """Its ports."""
        ...


def ports(services: Mapping[str, Publishing], tasks: Iterable[RawTask]) -> Iterator[SeenPort]:
    """The ports of services, and those of their tasks that are on a node (`tasks`)."""
    for service in services.values():
        for port in service.published:
            if port.mode == "ingress":
                yield _seen(service, port, EVERY_NODE)
    for task in tasks:
        service_of = services.get(task.service)
        status = task.status.port_status
        if service_of is None or not (service_of.published or status):
            continue
        chosen = (status.ports if status else None) or ()
        for port in {*service_of.published, *chosen}:
            if port.mode == "host" and port.number:
                yield _seen(service_of, port, task.node)


def _seen(service: Publishing, port: PublishedPort, node: str) -> SeenPort:
    """As its holder counts the task of a slot, or the service itself where Swarm places it."""
    labels = service.wanted.labels or {}
    return SeenPort(
        port=f"{port.number}/{port.protocol}",
        node=node,
        holder=labels.get(marks.TASK) or service.id,
        who=f"service {service.wanted.name}",
    )
