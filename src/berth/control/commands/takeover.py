"""Take over a stack that the docker CLI made: what stands in the way, which job gets which service, and the plan of it.

`stacks.deploy` commits what is found here; `control/takeover` then carries it out.
"""

from collections.abc import Mapping, Sequence

import msgspec

from berth.control.admit import new_tasks
from berth.control.bind import launch_of
from berth.control.context import Control
from berth.core.takeover import Taken, Wish, assign
from berth.model.card import WHOLE, Share
from berth.model.change import Batch, PutJob, PutTask, Take
from berth.model.errors import Problem, Refused
from berth.model.job import Job, Task
from berth.model.plan import JobPlan, TaskPlan
from berth.model.seen import Other

DOCKERS_GRACE_S = 10.0


class Claims(msgspec.Struct, frozen=True):
    """By job name: the service of the docker CLI's that the job takes over, what its slots get, and for one that the
    engine goes on placing in which fields the file differs from it. `left` are services that the file does not name.
    """

    services: Mapping[str, Other] = {}
    slots: Mapping[str, tuple[Taken, ...]] = {}
    unlike: Mapping[str, tuple[str, ...]] = {}
    left: tuple[str, ...] = ()


async def claims(control: Control, stack: str, jobs: Sequence[Job], take_over: bool) -> Claims:
    """What these new jobs take over. Raises Refused for a stack that is not Berth's without `take_over`, for a name
    that somebody else's service has, and for services whose cards cannot be told; EngineError.
    """
    if not control.engine.capabilities.native:
        if take_over:
            text = f"the {control.engine.name} engine has no stacks of others that could be taken over."
            raise Refused.of("no-take-over", text, "Leave --take-over out", field="--take-over")
        return Claims()
    there, others = await _services(control)
    names = {job.name for job in jobs}
    mine = {name: other for name, other in there.items() if other.stack == stack}
    if mine and not take_over and (stack not in control.cluster.stacks or names & mine.keys()):
        raise _not_ours(stack, sorted(mine))
    taken = [name for name in sorted(names & there.keys()) if name not in mine]
    if taken:
        raise Refused(*(_name_taken(name) for name in taken))
    found = {name: mine[name] for name in names & mine.keys()}
    slots = _slots(control, jobs, found, others)
    unlike = await _unlike(control, jobs, found)
    return Claims(found, slots, unlike, tuple(sorted(mine.keys() - names)) if take_over else ())


async def _services(control: Control) -> tuple[dict[str, Other], tuple[Other, ...]]:
    """The services that are not Berth's and that no job takes over yet, by name; and all that others run."""
    look = await control.engine.observe()
    taking = {job.taking for job in control.cluster.jobs.values() if job.taking}
    free = {other.name: other for other in look.others if other.kind == "service" and other.id not in taking}
    return free, look.others


def _slots(
    control: Control, jobs: Sequence[Job], found: Mapping[str, Other], others: tuple[Other, ...]
) -> Mapping[str, tuple[Taken, ...]]:
    placed = [job for job in jobs if job.name in found and not job.native]
    wrong = [_mode(job.name) for job in placed if found[job.name].replicas is None]
    wishes = [Wish(job.name, job.request, job.replicas, found[job.name]) for job in placed]
    given = assign(wishes, control.views.nodes(), others)
    problems = (*wrong, *given.problems)
    if problems:
        raise Refused(*problems)
    return given.slots


async def _unlike(control: Control, jobs: Sequence[Job], found: Mapping[str, Other]) -> dict[str, tuple[str, ...]]:
    natives = [job for job in jobs if job.name in found and job.native]
    return {
        job.name: await control.engine.unlike(launch_of(control, job, _placeholder(job)), found[job.name].id)
        for job in natives
    }


def _placeholder(job: Job) -> Task:
    return Task(id=f"{job.id}.1", job=job.id, slot=1)


def first_tasks(control: Control, job: Job, claimed: Claims) -> Batch:
    """The job and its tasks: waiting, or on the node and cards of what they take over."""
    service = claimed.services.get(job.name)
    if service is None:
        return new_tasks(control, job)
    generation = job.generation + bool(claimed.unlike.get(job.name))
    job = msgspec.structs.replace(job, taking=service.id, generation=generation)
    if job.native:
        return (PutJob(job),)
    slots = {taken.slot: taken for taken in claimed.slots.get(job.name, ())}
    changes: list[Batch] = [(PutJob(job),)]
    for slot in range(1, job.replicas + 1):
        changes.append(_slot(control, job, slot, slots.get(slot)))
    text = f"{job.name} takes over {len(slots)} running tasks of the service that the docker CLI made"
    note = control.note("taking-over", text, actor=job.user, job=job.id)
    return (*(change for part in changes for change in part), note)


