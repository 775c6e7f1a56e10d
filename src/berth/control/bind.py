"""Bind: turn a committed grant into a running container; the calls of one slot never overlap."""

from berth.control.amend import amend
from berth.control.context import Control
from berth.control.ends import end_attempt
from berth.control.files import mounted
from berth.core.restart import Outcome
from berth.model.card import Card
from berth.model.errors import EngineError, StaleVersion
from berth.model.job import Job, Task
from berth.model.launch import CardMount, Handle, Launch
from berth.model.lifecycle import FINISHED, LIVE, QUEUED, revise, step
from berth.model.node import Node


def launch_of(control: Control, job: Job, task: Task) -> Launch:
    """All that the engine needs for the task's current attempt (or to prepare it, while nothing is granted)."""
    granted = task.state not in QUEUED
    node = control.cluster.nodes.get(task.node) if granted else None
    cards = (
        tuple(control.cluster.cards[uuid] for uuid in task.cards if uuid in control.cluster.cards) if granted else ()
    )
    spec = job.spec_of(task.generation) if granted else job.spec
    known = Handle(object_id=task.object_id, object_version=task.object_version) if task.object_id else None
    return Launch(
        cluster=control.settings.cluster_id,
        job=job,
        task=task.id,
        slot=task.slot,
        attempt=task.attempt if granted else 0,
        name=slot_name(job, task.slot),
        spec=spec,
        node=node,
        cards=cards,
        mount=mount_of(control, cards),
        handle=known,
        group_ids=group_ids(control, node),
        registry_auth=control.credentials.get(job.id, ""),
        files=mounted(control, spec) if granted else (),
    )


def slot_name(job: Job, slot: int) -> str:
    """The slot's name on the engine: slot 1 has the job's own, slot N gets `-N`."""
    return job.engine_name if slot == 1 else f"{job.engine_name}-{slot}"


def mount_of(control: Control, cards: tuple[Card, ...]) -> CardMount:
    """How the cards get into the container; without cards the environment says so, whatever the image wants."""
    if not cards:
        return CardMount(env={"NVIDIA_VISIBLE_DEVICES": "void"})
    vendor = "declared" if cards[0].declared else cards[0].vendor
    return control.vendors[vendor if vendor in control.vendors else "nvidia"].mount(cards)


def group_ids(control: Control, node: Node | None) -> dict[str, int]:
    """The gids of group names on the node: as its agent says, else this host's own."""
    return {**control.host_groups, **(node.group_ids if node is not None else {})}


def prepare_task(control: Control, task_id: str) -> None:
    """Create the slot's object on the engine so that it waits there in sight, once its name is free."""
    job, task = _current(control, task_id)
    if job is None or task is None or control.cluster.name_held(job, task.slot):
        return
    control.calls.run(task_id, lambda: _prepare(control, task_id))


async def _prepare(control: Control, task_id: str) -> None:
    job, task = _current(control, task_id)
    if job is None or task is None or task.state != "waiting" or job.cancelled:
        return
    try:
        handle = await control.engine.prepare(launch_of(control, job, task))
    except StaleVersion:
        return
    except EngineError as error:
        await _cannot_start(control, task_id, error)
        return
    fields = {"object_id": handle.object_id, "object_version": handle.object_version}
    await amend(control, task_id, lambda now: _prepared(now, fields))
    control.wake("place")


def _prepared(task: Task, fields: dict[str, object]) -> Task | None:
    if task.state == "waiting":
        return step(task, "prepare", **fields)
    return revise(task, **fields) if task.state in FINISHED else None


def start_task(control: Control, task_id: str) -> None:
    """Start the attempt that was granted; a repeat is harmless on the engine."""
    control.calls.run(task_id, lambda: _start(control, task_id))


async def _start(control: Control, task_id: str) -> None:
    job, task = _current(control, task_id)
    if job is None or task is None or task.state != "starting":
        return
    try:
        handle = await control.engine.start(launch_of(control, job, task))
    except StaleVersion:
        return  # the next look tells whether an earlier call of ours did it, or a person changed the object
    except EngineError as error:
        await _cannot_start(control, task_id, error)
        return
    await amend(control, task_id, lambda now: _bound(now, task.attempt, handle))


def _bound(task: Task, attempt: int, handle: Handle) -> Task | None:
    if task.attempt != attempt or task.state not in LIVE | FINISHED:
        return None
    return revise(
        task,
        object_id=handle.object_id or task.object_id,
        object_version=handle.object_version or task.object_version,
        engine_id=handle.engine_id or task.engine_id,
    )


async def _cannot_start(control: Control, task_id: str, error: EngineError) -> None:
    """The engine said no, definitely: the attempt is over and its restart policy decides."""
    outcome = Outcome(reason="start-failed", at=control.clock.now(), error=str(error))
    await end_attempt(control, task_id, outcome)


def _current(control: Control, task_id: str) -> tuple[Job | None, Task | None]:
    task = control.cluster.task(task_id)
    return (control.cluster.jobs.get(task.job), task) if task is not None else (None, None)
