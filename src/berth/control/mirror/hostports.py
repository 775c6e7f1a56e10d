"""Which host ports are taken on each node: by Berth's tasks from grant to gone, and by what else the look shows."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from berth.control.mirror.changed import Changed
from berth.model.job import Job, Task
from berth.model.lifecycle import OCCUPYING
from berth.model.snapshot import PortUse

EVERY_NODE = ""
Place = tuple[str, str]
"""A node's name (EVERY_NODE: all of them) and a port."""


class _Held(NamedTuple):
    attempt: int
    places: frozenset[Place]


class HostPorts:
    """`nodes` are the names of all nodes. A task keeps its ports, as its cards, through restarts of its container."""

    def __init__(self, nodes: Collection[str], changed: Changed) -> None:
        self._nodes, self._changed = nodes, changed
        self._tasks: dict[str, _Held] = {}
        self._ours: dict[str, dict[str, PortUse]] = {}
        self._seen: dict[str, dict[str, PortUse]] = {}

    def on(self, node: str) -> dict[str, PortUse]:
        """Every port that is taken on a node."""
        books = (self._seen.get(EVERY_NODE), self._seen.get(node), self._ours.get(EVERY_NODE), self._ours.get(node))
        return {port: use for book in books if book for port, use in book.items()}

    def put_task(self, task: Task, job: Job | None) -> None:
        """Book what the task holds now, and free what it holds no more."""
        before = self._tasks.get(task.id)
        places = frozenset(_places(task, job, before)) if job is not None and not job.native else frozenset()
        had = before.places if before else frozenset()
        if places:
            self._tasks[task.id] = _Held(task.attempt, places)
        else:
            self._tasks.pop(task.id, None)
        if places == had or job is None:
            return
        for node, port in had - places:
            if self._ours[node].get(port, PortUse("", "")).holder == task.id:
                del self._ours[node][port]
        use = PortUse(task.id, job.name if job.replicas == 1 else f"{job.name} slot {task.slot}")
        for node, port in places - had:
            self._ours.setdefault(node, {})[port] = use
        self._mark({node for node, _ in places ^ had})

    def put_seen(self, seen: Mapping[str, Mapping[str, PortUse]]) -> bool:
        """What else publishes ports, by node; True when that is another than before."""
        fresh = {node: dict(ports) for node, ports in seen.items() if ports}
        if fresh == self._seen:
            return False
        changed = {node for node in fresh.keys() | self._seen.keys() if fresh.get(node) != self._seen.get(node)}
        self._seen = fresh
        self._mark(changed)
        return True

    def _mark(self, nodes: Collection[str]) -> None:
        self._changed.mark_nodes(*(self._nodes if EVERY_NODE in nodes else nodes))


def _places(task: Task, job: Job, before: _Held | None) -> Iterator[Place]:
    """What an attempt was granted it keeps until it is gone, also when its job has another form meanwhile."""
    if task.node and (task.state in OCCUPYING or not task.gone):
        if before is not None and before.attempt == task.attempt:
            yield from (place for place in before.places if place[0] in (task.node, EVERY_NODE))
        else:
            request = job.request_of(task.generation)
            yield from ((task.node, port) for port in request.ports)
            yield from ((EVERY_NODE, port) for port in request.ingress)
    if task.next_node:
        yield from ((task.next_node, port) for port in job.request.ports)
        yield from ((EVERY_NODE, port) for port in job.request.ingress)
