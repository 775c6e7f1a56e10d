"""The pure twin of reconcile: what is wanted beside what the engine shows gives a list of actions."""

from collections.abc import Iterable, Iterator

from berth.core import actions as act
from berth.core.handover import waits_for_name
from berth.core.outcome import outcome_of, vouched_lost
from berth.core.situation import Situation
from berth.core.slots import Slot, slot_of
from berth.core.stopping import stop, unheeded
from berth.core.strangers import strangers
from berth.model.job import Job, Task
from berth.model.launch import Handle
from berth.model.lifecycle import FINAL, FINISHED, LIVE
from berth.model.seen import Life

PENDING_LIMIT_S = 5.0
"""A granted attempt that the engine leaves pending with an error this long goes back to the queue."""


def diff(wanted: Iterable[tuple[Job, Task]], situation: Situation) -> list[act.Action]:
    """All actions that bring engine and ledger together; the same input gives the same list."""
    objects, lives = situation.objects(), situation.lives()
    result: list[act.Action] = []
    known: set[str] = set()
    for job, task in wanted:
        known.add(task.id)
        if not job.native:
            slot = slot_of(job, task, objects.get(task.id), lives.get(task.id, ()), situation)
            result.extend(_slot_actions(slot, situation))
    result.extend(strangers(objects, lives, known, situation))
    return result


