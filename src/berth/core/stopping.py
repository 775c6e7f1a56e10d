"""How an attempt is stopped: with how much grace, whether its object goes too, and when it must be asked again."""

from berth.core import actions as act
from berth.core.situation import Situation
from berth.core.slots import Slot
from berth.model.launch import Handle
from berth.model.lifecycle import FINAL

AGAIN_S = 15.0
DOCKER_GRACE_S = 10.0
"""What still runs so long after its stop and its grace (Docker's own, where none is given) is stopped again."""


def stop(slot: Slot, handle: Handle, situation: Situation) -> act.Stop:
    """The call that ends what `handle` names."""
    remove = slot.task.stop_for in FINAL and situation.capabilities.slot_objects
    return act.Stop(slot.task.id, handle, _grace(slot, situation), remove)


def _grace(slot: Slot, situation: Situation) -> float | None:
    """Seconds between TERM and KILL; none for cards that are somebody else's, a drain's own where it gave one."""
    node = situation.nodes.get(slot.task.node)
    if slot.task.stop_for == "wrong-cards":
        return 0.0
    if slot.task.stop_for == "move" and node is not None and node.drain_grace_s is not None:
        return node.drain_grace_s
    return slot.job.spec_of(slot.task.generation).stop_grace_s


def unheeded(slot: Slot, situation: Situation) -> bool:
    """It runs on long after its grace: a person may have started it again behind the stop (`docker restart`)."""
    grace = slot.job.spec_of(slot.task.generation).stop_grace_s
    patience = AGAIN_S + (DOCKER_GRACE_S if grace is None else grace)
    sent = situation.settled.get(slot.task.id)
    return sent is not None and situation.observed.began > sent + patience
