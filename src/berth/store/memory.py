"""MemoryStore: the store of the simulator and of tests, with the same rules as a database; gone with the process."""

from collections.abc import Sequence
from itertools import islice

from berth.model.change import Batch, Superseded
from berth.model.event import Event
from berth.model.job import Attempt, Job, Task
from berth.model.lifecycle import is_settled
from berth.ports import Loaded, StoreInUse
from berth.store.tables import Tables

ENDED_LOADED = 1000


class MemoryStore:
    """`ports.Store` in dictionaries. What was committed is there again after `close` and `open` of the same object."""

    def __init__(self) -> None:
        self._opened = False
        self._epoch = 0
        self._meta: dict[str, str] = {}
        self._tables = Tables()

    def open(self) -> None:
        """Raise the epoch."""
        if self._opened:
            raise StoreInUse("this memory store is open already")
        self._opened = True
        self._epoch = int(self._meta.get("epoch", "0")) + 1
        self._meta["epoch"] = str(self._epoch)

    def close(self) -> None:
        """Keep everything for the next `open`."""
        self._opened = False

    def commit(self, batches: Sequence[Batch]) -> list[Exception | None]:
        """Each batch is a unit; one that is refused is undone alone."""
        self._must_lead()
        return [self._tables.apply(batch) for batch in batches]

    def load(self) -> Loaded:
        """Everything that is live."""
        ended = sorted((job for job in self._tables.jobs.values() if job.ended_at is not None), key=_end)
        newest = {job.id for job in ended[-ENDED_LOADED:]}
        live = sorted((job for job in self._tables.jobs.values() if job.ended_at is None), key=_submission)
        jobs = [*(job for job in ended if job.id in newest or self._of_use(job)), *live]
        return Loaded(
            jobs=jobs,
            tasks=[task for job_id in sorted(job.id for job in jobs) for task in self._tables.tasks_of(job_id)],
            nodes=[self._tables.nodes[name] for name in sorted(self._tables.nodes)],
            cards=[(self._tables.cards[uuid], self._tables.room(uuid)) for uuid in sorted(self._tables.cards)],
            grants=[(task, held[card]) for task, held in sorted(self._tables.grants.items()) for card in sorted(held)],
            stacks=[self._tables.stacks[name] for name in sorted(self._tables.stacks)],
            tokens=[self._tables.tokens[key] for key in sorted(self._tables.tokens)],
            files=[self._tables.files[key] for key in sorted(self._tables.files)],
            last_event=self._tables.last_event,
        )

    def events(self, after: int, limit: int, job: str = "") -> list[Event]:
        """Events after a number."""
        newer = (one for seq, one in self._tables.events.items() if seq > after and (not job or one.job == job))
        return list(islice(newer, limit))

    def attempts(self, job: str) -> list[Attempt]:
        """Attempts of a job."""
        found = [one for one in self._tables.attempts.values() if one.task.rpartition(".")[0] == job]
        return sorted(found, key=lambda one: (int(one.task.rpartition(".")[2]), one.attempt))

    def job(self, key: str) -> tuple[Job, list[Task]] | None:
        """A job by id."""
        return (self._tables.jobs[key], self._tables.tasks_of(key)) if key in self._tables.jobs else None

    def ended_jobs(self, before: float, limit: int) -> list[tuple[Job, list[Task]]]:
        """Ended jobs, newest first."""
        found = [job for job in self._tables.jobs.values() if job.ended_at is not None and job.ended_at < before]
        return [(job, self._tables.tasks_of(job.id)) for job in sorted(found, key=_end, reverse=True)[:limit]]

    def find_ended(self, name: str, limit: int = 20) -> list[Job]:
        """Ended jobs of a name, newest first."""
        found = [job for job in self._tables.jobs.values() if job.ended_at is not None and job.name == name]
        return sorted(found, key=_end, reverse=True)[:limit]

    def remembered(self, key: str) -> tuple[str, bytes] | None:
        """The answer kept for an idempotency key."""
        one = self._tables.remembered.get(key)
        return (one.body_hash, one.response) if one is not None else None

    def meta(self, key: str) -> str | None:
        """A small fact."""
        return self._meta.get(key)

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small fact."""
        self._must_lead()
        self._meta[key] = value

    def prune(self, events_before: float, jobs_before: float, remembered_before: float) -> list[str]:
        """Forget what is old."""
        self._must_lead()
        kept, last = self._tables, self._tables.last_event
        kept.events = {seq: one for seq, one in kept.events.items() if one.time >= events_before or seq == last}
        kept.remembered = {key: one for key, one in kept.remembered.items() if one.at >= remembered_before}
        ended = sorted((job for job in kept.jobs.values() if job.ended_at is not None), key=_end)
        gone = [job.id for job in ended if _end(job)[0] < jobs_before and not self._of_use(job)]
        kept.forget(gone)
        return gone

    def _must_lead(self) -> None:
        if self._meta.get("epoch") != str(self._epoch):
            raise Superseded("another Berth has taken over the memory store")

    def _of_use(self, job: Job) -> bool:
        """True while an ended job has unfinished tasks, holds cards, or belongs to a stack that exists."""
        tasks = self._tables.tasks_of(job.id)
        unfinished = any(not is_settled(task, self._tables.grants) for task in tasks)
        return unfinished or job.stack in self._tables.stacks


def _submission(job: Job) -> tuple[float, int, str]:
    return job.submission


def _end(job: Job) -> tuple[float, str]:
    return (job.ended_at if job.ended_at is not None else 0.0, job.id)
