"""Takes the snapshot that a decision sees: frozen views of nodes that are rebuilt only where something changed."""

import msgspec

from berth.control.mirror.cluster import Cluster
from berth.model.job import Job, Task
from berth.model.lifecycle import QUEUED
from berth.model.node import Node
from berth.model.snapshot import Candidate, CardView, NodeView, Snapshot
from berth.model.spec import Request


class Views:
    """Keeps one frozen view per node; `snapshot` costs what changed since the last one."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._views: dict[str, NodeView] = {}
        self._order: tuple[NodeView, ...] = ()
        self.for_names = False
        cluster.changed.mark_nodes(*cluster.nodes)

    def nodes(self) -> tuple[NodeView, ...]:
        """All nodes by name, the order that breaks ties."""
        stale = self._cluster.changed.take_nodes()
        for name in stale:
            node = self._cluster.nodes.get(name)
            if node is None:
                self._views.pop(name, None)
            else:
                self._views[name] = self._view(node)
        if stale:
            self._order = tuple(self._views[name] for name in sorted(self._views))
        return self._order

    def snapshot(self, now: float) -> Snapshot:
        """The cluster at this instant, with everything that waits in the order in which it is served."""
        waiting = list(self._cluster.work.waiting.values())
        jobs = self._cluster.jobs
        held = {task.id for task in waiting if self._cluster.name_held(jobs[task.job], task.slot)}
        self.for_names = bool(held)
        candidates = [candidate(jobs[task.job], task, task.id in held) for task in waiting]
        return Snapshot(now, self.nodes(), tuple(sorted(candidates, key=lambda one: one.rank)))

    def _view(self, node: Node) -> NodeView:
        cards = [self._cluster.cards[uuid] for uuid in self._cluster.ledger.on_node(node.name)]
        views = tuple(
            CardView(card, self._cluster.ledger.rooms[card.uuid], tuple(self._cluster.ledger.holders[card.uuid]))
            for card in sorted(cards, key=lambda card: (card.index, card.uuid))
        )
        booked = self._cluster.booked.on(node.name)
        cpu = node.cpu_nano - booked.cpu_nano if node.cpu_nano else None
        memory = node.memory_bytes - booked.memory_bytes if node.memory_bytes else None
        tasks, ports = self._cluster.booked.tasks[node.name], self._cluster.ports.on(node.name)
        return NodeView(node, views, cpu, memory, tasks, ports)


def _pinned(request: Request, node: str) -> Request:
    return msgspec.structs.replace(request, pinned_node=node) if node else request


def candidate(job: Job, task: Task, name_held: bool = False) -> Candidate:
    """What the decision needs to know of a task that waits, or that runs until it gets another grant.

    `name_held`: an earlier job of the same service still has the slot's name on the engine.
    """
    blocked = "held" if job.held else ""
    message = f"held: 'berth release {job.id}' lets it go on" if job.held else ""
    if name_held:
        blocked, message = "engine", f"what is left of an earlier {job.name} is being removed first"
    elif task.state in QUEUED and not task.gone:
        blocked, message = "engine", f"its last run on {task.node} is not gone yet; its cards go back first"
    return Candidate(
        task=task.id,
        job=job.id,
        name=job.name,
        request=_pinned(job.request, task.for_node),
        rank=(-job.priority, job.submitted_at, job.seq, task.slot),
        owns=task.cards if task.wants_replace else (),
        home=task.node if task.wants_replace else "",
        blocked=blocked,
        blocked_message=message,
    )
