"""The pure twin of reconcile: what is wanted beside what the engine shows gives a list of actions."""

from collections.abc import Container, Iterable, Iterator, Mapping

import msgspec

from berth.core import actions as act
from berth.core.restart import Outcome
from berth.model.job import EndReason, Job, Task
from berth.model.launch import Handle
from berth.model.lifecycle import FINISHED, LIVE
from berth.model.node import Node
from berth.model.seen import Life, Observed, SlotObject
from berth.ports import Capabilities

PENDING_LIMIT_S = 5.0
"""A granted attempt that the engine leaves pending with an error this long goes back to the queue."""
STOP_AGAIN_S = 15.0
DOCKER_GRACE_S = 10.0
"""A container that still runs so long after its stop and its grace (Docker's, where none is given) is stopped again."""

ORDER = {"running": 0, "starting": 1, "unknown": 2, "pending": 3, "exited": 4}


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What diff may see beside the tasks. `settled[task]`: monotonic seconds of the last engine call for the task
    (infinity while one is under way); an absence in a look that began earlier proves nothing. `killed` are containers
    that an agent saw a person signal; `stacks` exist; `superseded` are ended jobs whose service has a later job.
    """

    observed: Observed
    capabilities: Capabilities
    nodes: Mapping[str, Node]
    settled: Mapping[str, float]
    cluster: str
    now: float
    stacks: frozenset[str] = frozenset()
    superseded: frozenset[str] = frozenset()
    killed: Container[str] = frozenset()


class Slot(msgspec.Struct, frozen=True):
    """One task with its job and all that the engine shows of it; `life` is that of the current attempt."""

    job: Job
    task: Task
    object: SlotObject | None
    life: Life | None
    strays: tuple[Life, ...]
    past: Life | None
    """What is left of an earlier attempt on an engine without slot objects when a person removed the last one."""
    absent: bool
    """True when what is not seen is proven not to be there."""

    @property
    def coming(self) -> bool:
        """True while the slot's object still asks for this attempt: the engine may yet make a container of it."""
        return self.object is not None and self.object.attempt == self.task.attempt and self.object.replicas > 0

    @property
    def handle(self) -> Handle:
        """What names the slot on the engine now: its object, with every life of it, or else the one container."""
        if self.object is not None:
            return Handle(object_id=self.object.id, object_version=self.object.version, node=self.task.node)
        life = self.life or self.past
        return Handle(engine_id=life.engine_id if life else self.task.engine_id, node=self.task.node)


def diff(wanted: Iterable[tuple[Job, Task]], facts: Facts) -> list[act.Action]:
    """All actions that bring engine and ledger together; the same input gives the same list."""
    objects = {seen.task: seen for seen in facts.observed.objects if not seen.native and _ours(seen.labels, facts)}
    lives = _lives_by_task(facts)
    result: list[act.Action] = []
    known: set[str] = set()
    for job, task in wanted:
        known.add(task.id)
        if not job.native:
            result.extend(_slot_actions(_slot(job, task, objects.get(task.id), lives.get(task.id, []), facts), facts))
    result.extend(_unknown(objects, lives, known, facts))
    return result


def _ours(labels: Mapping[str, str], facts: Facts) -> bool:
    return labels.get("berth.cluster") == facts.cluster


def _lives_by_task(facts: Facts) -> dict[str, list[Life]]:
    found: dict[str, list[Life]] = {}
    for life in facts.observed.lives:
        if not life.native and _ours(life.labels, facts):
            found.setdefault(life.task, []).append(life)
    return found


def _slot(job: Job, task: Task, seen: SlotObject | None, lives: list[Life], facts: Facts) -> Slot:
    current = sorted((life for life in lives if life.attempt == task.attempt), key=lambda life: ORDER[life.state])
    life = current[0] if current and task.attempt else None
    strays = tuple(other for other in lives if other is not life and other.alive)
    ended = [other for other in lives if other.state == "exited" and life is None]
    past = max(ended, key=lambda other: other.attempt, default=None) if not facts.capabilities.slot_objects else None
    absent = facts.observed.began > facts.settled.get(task.id, 0.0)
    return Slot(job, task, seen, life, strays, past, absent)


