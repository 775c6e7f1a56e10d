"""Commands on jobs: submit, plan, cancel, hold, release, requeue, scale."""

from collections.abc import Callable, Sequence

import msgspec

from berth.control import pullable
from berth.control.admit import check, make_job, new_tasks
from berth.control.amend import commit_whole
from berth.control.context import Control
from berth.control.permit import may_submit, must_own
from berth.control.planning import report
from berth.control.rescale import rescale, stops
from berth.core import becomes
from berth.model.change import Batch, Note, PutJob, PutTask, Remember
from berth.model.draft import Draft
from berth.model.errors import BadInput, NotFound, Refused
from berth.model.job import MOST_SLOTS, Job
from berth.model.lifecycle import QUEUED
from berth.model.plan import PlanReport
from berth.model.token import Actor

REMEMBER = Callable[[Sequence[Job]], Remember]


async def submit(
    control: Control, actor: Actor, drafts: Sequence[Draft], auth: str = "", remember: REMEMBER | None = None
) -> list[Job]:
    """Admit jobs of their own, all or none, durably; they wait from then on. Raises BadInput, Refused."""
    may_submit(actor)
    drafts = await pullable.learnt(control, drafts, auth)
    await check(control, drafts)
    jobs = _distinct_names([make_job(control, actor, draft) for draft in drafts])
    if auth:
        control.credentials.update({job.id: auth for job in jobs})
    names = {job.engine_name for job in jobs}
    control.coming_names |= names
    try:
        await control.writer.commit(
            tuple(change for job in jobs for change in (*new_tasks(control, job), _submitted(control, job))),
            (remember(jobs),) if remember else (),
        )
    finally:
        control.coming_names -= names
    control.wake("place")
    return jobs


def _distinct_names(jobs: list[Job]) -> list[Job]:
    """Two jobs of one name in one request: the later one carries its id on the engine."""
    seen: set[str] = set()
    distinct = []
    for job in jobs:
        if job.engine_name in seen:
            job = msgspec.structs.replace(job, engine_name=f"{job.engine_name}-{job.id}")
        seen.add(job.engine_name)
        distinct.append(job)
    return distinct


def _submitted(control: Control, job: Job) -> Note:
    return control.note("submitted", job.name, actor=job.user, job=job.id)


async def plan(control: Control, actor: Actor, drafts: Sequence[Draft], auth: str = "") -> PlanReport:
    """What `submit` would do now, from the same decision, with nothing created. Raises BadInput, Refused."""
    may_submit(actor)
    drafts = await pullable.learnt(control, drafts, auth)
    await check(control, drafts)
    planned = report(control, [make_job(control, actor, draft) for draft in drafts])
    warnings = dict.fromkeys(warning for draft in drafts for warning in draft.warnings)
    warnings |= dict.fromkeys(pullable.warnings(control, drafts))
    return msgspec.structs.replace(planned, warnings=tuple(warnings))


async def cancel(control: Control, actor: Actor, job_id: str) -> Job:
    """Cancel: what waits ends at once, what runs is stopped with grace. Repeating it changes nothing."""
    job = _job(control, job_id)
    must_own(actor, job)
    await commit_whole(control, lambda: cancelled(control, actor, control.cluster.jobs[job_id]))
    control.wake("reconcile", "reclaim", "place")
    return control.cluster.jobs.get(job_id, job)


def cancelled(control: Control, actor: Actor, job: Job) -> Batch:
    """The changes that cancel a job and stop its tasks; none for one that is over or whose tasks all know of it."""
    if job.ended_at is not None:
        return ()
    if job.cancelled:
        return stops(control, control.cluster.tasks_of(job.id), "cancelled")
    new = msgspec.structs.replace(job, cancelled=True, version=job.version + 1)
    note = control.note("cancelled", job.name, actor=actor.name, job=job.id)
    return (PutJob(new, was=job.version), note, *stops(control, control.cluster.tasks_of(job.id), "cancelled"))


async def hold(control: Control, actor: Actor, job_id: str) -> Job:
    """Keep a waiting job from starting. Raises Refused for one that runs."""
    job = _job(control, job_id)
    must_own(actor, job)
    _not_native(job, "hold", f"berth scale {job.name}=0")
    if any(task.state not in QUEUED for task in control.cluster.tasks_of(job_id)) or job.ended_at is not None:
        raise Refused.of(
            "hold-running",
            f"job {job.name} does not only wait: hold is for what has not started.",
            f"To stop it and put it back in the queue: berth requeue {job.id}",
        )
    return await _set_held(control, actor, job, held=True)


async def release(control: Control, actor: Actor, job_id: str) -> Job:
    """Let a held job go on with its original place in the order."""
    job = _job(control, job_id)
    must_own(actor, job)
    return await _set_held(control, actor, job, held=False) if job.held else job


async def _set_held(control: Control, actor: Actor, job: Job, held: bool) -> Job:
    note = control.note("held" if held else "released-hold", job.name, actor=actor.name, job=job.id)

    def changed() -> Batch:
        now = control.cluster.jobs[job.id]
        return (PutJob(msgspec.structs.replace(now, held=held, version=now.version + 1), was=now.version), note)

    await commit_whole(control, changed)
    control.wake("place")
    return control.cluster.jobs[job.id]


async def requeue(control: Control, actor: Actor, job_id: str) -> Job:
    """Stop a running job and put it back with its submit time; the attempt is not counted."""
    job = _job(control, job_id)
    must_own(actor, job)
    _not_native(job, "requeue", f"docker service update --force {job.name}")
    if job.ended_at is not None or job.cancelled:
        raise Refused.of(
            "requeue-ended",
            f"job {job.name} has ended.",
            "Submit it again: berth run, berth submit, or berth stack deploy",
        )

    def requeued() -> Batch:
        found = ((task, becomes.requeued(task)) for task in control.cluster.tasks_of(job_id))
        note = control.note("requeued", job.name, actor=actor.name, job=job.id)
        return (note, *(PutTask(new, was=task.version) for task, new in found if new is not None))

    await commit_whole(control, requeued)
    control.wake("reconcile", "reclaim", "place")
    return job


async def scale(control: Control, actor: Actor, job_id: str, replicas: int) -> Job:
    """Change the number of slots; surplus slots stop from the highest number down. Raises BadInput, Refused."""
    job = _job(control, job_id)
    must_own(actor, job)
    if replicas < 0:
        raise BadInput.of("scale-negative", f"{replicas} replicas is not a number from 0 up.", field="replicas")
    if replicas > MOST_SLOTS:
        text = f"{replicas} replicas are more than Berth takes for one job ({MOST_SLOTS})."
        raise BadInput.of("too-many-replicas", text, "Write a smaller number", field="replicas")
    return await rescale(control, job_id, replicas, actor.name)


def _not_native(job: Job, verb: str, instead: str) -> None:
    """Raises Refused for what Swarm places itself."""
    if job.native and job.ended_at is None:
        raise Refused.of("native-service", f"Swarm places {job.name} itself: Berth cannot {verb} it.", instead)


def _job(control: Control, job_id: str) -> Job:
    job = control.cluster.jobs.get(job_id)
    if job is None:
        raise NotFound.of("no-such-job", f"no live job has the id {job_id}.", "List all: berth jobs --all")
    return job
