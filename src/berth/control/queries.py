"""Questions about the cluster that need more than one look-up: which job is meant, why it waits, its history."""

from collections.abc import Sequence

import msgspec

from berth.control.context import Control
from berth.core.everywhere import covers_nodes
from berth.core.explain import explain, on_each_node
from berth.core.rollout import in_words
from berth.core.status import JobStatus, job_status
from berth.model.errors import Ambiguous, NotFound, Problem
from berth.model.image import KnownImage
from berth.model.job import Attempt, Job, Task
from berth.model.lifecycle import FINISHED, QUEUED
from berth.model.plan import Why

__all__ = ["JobStatus", "attempts", "job_status", "resolve", "tasks_of", "why"]


async def resolve(control: Control, key: str) -> Job:
    """The job of this id or name, live ones first. Raises NotFound, or Ambiguous with the candidates."""
    cluster = control.cluster
    if key in cluster.jobs:
        return cluster.jobs[key]
    named = list(cluster.work.named(key))
    named += [job for job in cluster.jobs.values() if job.engine_name == key and job not in named]
    live = [job for job in named if job.ended_at is None]
    if len(live) == 1 or (not live and len(named) == 1):
        return (live or named)[0]
    if live or named:
        raise Ambiguous(_several(key, live or named))
    stored = await control.writer.read(lambda store: _stored(store.job(key), store.find_ended(key)))
    if len(stored) > 1:
        raise Ambiguous(_several(key, stored))
    if not stored:
        raise NotFound.of("no-such-job", f"there is no job {key}.", "List them: berth jobs --all")
    return stored[0]


def _stored(found: tuple[Job, list[Task]] | None, named: list[Job]) -> list[Job]:
    return [found[0]] if found is not None else named


def _several(key: str, jobs: Sequence[Job]) -> Problem:
    listed = ", ".join(f"{job.id} ({'ended' if job.ended_at is not None else 'live'})" for job in jobs[:10])
    return Problem(
        code="ambiguous-job",
        message=f"{key} is the name of {len(jobs)} jobs: {listed}.",
        hint=f"Name one by its id, for example: berth why {jobs[0].id}",
    )


async def tasks_of(control: Control, job: Job) -> tuple[Task, ...]:
    """The tasks of a job, from the store when the job is no longer in memory."""
    if job.id in control.cluster.jobs:
        return control.cluster.tasks_of(job.id)
    stored = await control.writer.read(lambda store: store.job(job.id))
    return tuple(stored[1]) if stored is not None else ()


async def attempts(control: Control, job_id: str) -> list[Attempt]:
    """All attempts of all slots of a job, by slot, then attempt."""
    return await control.writer.read(lambda store: store.attempts(job_id))


async def why(control: Control, job_id: str) -> Why:
    """Why the job is in the state it is in: for one that waits, rule by rule and node by node."""
    job = control.cluster.jobs.get(job_id) or await resolve(control, job_id)
    tasks = await tasks_of(control, job)
    answer = _with_update(job, tasks, await _why(control, job, tasks))
    if not covers_nodes(job) or job.cancelled or job.ended_at is not None:
        return answer
    nodes, never = on_each_node(control.views.snapshot(control.clock.now()), job, tasks)
    return msgspec.structs.replace(answer, nodes=nodes, never=never and not job.replicas)


def _with_update(job: Job, tasks: Sequence[Task], answer: Why) -> Why:
    """The answer with how the job's update stands; a state that says it already is left as it is."""
    update = "" if job.ended_at is not None or job.cancelled else in_words(job, tasks)
    if not update or update in answer.message:
        return answer
    return msgspec.structs.replace(answer, message=f"{answer.message} {job.name}: {update}.")


async def _why(control: Control, job: Job, tasks: Sequence[Task]) -> Why:
    waiting = [task for task in tasks if task.state in QUEUED or task.wants_replace]
    if waiting and not job.cancelled:
        answer = explain(control.views.snapshot(control.clock.now()), waiting[0].id, control.policy)
        if control.engine_trouble:
            text = f"{answer.message} The engine's last complaint: {control.engine_trouble}"
            return msgspec.structs.replace(answer, message=text)
        return answer
    status = job_status(job, tasks, control.cluster.waits)
    told = await _of_registry(control, job, tasks)
    return Why(job=job.id, reason=status.reason, message=_sentence(job, status, tasks) + told)


async def _of_registry(control: Control, job: Job, tasks: Sequence[Task]) -> str:
    """What the image's registry says now, where the latest start of a task failed."""
    if not any(task.reason == "start-failed" for task in tasks):
        return ""
    image = job.spec.image
    answer = (
        (await control.images.learn({image: control.credentials.get(job.id, "")})).get(image, KnownImage()).registry
    )
    no_help = answer.verdict in ("", "found")
    return "" if no_help else f" The registry {answer.registry} says of {job.spec.image}: {answer.said}."


def _sentence(job: Job, status: JobStatus, tasks: Sequence[Task]) -> str:
    places = ", ".join(sorted({task.node for task in tasks if task.node and task.state not in FINISHED})) or "no node"
    match status.state:
        case "running":
            return f"{job.name} is running on {places}" + (f"; it {status.message}." if job.taking else ".")
        case "succeeded" | "failed" | "cancelled":
            code = f" with exit code {status.exit_code}" if status.exit_code is not None else ""
            detail = f": {status.message}" if status.message else ""
            return f"{job.name} has ended ({status.state}, {status.reason or 'exit'}){code}{detail}."
        case _:
            said = f": {status.message}" if status.message else "."
            return f"{job.name} is {status.state} on {places}{said}"
