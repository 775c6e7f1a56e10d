"""The jobs of each stack: which one stands for a service now, and which ones were before it."""

from collections.abc import Iterator, Mapping

from berth.model.job import Job


class Services:
    """Stack -> ids of its jobs; `jobs` are all jobs, by id. What is later goes by submission, not by the order in
    which jobs became known: a new server loads ended jobs by their ends.
    """

    def __init__(self, jobs: Mapping[str, Job]) -> None:
        self._jobs = jobs
        self._ids: dict[str, dict[str, None]] = {}

    def add(self, job: Job) -> None:
        """A new job; one of its own belongs to no stack."""
        if job.stack:
            self._ids.setdefault(job.stack, {})[job.id] = None

    def forget(self, job: Job) -> None:
        """A job that is no longer kept in memory."""
        ids = self._ids.get(job.stack, {})
        ids.pop(job.id, None)
        if not ids:
            self._ids.pop(job.stack, None)

    def of(self, stack: str) -> tuple[Job, ...]:
        """The jobs of a stack that are not ended-and-replaced, by name; the newest of each name."""
        newest: dict[str, Job] = {}
        for job in (self._jobs[job_id] for job_id in self._ids.get(stack, ())):
            last = newest.get(job.name)
            if last is None or _rank(job) > _rank(last):
                newest[job.name] = job
        return tuple(newest[name] for name in sorted(newest))

    def superseded(self) -> frozenset[str]:
        """Ended jobs whose service has a later job: nothing of them is kept on the engine."""
        return frozenset(
            job_id
            for stack, ids in self._ids.items()
            if len(ids) > 1
            for job_id in ids.keys() - {job.id for job in self.of(stack)}
            if self._jobs[job_id].ended_at is not None
        )

    def before(self, job: Job) -> Iterator[Job]:
        """The earlier jobs of the same service."""
        known = (self._jobs[one] for one in self._ids.get(job.stack, ()))
        return (one for one in known if one.name == job.name and one.submission < job.submission)


def _rank(job: Job) -> tuple[bool, tuple[float, int, str]]:
    """A live job stands for its service before an ended one, the later one before the earlier one."""
    return job.ended_at is None, job.submission
