"""What the last look showed that the store does not hold: names in use on the engine, lives of native services."""

from collections.abc import Container

from berth.model.job import Job
from berth.model.rollout import SeenUpdate
from berth.model.seen import Life, Observed


class Sight:
    """`names` are the slots (by task id) and native jobs that have a name on the engine, `natives[job]` the lives of
    a native service, `updates[job]` the engine's own latest update of it. `slot_objects`: the engine has an object per
    slot, and the name is that object's.
    """

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.natives: dict[str, tuple[Life, ...]] = {}
        self.updates: dict[str, SeenUpdate] = {}

    def take(self, look: Observed, slot_objects: bool) -> bool:
        """Remember what the look showed; True when a name is free that was in use before."""
        before, self.names = self.names, _names(look, slot_objects)
        self.natives = _natives(look)
        self.updates = {one.job: one.update for one in look.objects if one.native and one.update is not None}
        return not before <= self.names

    def has_name_of(self, job: Job, slot: int, open_tasks: Container[str]) -> bool:
        """True while something of the job is left that has the slot's name on the engine."""
        task = f"{job.id}.{slot}"
        left = task in open_tasks or task in self.names or job.id in self.names
        return left or (job.native and job.ended_at is None)


def _names(look: Observed, slot_objects: bool) -> frozenset[str]:
    """Slots by their objects, native jobs by their services; where there are no objects, tasks by their containers."""
    found = {one.task or one.job for one in look.objects}
    return frozenset(found if slot_objects else found | {life.task for life in look.lives})


def _natives(look: Observed) -> dict[str, tuple[Life, ...]]:
    found: dict[str, list[Life]] = {}
    for life in look.lives:
        if life.native:
            found.setdefault(life.job, []).append(life)
    return {job: tuple(lives) for job, lives in found.items()}
