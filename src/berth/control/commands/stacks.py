"""Commands on stacks: deploy a parsed file (again), plan it, remove it. A stack is one job per service."""

import math
from collections.abc import Mapping, Sequence

import msgspec

from berth.client.registry import registry_of
from berth.control.admit import check, make_job, new_tasks
from berth.control.amend import amend
from berth.control.commands.jobs import cancel
from berth.control.context import Control
from berth.control.native import apply_native
from berth.control.permit import may_submit, must_own
from berth.control.planning import report
from berth.control.rescale import rescale
from berth.model.change import PutJob, PutStack
from berth.model.draft import Draft, LoadedStack
from berth.model.errors import NotFound
from berth.model.job import Job, Stack, Task
from berth.model.lifecycle import LIVE, revise, step
from berth.model.plan import JobPlan, PlanReport, TaskPlan
from berth.model.token import Actor


async def deploy(
    control: Control, actor: Actor, name: str, loaded: LoadedStack, auth: Mapping[str, str] | None = None
) -> list[Job]:
    """Make the stack as its file says: new services are submitted, changed ones updated, unchanged ones not touched.
    `auth` maps a registry to the X-Registry-Auth value for its images.

    Services that the file no longer names stay, as with Docker. Raises BadInput, Refused, EngineError.
    """
    old = _current(control, actor, name)
    await check(control, loaded.drafts, loaded.networks)
    stack = Stack(
        name=name, user=actor.name, networks=loaded.networks, volumes=loaded.volumes, deployed_at=control.clock.now()
    )
    await control.engine.ensure_stack(stack)
    fresh = [(draft, old.get(f"{name}_{draft.service}")) for draft in loaded.drafts]
    made = [make_job(control, actor, draft, name, n) for n, (draft, before) in enumerate(fresh) if before is None]
    notes = tuple(
        control.note("submitted", f"{job.name} by {actor.name}", actor=actor.name, job=job.id) for job in made
    )
    control.calls.settled.update({job.id: math.inf for job in made if job.native})
    _keep_logins(control, auth or {}, fresh, made)
    await control.writer.commit((PutStack(stack),), *(new_tasks(job) for job in made), notes)
    changed = [await _update(control, actor, draft, before) for draft, before in fresh if before is not None]
    jobs = sorted((*made, *changed), key=lambda job: job.name)
    for job in jobs:
        if job.native:
            await apply_native(control, job)
    control.wake("reconcile", "place")
    return jobs


def _keep_logins(
    control: Control, auth: Mapping[str, str], fresh: Sequence[tuple[Draft, Job | None]], made: Sequence[Job]
) -> None:
    """Keep, before anything can start, the registry credentials that each job's image needs."""
    ids = {job.service: job.id for job in made}
    for draft, before in fresh:
        login = auth.get(registry_of(draft.spec.image))
        if login:
            control.credentials[before.id if before is not None else ids[draft.service]] = login


async def plan_stack(control: Control, actor: Actor, name: str, loaded: LoadedStack) -> PlanReport:
    """What `deploy` would do now, with nothing created. Raises BadInput, Refused."""
    old = _current(control, actor, name)
    await check(control, loaded.drafts, loaded.networks)
    jobs = [make_job(control, actor, draft, name, n) for n, draft in enumerate(loaded.drafts)]
    planned = report(control, jobs, old)
    return msgspec.structs.replace(planned, warnings=loaded.warnings)


async def remove(control: Control, actor: Actor, name: str) -> PlanReport:
    """Cancel every job of the stack and take its networks away once nothing is left. Raises NotFound, Refused."""
    jobs = control.cluster.stack_jobs(name)
    if name not in control.cluster.stacks and not jobs:
        raise NotFound.of("no-such-stack", f"there is no stack {name}.", "List them: berth stack ls")
    for job in jobs:
        must_own(actor, job)
    for job in jobs:
        await cancel(control, actor, job.id)
    await control.writer.commit((control.note("stack-removed", f"{name} by {actor.name}", actor=actor.name),))
    await drop_stack(control, name)
    return PlanReport(jobs=tuple(_removal(control, job) for job in jobs))


async def drop_stack(control: Control, name: str) -> None:
    """Take a stack's networks and record away; objects of ended slots go with them."""
    stack = control.cluster.stacks.get(name, Stack(name=name))
    await control.writer.commit((PutStack(msgspec.structs.replace(stack, removing=True)),))
    control.wake("reconcile", "reclaim")


def _removal(control: Control, job: Job) -> JobPlan:
    tasks = control.cluster.tasks_of(job.id)
    plans = (TaskPlan(service=job.service, slot=t.slot, starts="never", node=t.node, cards=t.cards) for t in tasks)
    return JobPlan(name=job.name, change="remove", tasks=tuple(plans))


def _current(control: Control, actor: Actor, name: str) -> dict[str, Job]:
    """The stack's live jobs by name, all of which the actor may change."""
    may_submit(actor)
    jobs = {job.name: job for job in control.cluster.stack_jobs(name) if not job.cancelled and job.ended_at is None}
    for job in jobs.values():
        must_own(actor, job)
    return jobs


async def _update(control: Control, actor: Actor, draft: Draft, job: Job) -> Job:
    """Bring a known service to the file's form; one that did not change keeps running on its cards."""
    same = job.spec == draft.spec and job.priority == draft.priority and job.queue == draft.queue
    if not same:
        before, job = job, msgspec.structs.replace(
            job, spec=draft.spec, priority=draft.priority, queue=draft.queue, native=_native(control, draft),
            generation=job.generation + 1, version=job.version + 1,
        )  # fmt: skip
        note = control.note("updated", f"{job.name} by {actor.name}", actor=actor.name, job=job.id)
        await control.writer.commit((PutJob(job, was=before.version), note))
        for task in control.cluster.tasks_of(job.id):
            await _renew(control, task, same_cards=before.spec.request == job.spec.request)
    if draft.replicas != job.replicas:
        job = await rescale(control, job.id, draft.replicas, actor.name)
    return job


def _native(control: Control, draft: Draft) -> bool:
    return draft.native and control.engine.capabilities.native


async def _renew(control: Control, task: Task, same_cards: bool) -> None:
    """A slot of a changed service: on its own cards when it asks for the same, else after another grant."""

    def renew(now: Task) -> Task | None:
        if now.state not in LIVE or now.stop_for:
            return None
        if not same_cards:
            return revise(now, wants_replace=True)
        return step(now, "stop", stop_for="replace", stop_sent=False) if now.state != "unknown" else None

    await amend(control, task.id, renew)
