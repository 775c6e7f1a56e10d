"""Encoded answers that are asked for most, kept until the cluster changed; only what changed is encoded again."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from berth.api import show
from berth.api.models import models
from berth.api.pages import PAGE, Key, page_of
from berth.control.context import Control
from berth.model.job import Job, Task
from berth.model.plan import Wait
from berth.model.snapshot import NodeView

encoder = msgspec.json.Encoder()
NameKey = tuple[str]
CardKey = tuple[str, int, str]
JobKey = tuple[float, int, str]
PlaceKey = tuple[int, float, int, str]
NO_PLACE = 1 << 31


def join(items: Iterable[bytes], cursor: str | None) -> bytes:
    """A page of objects that are encoded already."""
    return b'{"items":[' + b",".join(items) + b'],"next":' + encoder.encode(cursor) + b"}"


class Kept:
    """Answers of the lists without a query, by path. All of them are first pages."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._answers: dict[str, tuple[object, bytes]] = {}
        self._nodes: dict[str, tuple[NodeView, bytes]] = {}
        self._cards: dict[str, tuple[NodeView, list[tuple[CardKey, bytes]]]] = {}
        self._jobs: dict[str, tuple[tuple[Any, ...], bytes]] = {}
        self.paths: dict[str, Callable[[], bytes]] = {
            "/v1/cards": lambda: self._answer("/v1/cards", ("cards",), self.cards),
            "/v1/nodes": lambda: self._answer("/v1/nodes", ("nodes",), self.nodes),
            "/v1/jobs": lambda: self._answer("/v1/jobs", ("jobs",), self.jobs),
            "/v1/queue": lambda: self._answer("/v1/queue", ("jobs",), self.queue),
            "/v1/gpus": lambda: self._answer("/v1/gpus", ("cards", "nodes", "jobs"), self.gpus),
        }

    def _answer(self, path: str, kinds: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
        """The kept answer while none of these kinds changed. Lives of native services change with each look."""
        cluster = self._control.cluster
        stamp = (*(cluster.changed.counts[kind] for kind in kinds), cluster.sight.natives if "jobs" in kinds else None)
        kept = self._answers.get(path)
        body = kept[1] if kept is not None and kept[0] == stamp else make()
        self._answers[path] = (stamp, body)
        return body

    def cards(self, limit: int = PAGE, cursor: str | None = None) -> bytes:
        """Cards by node and index."""
        rows: list[tuple[CardKey, bytes]] = []
        fresh: dict[str, tuple[NodeView, list[tuple[CardKey, bytes]]]] = {}
        for view in self._control.views.nodes():
            kept = self._cards.get(view.node.name)
            if kept is None or kept[0] is not view:
                kept = (view, self._encode_cards(view))
            fresh[view.node.name] = kept
            rows += kept[1]
        self._cards = fresh
        return _page(rows, limit, cursor, CardKey)

    def _encode_cards(self, view: NodeView) -> list[tuple[CardKey, bytes]]:
        found = show.cards(self._control.cluster, view)
        return [((card.node, card.index, card.uuid), encoder.encode(card)) for card in found]

    def nodes(self, limit: int = PAGE, cursor: str | None = None) -> bytes:
        """Nodes by name."""
        rows: list[tuple[NameKey, bytes]] = []
        fresh: dict[str, tuple[NodeView, bytes]] = {}
        for view in self._control.views.nodes():
            kept = self._nodes.get(view.node.name)
            if kept is None or kept[0] is not view:
                kept = (view, encoder.encode(show.node(view)))
            fresh[view.node.name] = kept
            rows.append(((view.node.name,), kept[1]))
        self._nodes = fresh
        return _page(rows, limit, cursor, NameKey)

    def gpus(self, limit: int = PAGE, cursor: str | None = None) -> bytes:
        """Models by name."""
        rows = models(self._control.cluster, self._control.views.nodes())
        return _page([((row.model,), encoder.encode(row)) for row in rows], limit, cursor, NameKey)

    def jobs(self, limit: int = PAGE, cursor: str | None = None, wanted: Callable[[Job], bool] | None = None) -> bytes:
        """Jobs that have not ended (those that are wanted), in the order in which they were submitted."""
        cluster = self._control.cluster
        live = [job for job in map(cluster.jobs.__getitem__, cluster.work.live) if wanted is None or wanted(job)]
        live.sort(key=job_key)
        chosen, following = page_of(live, job_key, limit, cursor, JobKey)
        return join(self._encode_jobs(chosen), following)

    def queue(self, limit: int = PAGE, cursor: str | None = None) -> bytes:
        """Jobs of which at least one slot waits, in the order in which they are served."""
        rows = sorted(self._waiting(), key=lambda row: row[0])
        chosen, following = page_of(rows, lambda row: row[0], limit, cursor, PlaceKey)
        return join(self._encode_jobs([job for _, job in chosen]), following)

    def _waiting(self) -> Iterable[tuple[PlaceKey, Job]]:
        """Jobs of which a slot waits, with their place; those that have none (held) come last, by their submission."""
        cluster = self._control.cluster
        for job_id in dict.fromkeys(show.job_of(task_id) for task_id in cluster.work.waiting):
            job = cluster.jobs.get(job_id)
            if job is None:
                continue
            now = show.status(cluster, job, show.tasks_of(cluster, job))
            if now.state == "waiting" or now.position is not None:
                yield (now.position or NO_PLACE, *job_key(job)), job

    def _encode_jobs(self, jobs: Sequence[Job]) -> list[bytes]:
        """Each job's bytes, kept while the job, its tasks and their waits are the same values."""
        fresh = {job.id: self._encode_job(job) for job in jobs}
        self._jobs = fresh if len(self._jobs) > 4 * PAGE else self._jobs | fresh
        return [fresh[job.id][1] for job in jobs]

    def _encode_job(self, job: Job) -> tuple[tuple[Any, ...], bytes]:
        cluster = self._control.cluster
        tasks = show.tasks_of(cluster, job)
        waits = tuple(cluster.waits.get(task.id) for task in tasks)
        kept = self._jobs.get(job.id)
        if kept is not None and _same(kept[0], job, tasks, waits):
            return kept
        return (job, tasks, waits), encoder.encode(show.job(cluster, job, tasks))


def _same(kept: tuple[Any, ...], job: Job, tasks: tuple[Task, ...], waits: tuple[Wait | None, ...]) -> bool:
    if kept[0] is not job or len(kept[1]) != len(tasks):
        return False
    if not all(old is new for old, new in zip(kept[1], tasks, strict=True)):
        return job.native and bool(kept[1] == tasks)
    return bool(kept[2] == waits)


def job_key(job: Job) -> JobKey:
    """The order in which jobs were submitted."""
    return (job.submitted_at, job.seq, job.id)


def _page(rows: Sequence[tuple[Key, bytes]], limit: int, cursor: str | None, kind: Any) -> bytes:
    chosen, following = page_of(rows, lambda row: row[0], limit, cursor, kind)
    return join((row[1] for row in chosen), following)
