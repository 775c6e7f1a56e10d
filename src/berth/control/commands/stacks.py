"""Commands on stacks: deploy a parsed file (again), plan it, remove it. A stack is one job per service."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from berth.control import pullable
from berth.control.admit import check, make_job
from berth.control.amend import ATTEMPTS, commit_whole
from berth.control.commands.jobs import cancelled
from berth.control.commands.takeover import claims, first_tasks, plan_of, warnings_of
from berth.control.context import Control
from berth.control.files import bring, check_files, digested, with_digests
from berth.control.gather import Gathered, placed
from berth.control.native import apply_natives
from berth.control.permit import may_submit, must_own
from berth.control.planning import report
from berth.control.publish import look_for_ports, published
from berth.control.rollout import aimed, order_warnings, told, towards
from berth.core.everywhere import covers_nodes
from berth.model.change import Batch, DoubleGrant, PutJob, PutStack, Stale
from berth.model.draft import Draft, LoadedStack
from berth.model.errors import NotFound, Problem
from berth.model.job import Job, Network, Stack, Volume
from berth.model.plan import JobPlan, PlanReport, TaskPlan
from berth.model.registry import registry_of
from berth.model.token import Actor

Declared = TypeVar("Declared", Network, Volume)


async def examined(control: Control, actor: Actor, loaded: LoadedStack, auth: Mapping[str, str]) -> LoadedStack:
    """The stack with what nodes and registries say of its images; `deploy` and `plan_stack` refuse or warn by that.

    `auth` maps a registry to the X-Registry-Auth value for its images. Raises Refused for who may not submit: nobody
    else has the server ask other hosts.
    """
    may_submit(actor)
    return msgspec.structs.replace(loaded, drafts=await pullable.learnt(control, loaded.drafts, auth))


async def deploy(
    control: Control,
    actor: Actor,
    name: str,
    loaded: LoadedStack,
    auth: Mapping[str, str] | None = None,
    prune: bool = False,
    take_over: bool = False,
) -> list[Job]:
    """Make the stack as its file says: new services are submitted, changed ones updated, unchanged ones not touched.
    `auth` maps a registry to the X-Registry-Auth value for its images.

    Services that the file no longer names stay, as with Docker; with `prune` they are cancelled. With `take_over` those
    of a stack that the docker CLI made become Berth's. Networks, secrets and configs stay until the stack is removed.
    Raises BadInput, Refused, EngineError.
    """
    how = _How(auth or {}, prune, take_over)
    async with control.deploying(name):
        await look_for_ports(control, published(control, loaded))
        for _ in range(ATTEMPTS):
            with contextlib.suppress(_Overtaken, DoubleGrant):  # a card that was to be taken over went to somebody else
                return await _deploy(control, actor, name, _digested(control, loaded), how)
        raise Stale(f"stack {name} changed {ATTEMPTS} times while it was deployed")


class _How(NamedTuple):
    """Credentials by registry; what becomes of services that the file does not name, or that are not Berth's."""

    auth: Mapping[str, str]
    prune: bool
    take_over: bool


class _Overtaken(Exception):
    """A job that was to be updated was cancelled, or ended, while the file was checked."""


async def _deploy(control: Control, actor: Actor, name: str, loaded: LoadedStack, how: _How) -> list[Job]:
    old = _current(control, actor, name)
    fresh = [(draft, old.get(f"{name}_{draft.service}")) for draft in loaded.drafts]
    await _check(control, actor, name, loaded, fresh)
    made = [make_job(control, actor, draft, name) for draft, before in fresh if before is None]
    claimed = await claims(control, name, made, how.take_over)
    stack = await _furnish(control, actor, name, loaded)
    _keep_logins(control, how.auth, fresh, made)
    notes = tuple(control.note("submitted", job.name, actor=actor.name, job=job.id) for job in made)
    new = (PutStack(stack), *(change for job in made for change in first_tasks(control, job, claimed)), *notes)
    known = [(draft, before.id) for draft, before in fresh if before is not None]

    gone = [job.id for job in left_behind(control, name, loaded)] if how.prune else []

    def deployed() -> Batch:
        pruned = (change for job_id in gone for change in cancelled(control, actor, control.cluster.jobs[job_id]))
        updated = (change for draft, job_id in known for change in _update(control, actor, draft, job_id))
        return (*new, *pruned, *updated)

    ids = [*(job.id for job in made), *(job_id for _, job_id in known)]
    with control.calls.holding(ids):  # else the loop would tell the engine of the services, too
        await commit_whole(control, deployed)
        jobs = sorted((control.cluster.jobs[job_id] for job_id in ids), key=lambda job: job.name)
        control.wake("reconcile", "reclaim", "place")
        await apply_natives(control, [job for job in jobs if job.native and not control.cluster.name_held(job, 1)])
    if how.take_over:
        await control.refresh()  # what was taken over runs already, and is to be told so
    return [control.cluster.jobs.get(job.id, job) for job in jobs]


