"""What the engine shows of each task, side by side with what is wanted of it: what diff decides on."""

from collections.abc import Iterable

import msgspec

from berth.core.situation import Situation
from berth.model.job import Job, Task
from berth.model.launch import Handle
from berth.model.seen import Life, SlotObject

ORDER = {"running": 0, "starting": 1, "unknown": 2, "pending": 3, "exited": 4}


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
