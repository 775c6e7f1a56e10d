"""Jobs and tasks in memory, and who asks for them by what: live, open, in play, waiting, to be settled."""

from collections import OrderedDict
from collections.abc import Container, Iterator

from berth.control.mirror.changed import Changed
from berth.control.mirror.services import Services
from berth.core.everywhere import covers_nodes
from berth.model.job import Job, Task
from berth.model.lifecycle import FINISHED, QUEUED, is_clear, is_settled

ENDED_KEPT = 1000
"""How many ended jobs stay in memory; older ones are read from the store."""


class Work:
    """`tasks[job]` maps slot -> task. `live` are the jobs that have not ended, in the order of their submission.

    `open` are the tasks that have not ended or still have something on the engine or in the ledger; `active` those of
    them that do not only wait, so that a long queue does not slow down the care for what runs; `waiting` those that
    want cards or a node. `unsettled` are the jobs that changed since reclaim last asked whether they are over.
    `rolling` are the jobs whose slots are being changed,
    `everywhere` the live ones with a slot on each node. `granted` are the tasks that hold something in the ledger,
    `stacks` those that are deployed.
    """

    def __init__(self, granted: Container[str], stacks: Container[str], changed: Changed) -> None:
        self._granted, self._stacks, self._changed = granted, stacks, changed
        self.jobs: dict[str, Job] = {}
        self.tasks: dict[str, dict[int, Task]] = {}
        self._by_id: dict[str, Task] = {}
        self._names: dict[str, dict[str, None]] = {}
        self.services = Services(self.jobs)
        self.live: dict[str, None] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()
        self.open: dict[str, Task] = {}
        self.active: dict[str, Task] = {}
        self.waiting: dict[str, Task] = {}
        self.unsettled: dict[str, None] = {}
        self.rolling: dict[str, None] = {}
        self.everywhere: dict[str, None] = {}

    def task(self, task_id: str) -> Task | None:
        """The task of this id (`JOB.SLOT`), or None."""
        return self._by_id.get(task_id)

    def tasks_of(self, job_id: str) -> tuple[Task, ...]:
        """The tasks of a job by slot."""
        return tuple(task for _, task in sorted(self.tasks.get(job_id, {}).items()))

    def named(self, name: str) -> tuple[Job, ...]:
        """The jobs of this name."""
        return tuple(self.jobs[job_id] for job_id in self._names.get(name, ()))

    def unfinished(self) -> Iterator[tuple[Job, Task]]:
        """Every open task with its job."""
        return self._with_jobs(self.open)

    def in_play(self) -> Iterator[tuple[Job, Task]]:
        """Every active task with its job."""
        return self._with_jobs(self.active)

    def _with_jobs(self, tasks: dict[str, Task]) -> Iterator[tuple[Job, Task]]:
        for task in list(tasks.values()):
            if task.job in self.jobs:
                yield self.jobs[task.job], task

    def put_job(self, job: Job) -> None:
        """Insert or replace a job."""
        if job.id not in self.jobs:
            self._names.setdefault(job.name, {})[job.id] = None
            self.services.add(job)
        self.jobs[job.id] = job
        self.unsettled[job.id] = None
        if job.ended_at is None:
            self.live[job.id] = None
            if covers_nodes(job):
                self.everywhere[job.id] = None
            self._ended.pop(job.id, None)
        elif job.id not in self._ended:
            self.live.pop(job.id, None)
            self.everywhere.pop(job.id, None)
            self._ended[job.id] = None
            self._forget_oldest()
        if job.rollout is not None and job.rollout.under_way and job.ended_at is None and not job.cancelled:
            self.rolling[job.id] = None
        else:
            self.rolling.pop(job.id, None)
        self._changed.mark("jobs")

    def put_task(self, task: Task) -> None:
        """Insert or replace a task."""
        self.tasks.setdefault(task.job, {})[task.slot] = task
        self._by_id[task.id] = task
        self._sort(task)
        if task.state in QUEUED or task.wants_replace:
            self.waiting[task.id] = task
        else:
            self.waiting.pop(task.id, None)
        self._changed.mark("jobs", "cards")

    def regranted(self, task_id: str) -> None:
        """What the task holds in the ledger has changed."""
        task = self._by_id.get(task_id)
        if task is not None:
            self._sort(task)

    def _sort(self, task: Task) -> None:
        """Which of open and active the task belongs to."""
        self.unsettled[task.job] = None
        if is_settled(task, self._granted):
            self.open.pop(task.id, None)
        else:
            self.open[task.id] = task
        job = self.jobs.get(task.job)
        only_waits = task.state == "waiting" and job is not None and not job.stack
        if is_clear(task, self._granted) and (task.state in FINISHED or only_waits):
            self.active.pop(task.id, None)
        else:
            self.active[task.id] = task

    def _forget_oldest(self) -> None:
        for job_id in list(self._ended)[: max(0, len(self._ended) - ENDED_KEPT)]:
            open_still = any(task.id in self.open for task in self.tasks_of(job_id))
            if not open_still and self.jobs[job_id].stack not in self._stacks:
                self._forget(self.jobs.pop(job_id))

    def _forget(self, job: Job) -> None:
        del self._ended[job.id]
        for task in self.tasks.pop(job.id, {}).values():
            self._by_id.pop(task.id, None)
        self._names[job.name].pop(job.id, None)
        if not self._names[job.name]:
            del self._names[job.name]
        self.services.forget(job)
