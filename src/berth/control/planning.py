"""Plan: what a submit or deploy would do, answered by the real decision on a snapshot that holds the new work too."""

from collections.abc import Mapping, Sequence
from typing import Literal

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


def report(control: Control, jobs: Sequence[Job], old: Mapping[str, Job] | None = None) -> PlanReport:
    """The plan of these jobs; `old` maps a name to the job of a stack that it would update or keep."""
    known = old or {}
    jobs = [msgspec.structs.replace(job, id=known[job.name].id) if job.name in known else job for job in jobs]
    wanted = [(job, task) for job in jobs for task in _tasks_to_place(control, job, known.get(job.name))]
    places, waits = _decided(control, [candidate(job, task) for job, task in wanted])
    return PlanReport(
        jobs=tuple(
            JobPlan(
                name=job.name,
                change=_change(job, known.get(job.name)),
                note=planned(control, known[job.name], job) if job.name in known else "",
                tasks=_task_plans(control, job, known.get(job.name), places, waits),
            )
            for job in jobs
        )
    )


def _change(job: Job, old: Job | None) -> Literal["create", "update", "keep", "remove"]:
    if old is None:
        return "create"
    return "keep" if job.spec == old.spec and job.replicas == old.replicas else "update"


def _tasks_to_place(control: Control, job: Job, old: Job | None) -> list[Task]:
    """Tasks that a decision must find cards for: all of a new job, the new or waiting slots of a changed one."""
    if job.native:
        return []
    fresh = _slots(control, job, old)
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


def _slots(control: Control, job: Job, old: Job | None) -> list[Task]:
    """The slots that the job would have, as if none ran yet."""
    if not covers_nodes(job):
        return [Task(id=f"{job.id}.{slot}", job=job.id, slot=slot) for slot in range(1, job.replicas + 1)]
    there = control.cluster.tasks_of(old.id) if old is not None else ()
    found = slots(job, there, control.views.nodes())
    kept = (task for task in there if task not in found.end and (not is_dropped(task) or task in found.again))
    known = (Task(id=task.id, job=job.id, slot=task.slot, for_node=task.for_node) for task in kept)
    return [*known, *found.fresh]


def _decided(control: Control, extra: list[Candidate]) -> tuple[dict[str, Place], dict[str, Wait]]:
    snapshot = control.views.snapshot(control.clock.now())
    mine = {one.task for one in extra}
    waiting = sorted((*(c for c in snapshot.waiting if c.task not in mine), *extra), key=lambda one: one.rank)
    decided = decide(msgspec.structs.replace(snapshot, waiting=tuple(waiting)), control.policy)
    return {place.task: place for place in decided.places}, {wait.task: wait for wait in decided.waits}


def _task_plans(
    control: Control, job: Job, old: Job | None, places: Mapping[str, Place], waits: Mapping[str, Wait]
) -> tuple[TaskPlan, ...]:
    if job.native:
        why = "the engine places it itself"
        return tuple(TaskPlan(service=job.service, slot=n, starts="now", why=why) for n in range(1, job.replicas + 1))
    planned = _slots(control, job, old)
    return tuple(_task_plan(control, job, old, task.slot, places, waits) for task in planned)


def _task_plan(
    control: Control, job: Job, old: Job | None, slot: int, places: Mapping[str, Place], waits: Mapping[str, Wait]
) -> TaskPlan:
    key, service = f"{job.id}.{slot}", job.service or job.name
    if key in places:
        place = places[key]
        cards = tuple(share.card for share in place.shares)
        return TaskPlan(service=service, slot=slot, starts="now", node=place.node, cards=cards)
    if key in waits:
        wait = waits[key]
        return TaskPlan(service=service, slot=slot, starts="never" if wait.never else "waits", why=wait.message)
    running = control.cluster.tasks[old.id][slot] if old is not None else None
    node, cards = (running.node, running.cards) if running is not None else ("", ())
    return TaskPlan(service=service, slot=slot, starts="now", node=node, cards=cards, why="keeps its cards")
