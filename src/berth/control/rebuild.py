"""Rebuild: jobs, tasks and grants that the store has lost are read back from the engine, before the first grant."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from berth.control.admit import engine_word
from berth.control.context import Control
from berth.control.ends import attempt_of
from berth.core.everywhere import covers_nodes
from berth.model import marks
from berth.model.card import WHOLE, Card, Share
from berth.model.change import Batch, Change, PutAttempt, PutCard, PutJob, PutStack, PutTask, Take
from berth.model.job import Job, Stack, Task
from berth.model.lifecycle import OCCUPYING
from berth.model.seen import Life, Observed, SlotObject
from berth.model.spec import TaskSpec


async def rebuild(control: Control, look: Observed) -> int:
    """Bring back what the engine shows of this cluster and the store does not know; the number of jobs brought back.

    Cards that a live container names and that nobody has found yet are held back by the next inventory, since the
    grant exists. A card named by two live containers is quarantined and reported.
    """
    jobs: dict[str, list[SlotObject | Life]] = defaultdict(list)
    everything: tuple[SlotObject | Life, ...] = (*look.objects, *look.lives)
    for seen in everything:
        ours = seen.labels.get(marks.CLUSTER) == control.settings.cluster_id
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
    name = _engine_name(control, job, objects, tasks)
    job = msgspec.structs.replace(job, engine_name=name, replicas=max((task.slot for task in tasks), default=1))
    changes: list[Change] = [PutJob(job), *(PutTask(task) for task in tasks)]
    if job.stack and job.stack not in control.cluster.stacks:
        changes.append(PutStack(Stack(name=job.stack, user=job.user, deployed_at=control.clock.now())))
    changes += _grants(control, tasks)
    text = f"{job.name} was read back from the engine with {len(tasks)} tasks"
    await control.writer.commit((*changes, control.note("rebuilt", text, job=job.id)))


def _engine_name(control: Control, job: Job, objects: Mapping[str, SlotObject], tasks: Sequence[Task]) -> str:
    """The name of its objects; where containers are all there is, names are told apart as at submit."""
    for task in tasks:
        if task.id in objects:
            name = objects[task.id].name
            return name if task.slot == 1 else name.removesuffix(f"-{task.slot}")
    if job.stack:
        return job.name
    word = engine_word(job.name)
    used = any(other.engine_name == word for other in control.cluster.jobs.values())
    return f"{word}-{job.id}" if used else word


def _newer(life: Life, than: Life) -> bool:
    return (life.alive, life.attempt) > (than.alive, than.attempt)


def _job(control: Control, job_id: str, labels: Mapping[str, str], spec: TaskSpec, number: int) -> Job:
    name = labels.get(marks.NAME, job_id)
    return Job(
        id=job_id,
        name=name,
        spec=spec,
        engine_name=name,
        stack=labels.get(marks.STACK, ""),
        service=labels.get(marks.SERVICE, ""),
        queue=labels.get(marks.QUEUE, "default"),
        user=labels.get(marks.USER, ""),
        native=marks.TASK not in labels,
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
    node = _node_name(control, seen, life)
    if life is not None and life.attempt == attempt and life.state == "exited":
        ok = life.exit_code == 0
        return msgspec.structs.replace(
            base, state="ended" if ok else "failed", attempt=attempt, cards=cards, node=node, reason="exit",
            exit_code=life.exit_code, error=life.error, ended_at=life.ended_at, gone=False, engine_id=life.engine_id,
        )  # fmt: skip
    base = msgspec.structs.replace(base, for_node=node) if covers_nodes(job) else base
    running = life is not None and life.alive
    return msgspec.structs.replace(
        base, state="running" if running else "starting", attempt=attempt, cards=cards, node=node, gone=False,
        engine_id=life.engine_id if life else "", generation=job.generation, granted_at=control.clock.now(),
        started_at=life.started_at if life else None,
    )  # fmt: skip


def _cards(seen: SlotObject | None, life: Life | None) -> tuple[str, ...]:
    source = life.labels if life is not None else seen.labels if seen is not None else {}
    return marks.cards_of(source)


def _node_name(control: Control, seen: SlotObject | None, life: Life | None) -> str:
    """Where the attempt runs; of one that the engine has not begun yet, where its object points."""
    pinned = [rule.partition("==")[2] for rule in (seen.constraints if seen else ()) if rule.startswith("node.id==")]
    ids = [life.node] if life is not None else pinned
    return next((node.name for node in control.cluster.nodes.values() if node.engine_id in ids), "")


def _grants(control: Control, tasks: Sequence[Task]) -> Batch:
    """Book the cards that the tasks are seen to use; one that another live task has already is quarantined."""
    changes: list[Change] = []
    booked = {uuid: ", ".join(held) for uuid, held in control.cluster.ledger.holders.items() if held}
    for task in tasks:
        if task.state not in OCCUPYING:
            continue
        changes.append(PutAttempt(attempt_of(task)))
        for card in (control.cluster.cards[uuid] for uuid in task.cards if uuid in control.cluster.cards):
            if card.uuid in booked:
                changes += _two_holders(control, card, f"{booked[card.uuid]} and {task.id}")
            else:
                changes.append(Take(task.id, (Share(card.uuid, WHOLE, card.memory_mib),)))
                booked[card.uuid] = task.id
    return tuple(changes)


def _two_holders(control: Control, card: Card, who: str) -> Batch:
    why = f"two live tasks use it: {who}"
    note = control.note("two-holders", f"card {card.uuid}: {why}", node=card.node, card=card.uuid)
    return (PutCard(msgspec.structs.replace(card, quarantine=why)), note)
