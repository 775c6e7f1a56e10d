"""The next steps of each service that is being taken over from the docker CLI: the pure twin of `control/takeover`.

A slot of such a job holds node and cards from the start (state "restarting", `takes_over`: the engine's task that still
runs on them). One old task after the other ends, and each slot starts on the cards of its own once that is seen.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from berth.model.job import Job, Task
from berth.model.seen import Observed, Other

CALM = frozenset({"running", "ended", "waiting", "prepared"})
"""States of a slot that keep no other one waiting."""


class Shrink(msgspec.Struct, frozen=True):
    """The old service may have so many tasks and no more; the engine chooses which one ends."""

    job: str
    service: str
    replicas: int


class Retire(msgspec.Struct, frozen=True):
    """Nothing of the old service is needed any more: remove it."""

    job: str
    service: str


class Freed(msgspec.Struct, frozen=True):
    """The old task of this slot is gone: the slot may start."""

    task: str


class Replaced(msgspec.Struct, frozen=True):
    """The engine itself has started the old task anew on the same node: it holds the slot's cards now."""

    task: str
    by: str


class TakenAway(msgspec.Struct, frozen=True):
    """A person removed the old service: that means the job."""

    job: str


class Over(msgspec.Struct, frozen=True):
    """The old service is gone as Berth asked: the job is wholly Berth's."""

    job: str


Step: TypeAlias = Shrink | Retire | Freed | Replaced | TakenAway | Over
Wanted: TypeAlias = tuple[Job, Sequence[Task]]


class Sight(msgspec.Struct, frozen=True):
    """What the steps may see: the look, the engine's ids of nodes by their names, and (`settled`, as in `diff.Facts`)
    when the last call for a job was over.
    """

    look: Observed
    node_ids: Mapping[str, str]
    settled: Mapping[str, float]


def handover(jobs: Iterable[Wanted], sight: Sight) -> list[Step]:
    """What is to be done now; jobs of one stack take their turns. The same input gives the same list."""
    look, settled = sight.look, sight.settled
    others = {other.id: other for other in look.others}
    found: list[Step] = []
    busy: set[str] = set()
    for job, tasks in sorted(jobs, key=lambda one: (one[0].submitted_at, one[0].seq)):
        if look.began > settled.get(job.id, 0.0):
            found += _Job(job, tasks, others.get(job.taking), sight.node_ids).steps(first=job.stack not in busy)
        busy.add(job.stack)
    return found


class _Job(msgspec.Struct, frozen=True):
    """One job with its tasks and the old service, as far as that is there."""

    job: Job
    tasks: Sequence[Task]
    service: Other | None
    node_ids: Mapping[str, str]

    def steps(self, first: bool) -> Iterator[Step]:
        """Its steps; `first`: it is this job's turn among those of its stack."""
        job, service = self.job, self.service
        if service is None or service.stack != job.stack:
            yield from self._after()
            return
        settled = list(self._settled(service))
        yield from settled
        if job.retiring or job.cancelled or (service.replicas == 0 and not service.tasks):
            yield Retire(job.id, service.id)
        elif first and not settled and self._may_go_on(service):
            yield Shrink(job.id, service.id, (service.replicas or 1) - 1)

    @property
    def _held(self) -> list[Task]:
        return [task for task in self.tasks if task.takes_over]

    def _after(self) -> Iterator[Step]:
        """The old service is gone; some of its tasks may still be ending."""
        alive = self.service.tasks if self.service is not None else ()
        yield from (Freed(task.id) for task in self._held if task.takes_over not in alive)
        if not self.job.retiring:
            yield TakenAway(self.job.id)
        elif self.service is None:
            yield Over(self.job.id)

    def _settled(self, service: Other) -> Iterator[Step]:
        """Slots whose old task is gone, and those whose old task the engine has started anew.

        A slot is freed only while the engine has all the tasks that it wants: none is coming that could take its cards.
        """
        alive = dict(zip(service.tasks, service.nodes, strict=True))
        mapped = {task.takes_over for task in self._held}
        new = [task for task in alive if task not in mapped]
        over = self.job.retiring or self.job.cancelled
        for task in (task for task in self._held if task.takes_over not in alive):
            by = next((one for one in new if alive[one] == self.node_ids.get(task.node)), None)
            if by is not None:
                new.remove(by)
                yield Replaced(task.id, by)
            elif over or len(alive) == service.replicas:
                yield Freed(task.id)

    def _may_go_on(self, service: Other) -> bool:
        """The next old task may end once the engine is through with the last one and every slot that was freed runs.

        Slot 1 has the old service's name, so it cannot start before all is over.
        """
        if not service.replicas or len(service.tasks) > service.replicas or self.job.held:
            return False
        return not blockers(self.tasks)


def blockers(tasks: Iterable[Task]) -> list[Task]:
    """The slots that were freed and do not run: while there is one, no further old task is ended."""
    return [task for task in tasks if not task.takes_over and task.slot > 1 and task.state not in CALM]


def waits_for_name(job: Job, slot: int) -> bool:
    """True while the old service still has the name that this slot's own service is to get."""
    return bool(job.taking) and not job.native and slot == 1
