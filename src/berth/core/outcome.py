"""How an attempt ended, as the engine shows it; core.restart then says what follows."""

from berth.core.restart import Outcome
from berth.core.situation import Situation
from berth.core.slots import Slot
from berth.model.job import EndReason, Task
from berth.model.seen import Life


def outcome_of(slot: Slot, situation: Situation) -> Outcome:
    """The end of the slot's current attempt; an end that lies in the engine's future is one of now."""
    life, task = slot.life, slot.task
    if life is None:
        return Outcome(reason=_absent_reason(task), at=situation.now, error="the engine no longer has its container")
    at = life.ended_at or situation.now
    return Outcome(
        reason=_end_reason(life, task, situation), at=min(at, situation.now), exit_code=life.exit_code,
        error=life.error, started_at=life.started_at, engine_id=life.engine_id,
    )  # fmt: skip


def vouched_lost(slot: Slot, situation: Situation) -> Outcome | None:
    """The end of an attempt on a silent node that a person vouches to be off; None on any other node."""
    node = situation.nodes.get(slot.task.node)
    if node is None or not node.fence:
        return None
    return Outcome(reason="node-lost", at=situation.now, error=f"node {node.name} is fenced: {node.fence}")


def _absent_reason(task: Task) -> EndReason:
    if task.state == "unknown":
        return "node-lost"
    return "cancelled" if task.stop_for == "cancelled" else "killed"


def _end_reason(life: Life, task: Task, situation: Situation) -> EndReason:
    node = situation.nodes.get(task.node)
    if task.state == "unknown" or (node is not None and not node.available and not task.stop_for):
        return "node-lost"
    if life.oom or life.container_id in situation.oom:
        return "oom"
    if life.health == "unhealthy":
        return "unhealthy"
    if life.killed or life.container_id in situation.killed:
        return "killed"
    if life.started_at is None and life.exit_code is None:
        return "start-failed"
    return "exit"