def _slot(control: Control, job: Job, slot: int, taken: Taken | None) -> Batch:
    fresh = Task(id=f"{job.id}.{slot}", job=job.id, slot=slot)
    if taken is None:
        return (PutTask(fresh),)
    held = msgspec.structs.replace(
        fresh, state="restarting", node=taken.node, cards=taken.cards, takes_over=taken.task, gone=False,
        generation=job.generation, granted_at=control.clock.now(),
    )  # fmt: skip
    shares = tuple(Share(uuid, WHOLE, control.cluster.cards[uuid].memory_mib) for uuid in taken.cards)
    return (PutTask(held), *((Take(held.id, shares),) if shares else ()))


def plan_of(job: Job, claimed: Claims) -> JobPlan:
    """What the take-over of this job's service means: what goes on, what ends and starts again, and for how long."""
    service = claimed.services[job.name]
    if job.native:
        tasks = (TaskPlan(service=job.service, slot=n, starts="now") for n in range(1, len(service.tasks) + 1))
        unlike = claimed.unlike.get(job.name, ())
        differs = f"; then Swarm updates it, since the file differs in {', '.join(unlike)}"
        note = f"taken over in place, none of its tasks restarts{differs if unlike else ''}"
        return JobPlan(name=job.name, change="update" if unlike else "keep", tasks=tuple(tasks), note=note)
    slots = {taken.slot: taken for taken in claimed.slots.get(job.name, ())}
    plans = tuple(_task_plan(job, slot, slots.get(slot)) for slot in range(1, job.replicas + 1))
    return JobPlan(name=job.name, change="update", tasks=plans, note=_downtime(job, service, len(slots)))


def _task_plan(job: Job, slot: int, taken: Taken | None) -> TaskPlan:
    if taken is None:
        return TaskPlan(
            service=job.service, slot=slot, starts="waits", why="no running task is there for it to take over"
        )
    return TaskPlan(service=job.service, slot=slot, starts="now", node=taken.node, cards=taken.cards)


def _downtime(job: Job, service: Other, moved: int) -> str:
    grace = DOCKERS_GRACE_S if job.spec.stop_grace_s is None else job.spec.stop_grace_s
    each = f"at most {grace:g} s to end and about 1 s to start"
    if len(service.tasks) <= 1:
        text = f"restarted on the same cards: down for {each}"
    else:
        text = (
            f"its {len(service.tasks)} containers are restarted on the same cards, one after the other; Swarm chooses "
            f"which is next. Each is down for {each}, slot 1 (which gets the service's name) until the last old one "
            "has ended"
        )
    more = len(service.tasks) - moved
    return text + (f"; {more} more than the file asks for end" if more > 0 else "")


def warnings_of(claimed: Claims) -> tuple[Problem, ...]:
    """What stays as it is, and in which order services come."""
    order = [name for name in sorted(claimed.services) if name in claimed.slots]
    found = []
    if claimed.left:
        text = (
            f"{', '.join(claimed.left)} run in this stack and are not in the file: they stay as they are, not Berth's."
        )
        found.append(
            Problem(code="take-over-left", message=text, hint="Add them to the file, or docker service rm NAME")
        )
    if len(order) > 1:
        text = f"one service after the other is taken over: {', '.join(order)}; the next one when the one before runs."
        found.append(Problem(code="take-over-order", message=text))
    return tuple(found)


def _not_ours(stack: str, names: Sequence[str]) -> Exception:
    verb = "runs" if len(names) == 1 else "run"
    text = f"stack {stack} was not deployed by Berth: {', '.join(names)} {verb} already."
    hint = (
        f"To take it over: berth stack deploy --take-over -c FILE {stack}\n"
        "With --plan it says first what goes on and what restarts; or deploy under another name"
    )
    return Refused.of("stack-not-berths", text, hint, field="name")


def _name_taken(name: str) -> Problem:
    text = f"the engine has a service {name} that does not belong to this stack."
    return Problem(code="name-taken", message=text, hint=f"Remove it (docker service rm {name}), or take another name")


def _mode(name: str) -> Problem:
    text = f"{name} uses cards and has a task on every node (mode: global); Berth cannot end one of them at a time."
    hint = f"Remove it (docker service rm {name}), then deploy the file"
    return Problem(code="take-over-mode", message=text, hint=hint)
