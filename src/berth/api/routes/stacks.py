"""Stacks: deploy (or plan) from a bundle of files, list, look at one, remove."""

import asyncio
from collections.abc import Iterable
from typing import Annotated

import msgspec
from litestar import Response, delete, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, QueryParameter

from berth.api import show, tell, views
from berth.api.describe import REPLAYED, Cursor, Limit, Name, reply, says, says_page
from berth.api.kept import NameKey
from berth.api.pages import PAGE, page_of
from berth.api.reading import facts_for
from berth.api.room import AnyRequest, Here, Room, actor_of
from berth.compose import read_stack
from berth.control import pins, pullable
from berth.control.commands import stacks as commands
from berth.control.rollout import order_warnings
from berth.model.draft import Bundle, LoadedStack, Needs
from berth.model.errors import NotFound, Problem
from berth.model.job import Job
from berth.model.lifecycle import QUEUED
from berth.model.token import Actor

DEPLOYED = says(views.Deployment, "The stack was created.", 201)
DEPLOYED[200] = ResponseSpec(
    views.Deployment | views.Unready | views.Plan,
    description="The stack was updated; or what must be sent, too (`needs`); or, with `plan`, what would happen.",
    generate_examples=False,
)


class Deploy(msgspec.Struct, frozen=True):
    """The files of a stack (bytes in base64), X-Registry-Auth values by registry, and when registries are asked for the
    digests of images.
    """

    name: str
    bundle: Bundle
    auth: dict[str, str] = {}
    resolve: pins.Resolve = "always"


@post("/v1/stacks", summary="Deploy a stack, or plan it", response_headers=[REPLAYED], responses=DEPLOYED)
async def deploy(
    request: AnyRequest,
    room: Here,
    data: JSONBody[Deploy],
    plan: Annotated[bool, QueryParameter(description="Say what would happen, and do nothing.")] = False,
    prune: Annotated[bool, QueryParameter(description="Cancel the services that the files no longer name.")] = False,
    take_over: Annotated[bool, QueryParameter(description="Make services of the docker CLI's Berth's own.")] = False,
    strict: Annotated[bool, QueryParameter(description="Take what lint finds as errors.")] = False,
) -> Response[bytes]:
    """The server parses the files, so that every client gets the same answer. Where it must see more, it says so
    (`needs`), and the client sends the bundle again. Deploying a known name updates only what changed.
    """
    actor = actor_of(request)
    loaded = await asyncio.to_thread(
        read_stack, data.bundle, data.name, facts_for(actor, room.control.engine.capabilities), strict
    )
    if loaded.needs != Needs():
        return reply(unready(loaded.needs))
    loaded = await commands.examined(room.control, actor, loaded, data.auth)
    if plan:
        loaded = pins.kept(room.control, data.name, loaded)
        report = await commands.plan_stack(room.control, actor, data.name, loaded, prune, take_over)
        return reply(
            tell.plan(report, (*loaded.warnings, *_stays(commands.left_behind(room.control, data.name, loaded), prune)))
        )
    loaded = await pins.pinned(room.control, data.name, loaded, data.auth, data.resolve)
    return await _deployed(room, actor, data, loaded, (prune, take_over))


async def _deployed(
    room: Room, actor: Actor, data: Deploy, loaded: LoadedStack, how: tuple[bool, bool]
) -> Response[bytes]:
    prune, take_over = how
    cluster = room.control.cluster
    known = data.name in cluster.stacks
    before = {job.id: job for job in cluster.work.services.of(data.name)}
    left = commands.left_behind(room.control, data.name, loaded)
    jobs = await commands.deploy(room.control, actor, data.name, loaded, data.auth, prune, take_over)
    warnings = (
        *loaded.warnings,
        *_stays(left, prune),
        *pullable.warnings(room.control, loaded.drafts),
        *order_warnings(room.control, loaded.drafts),
    )
    answer = views.Deployment(
        name=data.name,
        jobs=[show.job(cluster, job) for job in jobs],
        changes={job.name: _change(before.get(job.id), job) for job in jobs} | _pruned(left, prune),
        warnings=[show.error(problem) for problem in dict.fromkeys(warnings)],
    )
    return reply(answer, 200 if known else 201)


def _pruned(left: Iterable[Job], prune: bool) -> dict[str, str]:
    return {job.name: "remove" for job in left} if prune else {}


def _stays(left: Iterable[Job], prune: bool) -> list[Problem]:
    """What to tell of services that the files no longer name."""
    if prune:
        return []
    return [
        Problem(
            code="service-left",
            message=f"{job.name} is no longer in the files and stays as it is.",
            hint="To cancel it, too: add --prune",
        )
        for job in left
    ]


def unready(needs: Needs) -> views.Unready:
    """What the client has to send."""
    return views.Unready(views.Needs(needs.files, needs.variables, needs.contents))


def _change(before: Job | None, job: Job) -> str:
    if before is None:
        return "create"
    return "keep" if _form(before) == _form(job) else "update"


def _form(job: Job) -> tuple[object, ...]:
    """What a deployment changes; a paused update that goes on has begun again."""
    began = job.rollout.started_at if job.rollout is not None else None
    return (job.spec, job.replicas, job.generation, job.priority, job.queue, began)


@get("/v1/stacks", summary="Stacks, by name", responses=says_page(views.Stack, "Stacks."))
async def stacks(room: Here, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """The deployed stacks in numbers."""
    found = sorted(room.control.cluster.stacks)
    chosen, following = page_of(found, lambda name: (name,), limit, cursor, NameKey)
    return reply(views.Page([_stack(room, name) for name in chosen], following))


def _stack(room: Room, name: str) -> views.Stack:
    cluster = room.control.cluster
    jobs = cluster.work.services.of(name)
    tasks = [task for job in jobs for task in show.tasks_of(cluster, job)]
    stack = cluster.stacks[name]
    return views.Stack(
        name=name,
        user=stack.user,
        services=len(jobs),
        tasks=len(tasks),
        running=sum(task.state == "running" for task in tasks),
        waiting=sum(task.state in QUEUED or task.state == "restarting" for task in tasks),
        deployed_at=show.moment(stack.deployed_at),
    )


@get("/v1/stacks/{name:str}", summary="A stack's jobs", responses=says_page(views.Job, "Its jobs, by name."))
async def stack(room: Here, name: Name, limit: Limit = PAGE, cursor: Cursor = None) -> Response[bytes]:
    """One job per service, the newest of each name."""
    cluster = room.control.cluster
    jobs = cluster.work.services.of(name)
    if not jobs and name not in cluster.stacks:
        raise NotFound.of("no-such-stack", f"there is no stack {name}.", "List them: berth stack ls")
    chosen, following = page_of(jobs, lambda job: (job.name,), limit, cursor, NameKey)
    return reply(views.Page([show.job(cluster, job) for job in chosen], following))


@delete("/v1/stacks/{name:str}", summary="Remove a stack", status_code=200, responses=says(views.Plan, "What ends."))
async def remove(request: AnyRequest, room: Here, name: Name) -> Response[bytes]:
    """What runs is stopped, what waits never starts; its networks go once nothing of it is left."""
    return reply(tell.plan(await commands.remove(room.control, actor_of(request), name)))


HANDLERS = [deploy, stacks, stack, remove]
