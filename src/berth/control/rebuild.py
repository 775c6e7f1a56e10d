"""Rebuild: jobs, tasks and grants that the store has lost are read back from the engine, before the first grant."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from berth.control.context import Control
from berth.control.facts import change_card
from berth.model.card import WHOLE, Share
from berth.model.change import Change, DoubleGrant, PutAttempt, PutJob, PutStack, PutTask, Take
from berth.model.job import Attempt, Job, Stack, Task
from berth.model.seen import Life, Observed, SlotObject
from berth.model.spec import TaskSpec

ALIVE = ("running", "starting", "unknown")


async def rebuild(control: Control, look: Observed) -> int:
    """Bring back what the engine shows of this cluster and the store does not know; the number of jobs brought back.

    Cards that a live container names and that nobody has found yet are held back by the next inventory, since the
    grant exists. A card named by two live containers is quarantined and reported.
    """
    jobs: dict[str, list[SlotObject | Life]] = defaultdict(list)
    everything: tuple[SlotObject | Life, ...] = (*look.objects, *look.lives)
    for seen in everything:
        ours = seen.labels.get("berth.cluster") == control.settings.cluster_id
        if ours and seen.job and seen.job not in control.cluster.jobs:
            jobs[seen.job].append(seen)
    for number, (job_id, seen_of_job) in enumerate(sorted(jobs.items())):
        await _bring_back(control, job_id, seen_of_job, number)
    return len(jobs)


async def _bring_back(control: Control, job_id: str, found: list[SlotObject | Life], number: int) -> None:
    objects = {seen.task: seen for seen in found if isinstance(seen, SlotObject)}
    lives: dict[str, Life] = {}
    for life in found:
        if isinstance(life, Life) and not life.native and (life.task not in lives or _newer(life, lives[life.task])):
            lives[life.task] = life
    spec = next((seen.spec for seen in found if seen.spec is not None), None)
    if spec is None:
        return  # without a spec there is nothing to start again: the unknown object is swept
    labels = found[0].labels
    job = _job(control, job_id, labels, spec, number)
    slots = sorted(({*objects, *lives}) - {""})
    tasks = [_task(control, job, task_id, objects.get(task_id), lives.get(task_id)) for task_id in slots]
    job = msgspec.structs.replace(job, replicas=max((task.slot for task in tasks), default=1))
    changes: list[Change] = [PutJob(job), *(PutTask(task) for task in tasks)]
    if job.stack and job.stack not in control.cluster.stacks:
        changes.append(PutStack(Stack(name=job.stack, user=job.user, deployed_at=control.clock.now())))
    text = f"{job.name} was read back from the engine with {len(tasks)} tasks"
    await control.writer.commit((*changes, control.note("rebuilt", text, job=job.id)))
    for task in tasks:
        await _grant_again(control, task)


def _newer(life: Life, than: Life) -> bool:
    return (life.state in ALIVE, life.attempt) > (than.state in ALIVE, than.attempt)


def _job(control: Control, job_id: str, labels: Mapping[str, str], spec: TaskSpec, number: int) -> Job:
    name = labels.get("berth.name", job_id)
    return Job(
        id=job_id,
        name=name,
        spec=spec,
        engine_name=name,
        stack=labels.get("berth.stack", ""),
        service=labels.get("berth.service", ""),
        queue=labels.get("berth.queue", "default"),
        user=labels.get("berth.user", ""),
        native="berth.task" not in labels,
        applied=1,
        submitted_at=control.clock.now(),
        seq=number,
    )


def _task(control: Control, job: Job, task_id: str, seen: SlotObject | None, life: Life | None) -> Task:
    slot = int(task_id.rpartition(".")[2])
    attempt = max(seen.attempt if seen else 0, life.attempt if life else 0)
    base = Task(
        id=task_id, job=job.id, slot=slot, object_id=seen.id if seen else "", object_version=seen.version if seen else 0
    )
    if attempt == 0:
        return msgspec.structs.replace(base, state="prepared" if seen is not None else "waiting")
    cards = _cards(seen, life)
    node = _node_name(control, life)
    if life is not None and life.attempt == attempt and life.state == "exited":
        ok = life.exit_code == 0
        return msgspec.structs.replace(
            base, state="ended" if ok else "failed", attempt=attempt, cards=cards, node=node, reason="exit",
            exit_code=life.exit_code, error=life.error, ended_at=life.ended_at, gone=False, engine_id=life.engine_id,
        )  # fmt: skip
    running = life is not None and life.state in ALIVE
    return msgspec.structs.replace(
        base, state="running" if running else "starting", attempt=attempt, cards=cards, node=node, gone=False,
        engine_id=life.engine_id if life else "", generation=job.generation, granted_at=control.clock.now(),
        started_at=life.started_at if life else None,
    )  # fmt: skip


def _cards(seen: SlotObject | None, life: Life | None) -> tuple[str, ...]:
    source = life.labels if life is not None else seen.labels if seen is not None else {}
    return tuple(uuid for uuid in source.get("berth.cards", "").split(",") if uuid)


def _node_name(control: Control, life: Life | None) -> str:
    if life is None:
        return ""
    return next((node.name for node in control.cluster.nodes.values() if node.engine_id == life.node), "")


async def _grant_again(control: Control, task: Task) -> None:
    """Book the cards that the task is seen to use; one that another live task has already is quarantined."""
    cluster = control.cluster
    for uuid in task.cards if task.state in ("running", "starting") else ():
        card = cluster.cards.get(uuid)
        if card is None:
            continue
        record = Attempt(task=task.id, attempt=task.attempt, node=task.node, cards=task.cards)
        try:
            share = Share(uuid, WHOLE, card.memory_mib)
            await control.writer.commit((Take(task.id, (share,)), PutAttempt(record)))
        except DoubleGrant:
            others = ", ".join(cluster.holders.get(uuid, ()))
            why = f"two live tasks use it: {others} and {task.id}"
            note = control.note("two-holders", f"card {uuid}: {why}", node=card.node, card=uuid, task=task.id)
            await change_card(control, uuid, lambda now: msgspec.structs.replace(now, quarantine=why), (note,))  # noqa: B023