def left_behind(control: Control, name: str, loaded: LoadedStack) -> tuple[Job, ...]:
    """The live jobs of the stack that the file does not name."""
    named = {f"{name}_{draft.service}" for draft in loaded.drafts}
    jobs = control.cluster.work.services.of(name)
    return tuple(job for job in jobs if job.name not in named and not job.cancelled and job.ended_at is None)


def _digested(control: Control, loaded: LoadedStack) -> LoadedStack:
    """The stack with the files that it creates told apart by their content, and the ports that its tasks need."""
    loaded = published(control, loaded)
    files = digested(control, loaded.files)
    return msgspec.structs.replace(loaded, files=files, drafts=with_digests(loaded.drafts, files)) if files else loaded


async def _check(
    control: Control, actor: Actor, name: str, loaded: LoadedStack, fresh: Sequence[tuple[Draft, Job | None]]
) -> None:
    """Raise BadInput or Refused for all that is wrong in the files, or that the engine or the ledger would refuse, in
    one go; nothing is written.
    """
    wrong = Gathered(loaded.problems, (*loaded.refusals, *_other_kind(control, fresh)))
    coming = frozenset((new.file.kind, new.file.name) for new in loaded.files)
    with wrong.noting():
        await check(control, loaded.drafts, loaded.networks, coming)
    with wrong.noting():
        await check_files(control, actor, name, loaded.files)
    wrong.finish()


async def _furnish(control: Control, actor: Actor, name: str, loaded: LoadedStack) -> Stack:
    """Create what the services need, files first (Swarm may refuse one); the stack's record, with what it had before.

    What an earlier file declared stays until the stack is removed, as with Docker, so it stays in the record, too.
    """
    files = tuple(new.file for new in loaded.files)
    stack = Stack(
        name=name,
        user=actor.name,
        networks=loaded.networks,
        volumes=loaded.volumes,
        files=files,
        deployed_at=control.clock.now(),
    )
    await bring(control, actor, name, loaded.files)
    await control.engine.ensure_stack(stack)
    before = control.cluster.stacks.get(name, Stack(name=name))
    return msgspec.structs.replace(
        stack,
        networks=(*loaded.networks, *_others(before.networks, loaded.networks)),
        volumes=(*loaded.volumes, *_others(before.volumes, loaded.volumes)),
        files=(*files, *(one for one in before.files if (one.kind, one.name) not in {(f.kind, f.name) for f in files})),
    )


def _others(before: Sequence[Declared], now: Sequence[Declared]) -> Iterable[Declared]:
    names = {one.name for one in now}
    return (one for one in before if one.name not in names)


def _other_kind(control: Control, fresh: Sequence[tuple[Draft, Job | None]]) -> Iterator[Problem]:
    """Services that Swarm placed and that Berth shall place from now on, or the other way round; or of another mode."""
    for draft, before in fresh:
        hint = f"berth cancel {before.name}, then deploy the file again" if before is not None else ""
        if before is not None and before.native != _native(control, draft):
            now, then = ("Swarm", "Berth") if before.native else ("Berth", "Swarm")
            message = f"{before.name} is placed by {now}, and with this file it would be placed by {then}."
            yield placed(Problem(code="service-kind-changed", message=message, hint=hint), draft)
        elif before is not None and before.spec.mode != draft.spec.mode:
            message = f"{before.name} has mode: {before.spec.mode}, and with this file it would be {draft.spec.mode}."
            yield placed(Problem(code="service-mode-changed", message=message, hint=hint, field="deploy.mode"), draft)


