"""What is reserved of each node's CPU and memory: by Berth's tasks, and by work that others run there."""

from collections import Counter, defaultdict
from typing import NamedTuple

from berth.control.mirror.changed import Changed
from berth.model.job import Job, Task
from berth.model.lifecycle import OCCUPYING


class Load(NamedTuple):
    """CPU in 1e-9 CPUs, memory in bytes."""

    cpu_nano: int = 0
    memory_bytes: int = 0

    def plus(self, other: "Load") -> "Load":
        """Both together."""
        return Load(self.cpu_nano + other.cpu_nano, self.memory_bytes + other.memory_bytes)

    def minus(self, other: "Load") -> "Load":
        """This without the other."""
        return Load(self.cpu_nano - other.cpu_nano, self.memory_bytes - other.memory_bytes)


NOTHING = Load()


class Booked:
    """Sums by node, kept while tasks come and go; `tasks[node]` counts what Berth has placed there."""

    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self._tasks: dict[str, tuple[str, Load]] = {}
        self._ours: dict[str, Load] = defaultdict(Load)
        self._others: dict[str, Load] = {}
        self.tasks: Counter[str] = Counter()

    def on(self, node: str) -> Load:
        """All that is reserved on a node."""
        return self._ours.get(node, NOTHING).plus(self._others.get(node, NOTHING))

    def put_task(self, task: Task, job: Job | None) -> None:
        """Count a task where it is now. The engine itself keeps count of a native service."""
        self._leave(task.id)
        if task.node and task.state in OCCUPYING and job is not None and not job.native:
            request = job.request_of(task.generation)
            load = Load(request.cpu_nano, request.memory_bytes)
            self._tasks[task.id] = (task.node, load)
            self._ours[task.node] = self._ours[task.node].plus(load)
            self.tasks[task.node] += 1
            self._changed.mark_nodes(task.node)

    def _leave(self, task_id: str) -> None:
        node, load = self._tasks.pop(task_id, ("", NOTHING))
        if node:
            self._ours[node] = self._ours[node].minus(load)
            self.tasks[node] -= 1
            self._changed.mark_nodes(node)

    def put_others(self, others: dict[str, Load]) -> None:
        """What work that is not Berth's reserves, by node."""
        if others != self._others:
            self._changed.mark_nodes(*others, *self._others)
            self._others = others
