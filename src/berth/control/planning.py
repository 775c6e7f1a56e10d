"""Plan: what a submit or deploy would do, answered by the real decision on a snapshot that holds the new work too."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from berth.control.context import Control
from berth.control.rollout import planned
from berth.control.views import candidate
from berth.core.decide import decide
from berth.core.everywhere import covers_nodes, is_dropped, slots
from berth.model.job import Job, Task
from berth.model.lifecycle import OCCUPYING
from berth.model.plan import JobPlan, Place, PlanReport, TaskPlan, Wait
from berth.model.snapshot import Candidate


class _Wish(NamedTuple):
    """A job as it shall be, and the job of a stack that it would update or keep."""

    job: Job
    old: Job | None


class _Decided(NamedTuple):
    """What the decision says of each task, by its id."""

    places: Mapping[str, Place]
    waits: Mapping[str, Wait]


def report(control: Control, jobs: Sequence[Job], old: Mapping[str, Job] | None = None) -> PlanReport:
    """The plan of these jobs; `old` maps a name to the job of a stack that it would update or keep."""
    wishes = [_wish(job, (old or {}).get(job.name)) for job in jobs]
    wanted = [candidate(wish.job, task) for wish in wishes for task in _tasks_to_place(control, wish)]
    decided = _decide(control, wanted)
    return PlanReport(jobs=tuple(_job_plan(control, wish, decided) for wish in wishes))


def _wish(job: Job, old: Job | None) -> _Wish:
    """One that updates another keeps its id: its slots are that one's."""
    return _Wish(job if old is None else msgspec.structs.replace(job, id=old.id), old)


def _job_plan(control: Control, wish: _Wish, decided: _Decided) -> JobPlan:
    return JobPlan(
        name=wish.job.name,
        change=_change(wish),
        note=planned(control, wish.old, wish.job) if wish.old is not None else "",
        tasks=_task_plans(control, wish, decided),
    )


def _change(wish: _Wish) -> Literal["create", "update", "keep", "remove"]:
    job, old = wish
    if old is None:
        return "create"
    return "keep" if job.spec == old.spec and job.replicas == old.replicas else "update"


def _tasks_to_place(control: Control, wish: _Wish) -> list[Task]:
    """Tasks that a decision must find cards for: all of a new job, the new or waiting slots of a changed one."""
    job, old = wish
    if job.native:
        return []
    fresh = _slots(control, wish)
    if old is None:
        return fresh
    kept = control.cluster.tasks.get(old.id, {})
    same = job.spec.request == old.spec.request
    result = []
    for task in fresh:
        running = kept.get(task.slot)
        if running is None or running.state not in OCCUPYING:
            result.append(task)
        elif not same:
            moved = msgspec.structs.replace(task, cards=running.cards, node=running.node, wants_replace=True)
            result.append(moved)
    return result


def _slots(control: Control, wish: _Wish) -> list[Task]:
    """The slots that the job would have, as if none ran yet."""
    job, old = wish
    if not covers_nodes(job):
        return [Task(id=f"{job.id}.{slot}", job=job.id, slot=slot) for slot in range(1, job.replicas + 1)]
    there = control.cluster.tasks_of(old.id) if old is not None else ()
    found = slots(job, there, control.views.nodes())
    kept = (task for task in there if task not in found.end and (not is_dropped(task) or task in found.again))
    known = (Task(id=task.id, job=job.id, slot=task.slot, for_node=task.for_node) for task in kept)
    return [*known, *found.fresh]


def _decide(control: Control, extra: list[Candidate]) -> _Decided:
    snapshot = control.views.snapshot(control.clock.now())
    mine = {one.task for one in extra}
    waiting = sorted((*(c for c in snapshot.waiting if c.task not in mine), *extra), key=lambda one: one.rank)
    plan = decide(msgspec.structs.replace(snapshot, waiting=tuple(waiting)), control.policy)
    return _Decided({place.task: place for place in plan.places}, {wait.task: wait for wait in plan.waits})


def _task_plans(control: Control, wish: _Wish, decided: _Decided) -> tuple[TaskPlan, ...]:
    job = wish.job
    if job.native:
        why = "the engine places it itself"
        return tuple(TaskPlan(service=job.service, slot=n, starts="now", why=why) for n in range(1, job.replicas + 1))
    return tuple(_task_plan(control, wish, task.slot, decided) for task in _slots(control, wish))


def _task_plan(control: Control, wish: _Wish, slot: int, decided: _Decided) -> TaskPlan:
    key, service = f"{wish.job.id}.{slot}", wish.job.service or wish.job.name
    if key in decided.places:
        place = decided.places[key]
        cards = tuple(share.card for share in place.shares)
        return TaskPlan(service=service, slot=slot, starts="now", node=place.node, cards=cards)
    if key in decided.waits:
        wait = decided.waits[key]
        return TaskPlan(service=service, slot=slot, starts="never" if wait.never else "waits", why=wait.message)
    running = control.cluster.tasks[wish.old.id][slot] if wish.old is not None else None
    node, cards = (running.node, running.cards) if running is not None else ("", ())
    return TaskPlan(service=service, slot=slot, starts="now", node=node, cards=cards, why="keeps its cards")