def _keep_logins(
    control: Control, auth: Mapping[str, str], fresh: Sequence[tuple[Draft, Job | None]], made: Sequence[Job]
) -> None:
    """Keep, before anything can start, the registry credentials that each job's image needs."""
    ids = {job.service: job.id for job in made}
    for draft, before in fresh:
        login = auth.get(registry_of(draft.spec.image))
        if login:
            control.credentials[before.id if before is not None else ids[draft.service]] = login


async def plan_stack(
    control: Control,
    actor: Actor,
    name: str,
    loaded: LoadedStack,
    prune: bool = False,
    take_over: bool = False,
) -> PlanReport:
    """What `deploy` would do now, with nothing created. Raises BadInput, Refused, EngineError."""
    old = _current(control, actor, name)
    loaded = _digested(control, loaded)
    await _check(control, actor, name, loaded, [(draft, old.get(f"{name}_{draft.service}")) for draft in loaded.drafts])
    jobs = [make_job(control, actor, draft, name) for draft in loaded.drafts]
    claimed = await claims(control, name, [job for job in jobs if job.name not in old], take_over)
    planned = report(control, [job for job in jobs if job.name not in claimed.services], old)
    taken = tuple(plan_of(job, claimed) for job in jobs if job.name in claimed.services)
    gone = tuple(_removal(control, job) for job in left_behind(control, name, loaded)) if prune else ()
    return msgspec.structs.replace(
        planned,
        jobs=(*taken, *planned.jobs, *gone),
        warnings=(
            *loaded.warnings,
            *warnings_of(claimed),
            *pullable.warnings(control, loaded.drafts),
            *order_warnings(control, loaded.drafts),
        ),
    )


async def remove(control: Control, actor: Actor, name: str) -> PlanReport:
    """Cancel every job of the stack and take its networks away once nothing is left. Raises NotFound, Refused."""
    jobs = control.cluster.work.services.of(name)
    if name not in control.cluster.stacks and not jobs:
        raise NotFound.of("no-such-stack", f"there is no stack {name}.", "List them: berth stack ls")
    for job in jobs:
        must_own(actor, job)
    note = control.note("stack-removed", name, actor=actor.name)

    def removed() -> Batch:
        stack = control.cluster.stacks.get(name, Stack(name=name))
        now = control.cluster.work.services.of(name)
        stopped = (change for job in now for change in cancelled(control, actor, job))
        return (PutStack(msgspec.structs.replace(stack, removing=True)), note, *stopped)

    await commit_whole(control, removed)
    control.wake("reconcile", "reclaim", "place")
    return PlanReport(jobs=tuple(_removal(control, job) for job in control.cluster.work.services.of(name)))


def _removal(control: Control, job: Job) -> JobPlan:
    tasks = control.cluster.tasks_of(job.id)
    plans = (TaskPlan(service=job.service, slot=t.slot, starts="never", node=t.node, cards=t.cards) for t in tasks)
    return JobPlan(name=job.name, change="remove", tasks=tuple(plans))


def _current(control: Control, actor: Actor, name: str) -> dict[str, Job]:
    """The stack's live jobs by name, all of which the actor may change."""
    may_submit(actor)
    services = control.cluster.work.services.of(name)
    jobs = {job.name: job for job in services if not job.cancelled and job.ended_at is None}
    for job in jobs.values():
        must_own(actor, job)
    return jobs


def _update(control: Control, actor: Actor, draft: Draft, job_id: str) -> Batch:
    """Bring a known service to the file's form; one that did not change keeps running on its cards."""
    before = control.cluster.jobs.get(job_id)
    if before is None or before.cancelled or before.ended_at is not None:
        raise _Overtaken
    asked = msgspec.structs.replace(
        before, spec=draft.spec, priority=draft.priority, queue=draft.queue,
        replicas=before.replicas if covers_nodes(before) else draft.replicas, version=before.version + 1,
        demands=pullable.demands(draft, before),
    )  # fmt: skip
    job = towards(control, before, asked)
    if job is None:
        return ()
    rolls = job.rollout is not None and job.rollout != before.rollout
    text = job.name if not rolls else told(job)
    note = control.note("updated", text, actor=actor.name, job=job.id)
    return (PutJob(job, was=before.version), note, *aimed(control, before, job))


def _native(control: Control, draft: Draft) -> bool:
    return draft.native and control.engine.capabilities.native