def _slot_actions(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    if slot.life is None and slot.task.state in LIVE and _out_of_sight(slot.task, situation):
        yield from () if slot.task.state == "unknown" else (act.Silent(slot.task.id),)
        return
    if _removed(slot, situation):
        yield from _removed_actions(slot)
        return
    match slot.task.state:
        case "waiting" | "prepared":
            yield from _queued(slot, situation)
        case "starting":
            yield from _starting(slot, situation)
        case "running":
            yield from _running(slot, situation)
        case "stopping":
            yield from _stopping(slot, situation)
        case "unknown":
            yield from _unknown_node(slot, situation)
        case "restarting":
            yield from _between_attempts(slot, situation)
        case _:
            yield from _over(slot, situation)


def _out_of_sight(task: Task, situation: Situation) -> bool:
    """The node was taken out of the engine while the task was on it: that the engine shows nothing proves nothing."""
    node = situation.nodes.get(task.node)
    return node is not None and node.gone and not node.fence


def _removed(slot: Slot, situation: Situation) -> bool:
    """A person removed the slot's object: Berth had one, the engine proves that it is gone, Berth did not ask."""
    had_one = situation.capabilities.slot_objects and slot.task.object_id and slot.task.state not in FINISHED
    known = slot.task.stop_for in FINAL
    return bool(had_one and slot.object is None and slot.absent and not known)


def _removed_actions(slot: Slot) -> Iterator[act.Action]:
    holds = slot.life is not None and slot.life.alive
    yield act.Removed(slot.task.id, holds)


def _queued(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    yield from _stop_strays(slot, situation)
    wants_object = situation.capabilities.slot_objects and slot.job.stack
    if not slot.absent:
        return
    if slot.task.state == "waiting" and wants_object and not slot.strays:
        yield act.Prepared(slot.task.id, slot.object) if slot.object is not None else act.Prepare(slot.task.id)
    elif slot.task.state == "prepared" and slot.object is not None and not slot.task.attempt:
        yield from _edited(slot)


def _starting(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    life = slot.life
    if life is None:
        yield from _not_there_yet(slot, situation)
    elif life.state == "running":
        yield act.Unhealthy(slot.task.id, life.error) if life.health == "unhealthy" else act.Started(slot.task.id, life)
    elif life.state == "exited":
        yield act.Ended(slot.task.id, outcome_of(slot, situation))
    elif life.state == "unknown":
        yield act.Silent(slot.task.id)
    elif life.state == "pending" and life.error and situation.now - (slot.task.granted_at or 0.0) > PENDING_LIMIT_S:
        yield act.Unplaceable(slot.task.id, _lacks(life.error), life.error)


def _lacks(error: str) -> str:
    """What the engine says that the node has not, as the word by which a job waits."""
    return "memory" if "memory" in error else "port" if "port" in error else "cpu"


def _not_there_yet(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    if slot.strays:
        yield from _stop_strays(slot, situation)
    elif slot.absent and not (slot.object is not None and slot.object.attempt == slot.task.attempt):
        yield act.Start(slot.task.id)


def _running(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    life = slot.life
    if life is None:
        if slot.absent:
            yield act.Ended(slot.task.id, outcome_of(slot, situation))
    elif life.state == "exited":
        yield act.Ended(slot.task.id, outcome_of(slot, situation))
    elif life.state == "unknown":
        yield act.Silent(slot.task.id)
    elif life.health == "unhealthy":
        yield act.Unhealthy(slot.task.id, life.error)
    elif _came_up(slot, life):
        yield act.Up(slot.task.id)
    elif _overdue(slot, situation.now):
        yield act.Overdue(slot.task.id)
    elif slot.object is not None:
        yield from _edited(slot)
    yield from _stop_strays(slot, situation)


def _came_up(slot: Slot, life: Life) -> bool:
    """An update waits to hear that the slot is up."""
    state, fared, here = slot.job.rollout, slot.task.fared, slot.task.generation == slot.job.generation
    waits = state is not None and state.under_way and here
    return waits and life.healthy and (fared is None or fared.generation != slot.job.generation)


def _edited(slot: Slot) -> Iterator[act.Action]:
    assert slot.object is not None
    if slot.absent and slot.object.replicas != 1 and slot.object.attempt:
        yield act.Rescaled(slot.task.id, slot.object.replicas, slot.object)
    elif slot.absent and slot.object.digest != slot.task.digest:
        yield act.Edited(slot.task.id, slot.object)


def _overdue(slot: Slot, now: float) -> bool:
    limit, started = slot.job.spec_of(slot.task.generation).time_limit_s, slot.task.started_at
    return limit is not None and started is not None and now >= started + limit


def _stopping(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    life = slot.life
    if life is not None and life.state == "unknown":
        yield from _fenced_or_silent(slot, situation)
    elif life is not None and life.state != "exited":
        if not slot.task.stop_sent or unheeded(slot, situation):
            yield stop(slot, slot.handle, situation)
    elif life is None and slot.coming:
        if slot.absent:
            yield stop(slot, slot.handle, situation)
    elif life is not None or slot.absent:
        yield act.Ended(slot.task.id, outcome_of(slot, situation))


def _unknown_node(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    life = slot.life
    if life is not None and life.runs:
        yield act.Returned(slot.task.id)
    elif life is not None and life.state == "unknown":
        yield from _fenced_or_silent(slot, situation)
    elif life is not None or slot.absent:
        yield act.Ended(slot.task.id, outcome_of(slot, situation))


def _fenced_or_silent(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    lost = vouched_lost(slot, situation)
    if lost is not None:
        yield act.Ended(slot.task.id, lost)
    elif slot.task.state != "unknown":
        yield act.Silent(slot.task.id)


def _between_attempts(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    """Where attempts are containers of their own the ended one goes first: a person could start it again beside the
    next one, on the same card. A slot that was taken over waits for the end of what ran there, and for its name.
    """
    if slot.task.takes_over or waits_for_name(slot.job, slot.task.slot):
        return
    if slot.life is not None and not situation.capabilities.slot_objects:
        yield act.Sweep(slot.handle, f"the ended attempt of {slot.job.name}", slot.task.id)
    elif slot.task.not_before <= situation.now and not slot.strays and slot.absent:
        yield act.Again(slot.task.id)


def _over(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    """A finished task keeps nothing running; what is left goes with a cancel, its stack, or a job of its own."""
    yield from _stop_strays(slot, situation)
    if slot.life is not None and slot.life.runs:
        yield stop(slot, slot.handle, situation)
        return
    leftover = slot.object is not None or slot.life is not None or slot.past is not None
    kept = slot.job.stack in situation.stacks and slot.job.id not in situation.superseded
    kept = kept and slot.task.reason not in ("cancelled", "removed-on-engine")
    if leftover and not kept:
        yield act.Sweep(slot.handle, f"what is left of {slot.job.name}", slot.task.id)


def _stop_strays(slot: Slot, situation: Situation) -> Iterator[act.Action]:
    for life in slot.strays:
        if life.state != "unknown":
            handle = Handle(engine_id=life.engine_id, object_id=life.object_id, node=life.node)
            yield stop(slot, handle, situation)
