"""What the engine shows of each task, side by side with what is wanted of it: what diff decides on."""

from collections.abc import Container, Iterable, Mapping

import msgspec

from berth.model.job import Job, Task
from berth.model.launch import Handle
from berth.model.node import Node
from berth.model.seen import Life, Observed, SlotObject
from berth.ports import Capabilities

ORDER = {"running": 0, "starting": 1, "unknown": 2, "pending": 3, "exited": 4}


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What diff may see beside the tasks. `settled[task]`: monotonic seconds of the last engine call for the task
    (infinity while one is under way); an absence in a look that began earlier proves nothing. `killed` are containers
    that an agent saw a person signal; `stacks` exist; `superseded` are ended jobs whose service has a later job.
    """

    observed: Observed
    capabilities: Capabilities
    nodes: Mapping[str, Node]
    settled: Mapping[str, float]
    cluster: str
    now: float
    stacks: frozenset[str] = frozenset()
    superseded: frozenset[str] = frozenset()
    killed: Container[str] = frozenset()

    def proves(self, key: str) -> bool:
        """True when what the look does not show of a task (or job) is not there: no call for it came after."""
        return self.observed.began > self.settled.get(key, 0.0)

    def objects(self) -> dict[str, SlotObject]:
        """This cluster's objects by task."""
        return {seen.task: seen for seen in self.observed.objects if not seen.native and self._ours(seen.labels)}

    def lives(self) -> dict[str, list[Life]]:
        """This cluster's lives by task."""
        found: dict[str, list[Life]] = {}
        for life in self.observed.lives:
            if not life.native and self._ours(life.labels):
                found.setdefault(life.task, []).append(life)
        return found

    def _ours(self, labels: Mapping[str, str]) -> bool:
        return labels.get("berth.cluster") == self.cluster


class Slot(msgspec.Struct, frozen=True):
    """One task with its job and all that the engine shows of it; `life` is that of the current attempt."""

    job: Job
    task: Task
    object: SlotObject | None
    life: Life | None
    strays: tuple[Life, ...]
    past: Life | None
    """What is left of an earlier attempt on an engine without slot objects when a person removed the last one."""
    absent: bool
    """True when what is not seen is proven not to be there."""

    @property
    def coming(self) -> bool:
        """True while the slot's object still asks for this attempt: the engine may yet make a container of it."""
        return self.object is not None and self.object.attempt == self.task.attempt and self.object.replicas > 0

    @property
    def handle(self) -> Handle:
        """What names the slot on the engine now: its object, with every life of it, or else the one container."""
        if self.object is not None:
            return Handle(object_id=self.object.id, object_version=self.object.version, node=self.task.node)
        life = self.life or self.past
        return Handle(engine_id=life.engine_id if life else self.task.engine_id, node=self.task.node)


def slot_of(job: Job, task: Task, seen: SlotObject | None, lives: Iterable[Life], situation: Situation) -> Slot:
    """The task beside its object and its lives."""
    mine = list(lives)
    current = sorted((life for life in mine if life.attempt == task.attempt), key=lambda life: ORDER[life.state])
    life = current[0] if current and task.attempt else None
    strays = tuple(other for other in mine if other is not life and other.alive)
    ended = [other for other in mine if other.state == "exited" and life is None]
    past = max(ended, key=lambda other: other.attempt, default=None)
    only_containers = not situation.capabilities.slot_objects
    return Slot(job, task, seen, life, strays, past if only_containers else None, situation.proves(task.id))