def _slot_actions(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    if slot.life is None and slot.task.state in LIVE and _out_of_sight(slot.task, facts):
        yield from () if slot.task.state == "unknown" else (act.Silent(slot.task.id),)
        return
    if _removed(slot, facts):
        yield from _removed_actions(slot)
        return
    match slot.task.state:
        case "waiting" | "prepared":
            yield from _queued(slot, facts)
        case "starting":
            yield from _starting(slot, facts)
        case "running":
            yield from _running(slot, facts)
        case "stopping":
            yield from _stopping(slot, facts)
        case "unknown":
            yield from _unknown_node(slot, facts)
        case "restarting":
            yield from _between_attempts(slot, facts)
        case _:
            yield from _over(slot, facts)


def _out_of_sight(task: Task, facts: Facts) -> bool:
    """The node was taken out of the engine while the task was on it: that the engine shows nothing proves nothing."""
    node = facts.nodes.get(task.node)
    return node is not None and node.gone and not node.fence


def _removed(slot: Slot, facts: Facts) -> bool:
    """A person removed the slot's object: Berth had one, the engine proves that it is gone, Berth did not ask."""
    had_one = facts.capabilities.slot_objects and slot.task.object_id and slot.task.state not in FINISHED
    known = slot.task.stop_for in ("cancelled", "removed-on-engine", "scale")
    return bool(had_one and slot.object is None and slot.absent and not known)


def _removed_actions(slot: Slot) -> Iterator[act.Action]:
    holds = slot.life is not None and slot.life.alive
    yield act.Removed(slot.task.id, holds)


def _queued(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    yield from _stop_strays(slot)
    wants_object = facts.capabilities.slot_objects and slot.job.stack
    if not slot.absent:
        return
    if slot.task.state == "waiting" and wants_object and not slot.strays:
        yield act.Prepared(slot.task.id, slot.object) if slot.object is not None else act.Prepare(slot.task.id)
    elif slot.task.state == "prepared" and slot.object is not None and not slot.task.attempt:
        yield from _edited(slot)


def _starting(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    life = slot.life
    if life is None:
        yield from _not_there_yet(slot)
    elif life.state == "running":
        yield act.Started(slot.task.id, life)
    elif life.state == "exited":
        yield act.Ended(slot.task.id, _outcome(slot, facts))
    elif life.state == "unknown":
        yield act.Silent(slot.task.id)
    elif life.state == "pending" and life.error and facts.now - (slot.task.granted_at or 0.0) > PENDING_LIMIT_S:
        yield act.Unplaceable(slot.task.id, "memory" if "memory" in life.error else "cpu", life.error)


def _not_there_yet(slot: Slot) -> Iterator[act.Action]:
    if slot.strays:
        yield from _stop_strays(slot)
    elif slot.absent and not (slot.object is not None and slot.object.attempt == slot.task.attempt):
        yield act.Start(slot.task.id)


def _running(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    life = slot.life
    if life is None:
        if slot.absent:
            yield act.Ended(slot.task.id, _outcome(slot, facts))
    elif life.state == "exited":
        yield act.Ended(slot.task.id, _outcome(slot, facts))
    elif life.state == "unknown":
        yield act.Silent(slot.task.id)
    elif _overdue(slot, facts.now):
        yield act.Overdue(slot.task.id)
    elif slot.object is not None:
        yield from _edited(slot)
    yield from _stop_strays(slot)


def _edited(slot: Slot) -> Iterator[act.Action]:
    assert slot.object is not None
    if slot.absent and slot.object.replicas != 1 and slot.object.attempt:
        yield act.Rescaled(slot.task.id, slot.object.replicas, slot.object)
    elif slot.absent and slot.object.digest != slot.task.digest:
        yield act.Edited(slot.task.id, slot.object)


def _overdue(slot: Slot, now: float) -> bool:
    limit, started = slot.job.spec.time_limit_s, slot.task.started_at
    return limit is not None and started is not None and now >= started + limit


def _stopping(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    life = slot.life
    if life is not None and life.state == "unknown":
        yield from _fenced_or_silent(slot, facts)
    elif life is not None and life.state != "exited":
        if not slot.task.stop_sent or _stop_overdue(slot, facts):
            yield act.Stop(slot.task.id, slot.handle)
    elif life is None and slot.coming:
        if slot.absent:
            yield act.Stop(slot.task.id, slot.handle)
    elif life is not None or slot.absent:
        yield act.Ended(slot.task.id, _outcome(slot, facts))


def _stop_overdue(slot: Slot, facts: Facts) -> bool:
    """It runs on long after its grace: a person may have started it again behind the stop (`docker restart`)."""
    grace = slot.job.spec.stop_grace_s
    patience = STOP_AGAIN_S + (DOCKER_GRACE_S if grace is None else grace)
    sent = facts.settled.get(slot.task.id)
    return sent is not None and facts.observed.began > sent + patience


def _unknown_node(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    life = slot.life
    if life is not None and life.runs:
        yield act.Returned(slot.task.id)
    elif life is not None and life.state == "unknown":
        yield from _fenced_or_silent(slot, facts)
    elif life is not None or slot.absent:
        yield act.Ended(slot.task.id, _outcome(slot, facts))


def _fenced_or_silent(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    node = facts.nodes.get(slot.task.node)
    if node is not None and node.fence:
        lost = f"node {node.name} is fenced: {node.fence}"
        yield act.Ended(slot.task.id, Outcome(reason="node-lost", at=facts.now, error=lost))
    elif slot.task.state != "unknown":
        yield act.Silent(slot.task.id)


def _between_attempts(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    """Where attempts are containers of their own the ended one goes first: a person could start it again beside the
    next one, on the same card.
    """
    if slot.life is not None and not facts.capabilities.slot_objects:
        yield act.Sweep(slot.handle, f"the ended attempt of {slot.job.name}", slot.task.id)
    elif slot.task.not_before <= facts.now and not slot.strays and slot.absent:
        yield act.Again(slot.task.id)


def _over(slot: Slot, facts: Facts) -> Iterator[act.Action]:
    """A finished task keeps nothing running; what is left goes with a cancel, its stack, or a job of its own."""
    yield from _stop_strays(slot)
    if slot.life is not None and slot.life.runs:
        yield act.Stop(slot.task.id, slot.handle)
        return
    leftover = slot.object is not None or slot.life is not None or slot.past is not None
    kept = slot.job.stack in facts.stacks and slot.job.id not in facts.superseded
    kept = kept and slot.task.reason not in ("cancelled", "removed-on-engine")
    if leftover and not kept:
        yield act.Sweep(slot.handle, f"what is left of {slot.job.name}", slot.task.id)


def _stop_strays(slot: Slot) -> Iterator[act.Action]:
    for life in slot.strays:
        if life.state != "unknown":
            handle = Handle(engine_id=life.engine_id, object_id=life.object_id, node=life.node)
            yield act.Stop(slot.task.id, handle)


def _outcome(slot: Slot, facts: Facts) -> Outcome:
    life, task = slot.life, slot.task
    if life is None:
        return Outcome(reason=_absent_reason(slot), at=facts.now, error="the engine no longer has its container")
    at = life.ended_at or facts.now
    return Outcome(
        reason=_end_reason(life, task, facts), at=min(at, facts.now), exit_code=life.exit_code, error=life.error,
        started_at=life.started_at, engine_id=life.engine_id,
    )  # fmt: skip


def _absent_reason(slot: Slot) -> EndReason:
    if slot.task.state == "unknown":
        return "node-lost"
    return "cancelled" if slot.task.stop_for == "cancelled" else "killed"


def _end_reason(life: Life, task: Task, facts: Facts) -> EndReason:
    node = facts.nodes.get(task.node)
    if task.state == "unknown" or (node is not None and not node.available and not task.stop_for):
        return "node-lost"
    if life.oom:
        return "oom"
    if life.killed or life.container_id in facts.killed:
        return "killed"
    if life.started_at is None and life.exit_code is None:
        return "start-failed"
    return "exit"


def _unknown(
    objects: Mapping[str, SlotObject], lives: Mapping[str, list[Life]], known: set[str], facts: Facts
) -> Iterator[act.Action]:
    """Things that carry this cluster's mark and belong to no task that Berth knows: they must not run."""
    for task, seen in objects.items():
        if task not in known and facts.observed.began > facts.settled.get(task, 0.0):
            yield act.Sweep(Handle(object_id=seen.id, object_version=seen.version, name=seen.name), f"{seen.name}")
    for task, found in lives.items():
        if task in known or task in objects or facts.observed.began <= facts.settled.get(task, 0.0):
            continue
        for life in found:
            if life.state in ("running", "starting", "exited"):
                yield act.Sweep(Handle(engine_id=life.engine_id, node=life.node), f"a container of task {task}")
