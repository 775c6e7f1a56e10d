"""`POST /v1/jobs`: one job, a list of jobs, or a YAML job file; all or none."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec
from litestar import Response, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import HeaderParameter, QueryParameter

from berth.api import show, tell, views
from berth.api.describe import REPLAYED, raw, reply, says
from berth.api.kept import encoder
from berth.api.reading import facts_for
from berth.api.room import AnyRequest, Here, Room, actor_of, pending_of
from berth.compose import Facts, JobBody, decode_jobs, draft_job, read_body, read_job
from berth.control.commands import jobs as commands
from berth.model.change import Remember
from berth.model.draft import Draft
from berth.model.errors import BadInput, BerthError
from berth.model.job import Job, Task

MOST_JOBS = 10_000
MOST_PROBLEMS = 100
YAML = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")
SUBMITTED = says(views.Job, "The job; for a list of jobs, the list of them.", 201)
SUBMITTED[200] = ResponseSpec(views.Plan, description="With `plan`: what would happen.", generate_examples=False)


class SubmitOperation(Operation):
    """Describes the body, which the route reads by itself: the framework knows only one kind of body per route."""

    def __post_init__(self) -> None:
        job = Schema(
            type=OpenAPIType.OBJECT,
            required=["image"],
            description="The keys of a job file: image, command, gpus, model, constraints, env, volumes, secrets, "
            "user, resources, restart, time, name, priority, shm_size.",
        )
        many = Schema(one_of=[job, Schema(type=OpenAPIType.ARRAY, items=job)])
        text = Schema(type=OpenAPIType.STRING, description="A job file as it is.")
        content = {"application/json": OpenAPIMediaType(schema=many), YAML[0]: OpenAPIMediaType(schema=text)}
        self.request_body = RequestBody(content=content, required=True)


@post("/v1/jobs", summary="Submit jobs, or plan them", response_headers=[REPLAYED], responses=SUBMITTED,
      operation_class=SubmitOperation)  # fmt: skip
async def submit(
    request: AnyRequest,
    room: Here,
    plan: Annotated[bool, QueryParameter(description="Say what would happen, and do nothing.")] = False,
    strict: Annotated[bool, QueryParameter(description="Take what lint finds as errors.")] = False,
    file: Annotated[
        str, HeaderParameter(name="X-Berth-File", description="The path of the job file, for messages.")
    ] = "job.yaml",
    auth: Annotated[
        str, HeaderParameter(name="X-Registry-Auth", description="Credentials of the image's registry.")
    ] = "",
) -> Response[bytes]:
    """Jobs are durable when the answer comes, and wait from then on. Of a list all are taken or none."""
    actor, body = actor_of(request), await request.body()
    facts = facts_for(actor, room.control.engine.capabilities)
    if request.content_type[0] in YAML:
        drafts, many = [await asyncio.to_thread(read_job, body, _path(file), facts, strict)], False
    else:
        drafts, many = _drafts(body, facts, strict)
    if plan:
        return reply(tell.plan(await commands.plan(room.control, actor, drafts, auth)))
    answer = _Answer(room, many)
    pending = pending_of(request)

    def remember(jobs: Sequence[Job]) -> Remember:
        assert pending is not None
        return pending.change(answer.of(jobs))

    jobs = await commands.submit(room.control, actor, drafts, auth, remember if pending is not None else None)
    return raw(answer.of(jobs), 201)


class _Answer:
    """The answer, made once: before the commit where it is kept along with the jobs."""

    def __init__(self, room: Room, many: bool) -> None:
        self._room = room
        self._many = many
        self._body = b""

    def of(self, jobs: Sequence[Job]) -> bytes:
        """The jobs as they are submitted: all waiting."""
        if not self._body:
            shown = [show.job(self._room.control.cluster, job, _tasks(job)) for job in jobs]
            self._body = encoder.encode(shown if self._many else shown[0])
        return self._body


def _tasks(job: Job) -> list[Task]:
    return [Task(id=f"{job.id}.{slot}", job=job.id, slot=slot) for slot in range(1, job.replicas + 1)]


def _path(header: str) -> str:
    """A path as the client wrote it: header values are bytes, and the client sends UTF-8."""
    return header.encode("latin-1", "replace").decode("utf-8", "replace")


def _drafts(body: bytes, facts: Facts, strict: bool) -> tuple[list[Draft], bool]:
    bodies, many = decode_jobs(body)
    if len(bodies) > MOST_JOBS or not bodies:
        text = f"a list of jobs has 1 to {MOST_JOBS} of them; this one has {len(bodies)}."
        raise BadInput.of("too-many-jobs" if bodies else "no-jobs", text, "Split it into several requests")
    return ([read_body(bodies[0], facts, strict)], False) if not many else (_all(bodies, facts, strict), True)


def _all(bodies: Sequence[JobBody], facts: Facts, strict: bool) -> list[Draft]:
    """The drafts of a list, or all that is wrong with it, each with the number of its job (from 0, as in JSON)."""
    drafts, wrong = [], []
    for number, body in enumerate(bodies):
        try:
            drafts.append(draft_job(body, facts, strict))
        except BerthError as error:
            wrong += [msgspec.structs.replace(one, field=f"[{number}].{one.field}") for one in error.problems]
    if wrong:
        raise BadInput(*wrong[:MOST_PROBLEMS])
    return drafts


HANDLERS = [submit]
