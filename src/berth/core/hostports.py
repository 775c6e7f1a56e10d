"""Which host ports are taken where during one pass, and by whom; the board asks it for shapes that publish ports.

A host port is one node's. An ingress port is the whole engine's: it is taken on every node, and may be taken by none
when it is given.
"""

from collections.abc import Iterator, Mapping

from berth.core.shape import Shape
from berth.model.snapshot import Candidate, NodeView, PortUse

Blocking = tuple[tuple[str, PortUse], ...]
"""Ports that a shape needs and others have, each with who has it."""


class HostPorts:
    """The ports of a pass: those of the views, and those given since. `given` counts grants, `wide` of ingress."""

    def __init__(self, views: tuple[NodeView, ...]) -> None:
        self._views = views
        self._here: dict[int, dict[str, PortUse]] = {}
        self._everywhere: dict[str, PortUse] = {}
        self._anywhere: dict[str, dict[str, PortUse]] | None = None
        self.given = 0
        self.wide = 0

    def blocking(self, at: int, shape: Shape, candidate: Candidate | None = None) -> Blocking:
        """What stands against the shape on node number `at`; what the candidate's running task holds does not."""
        own = candidate.task if candidate is not None and candidate.home else ""
        needed = ((port, self._uses(at, port)) for port in shape.ports)
        spread = ((port, self._all().get(port, {}).values()) for port in shape.ingress)
        return tuple((port, use) for port, uses in (*needed, *spread) for use in uses if use.holder != own)

    def give(self, at: int, shape: Shape, candidate: Candidate) -> None:
        """Take the shape's ports for a task that is placed on node number `at`."""
        use = PortUse(candidate.task, candidate.name)
        self._here.setdefault(at, {}).update(dict.fromkeys(shape.ports, use))
        self._everywhere.update(dict.fromkeys(shape.ingress, use))
        if self._anywhere is not None:
            for port in (*shape.ports, *shape.ingress):
                self._anywhere.setdefault(port, {})[use.holder] = use
        self.given += 1
        self.wide += bool(shape.ingress)

    def _uses(self, at: int, port: str) -> Iterator[PortUse]:
        places: tuple[Mapping[str, PortUse], ...] = self._views[at].ports, self._here.get(at, {}), self._everywhere
        return (taken[port] for taken in places if port in taken)

    def _all(self) -> Mapping[str, Mapping[str, PortUse]]:
        """Every port that is taken on any node; put together when an ingress port is first asked for."""
        if self._anywhere is None:
            found: dict[str, dict[str, PortUse]] = {}
            taken = (*(view.ports for view in self._views if view.ports), *self._here.values(), self._everywhere)
            for ports in taken:
                for port, use in ports.items():
                    found.setdefault(port, {})[use.holder] = use
            self._anywhere = found
        return self._anywhere
