"""What an action makes of its task: each function gives the task as it shall be stored, None when it came too late.

`diff` asks for the action from a look; by the time it is committed the task may have changed, so each asks again.
"""

from berth.model.job import MOST_SLOTS, StopFor, Task
from berth.model.lifecycle import FINAL, FINISHED, LIVE, QUEUED, ask_stop, begin, returned, revise, step
from berth.model.plan import Place
from berth.model.rollout import Fared
from berth.model.seen import Life, SlotObject


def granted(task: Task, generation: int, place: Place, now: float) -> Task:
    """A task of the queue gets what the decision found for it; nothing of its last end is shown any more."""
    cards = tuple(share.card for share in place.shares)
    return begin(task, now, generation, place.node, cards, reason="", exit_code=None, error="")


def regranted(task: Task, place: Place) -> Task:
    """A task that waited for another grant gets it: its next attempt begins there once this one is gone."""
    cards = tuple(share.card for share in place.shares)
    fields = {"next_node": place.node, "next_cards": cards, "wants_replace": False}
    if task.state in ("running", "starting"):
        return ask_stop(task, "replace", **fields)
    return revise(task, stop_for="replace", **fields)


def prepared(task: Task, seen: SlotObject) -> Task | None:
    """The slot's object is there."""
    return step(task, "prepare", object_id=seen.id, object_version=seen.version) if task.state == "waiting" else None


def versioned(task: Task, seen: SlotObject) -> Task | None:
    """About to start: the object's version as it is now, so that a call that comes late still fails."""
    if task.state != "starting" or (task.object_id, task.object_version) == (seen.id, seen.version):
        return None
    return revise(task, object_id=seen.id, object_version=seen.version)


def started(task: Task, life: Life, now: float) -> Task | None:
    """The attempt was seen running."""
    if task.state != "starting" or task.attempt != life.attempt:
        return None
    at = min(life.started_at or now, now)
    return step(task, "start", started_at=at, engine_id=life.engine_id, object_id=life.object_id or task.object_id)


def up(task: Task, fared: Fared | None) -> Task | None:
    """An attempt that runs is healthy now, or runs again after its node was silent."""
    return revise(task, fared=fared) if task.state == "running" and fared != task.fared else None


def unhealthy(task: Task, error: str) -> Task | None:
    """Its health check has failed."""
    return ask_stop(task, "unhealthy", error=error) if task.state in ("starting", "running") else None


def again(task: Task, generation: int, seen: SlotObject | None, now: float) -> Task | None:
    """The next attempt: on the cards of another grant when it waited for one, else on the same."""
    if task.state != "restarting":
        return None
    node, cards = (task.next_node, task.next_cards) if task.next_node else (task.node, task.cards)
    version = seen.version if seen is not None else task.object_version
    return begin(
        task, now, generation, node, cards, restarts=task.restarts + (task.attempt > 0), next_node="", next_cards=(),
        object_version=version,
    )  # fmt: skip


def removed(task: Task, alive: bool, now: float) -> Task | None:
    """A person removed the slot's object; what is `alive` of it is ending by that."""
    if task.state in FINISHED or task.stop_for in ("cancelled", "removed-on-engine"):
        return None
    if alive and task.state in LIVE:
        return ask_stop(task, "removed-on-engine", stop_sent=True)
    return step(task, "finish", reason="removed-on-engine", ended_at=now, stop_for="")


def silent(task: Task) -> Task | None:
    """Its node does not answer."""
    return step(task, "silent") if task.state in ("starting", "running", "stopping") else None


def resumed(task: Task) -> Task | None:
    """Its node answers again."""
    return returned(task) if task.state == "unknown" else None


def unplaceable(task: Task) -> Task | None:
    """The engine cannot start it where it was placed."""
    return ask_stop(task, "requeue") if task.state == "starting" else None


def overdue(task: Task) -> Task | None:
    """It has run for its time limit."""
    return ask_stop(task, "time-limit") if task.state == "running" else None


def stopped(task: Task, why: StopFor, now: float) -> Task | None:
    """Somebody wants it ended: at once where nothing runs, else by the engine; one that goes already just goes."""
    if task.state in FINISHED or task.stop_for in ("cancelled", "scale"):
        return None
    if task.state in QUEUED or task.state == "restarting":
        return step(task, "finish", reason="cancelled", ended_at=now, stop_for="")
    return ask_stop(task, why)


def requeued(task: Task) -> Task | None:
    """A person wants it back in the queue; one that is going for good stays gone."""
    if task.state in ("starting", "running", "unknown") and task.stop_for not in FINAL:
        return ask_stop(task, "requeue")
    return step(task, "wait") if task.state == "restarting" else None


def blamed(task: Task, problem: str) -> Task | None:
    """Its container sees other cards than granted."""
    if task.state not in LIVE:
        return None
    if task.stop_for in FINAL:
        return revise(task, error=problem)
    return ask_stop(task, "wrong-cards", error=problem)


def stop_sent(task: Task) -> Task | None:
    """The engine has been asked to end it."""
    return revise(task, stop_sent=True) if task.state == "stopping" else None


def edited(task: Task, seen: SlotObject) -> Task:
    """The first look at an attempt remembers what its object asks for; a later difference is put back."""
    if task.digest and task.state == "running":
        return ask_stop(task, "replace")
    return revise(task, digest=seen.digest)


def replicas_meant(task: Task, replicas: int) -> int | None:
    """How many slots a person wants who set the replicas of this slot's object: on slot 1 that number, on any other
    slot only 0 says something: that it goes, with those after it.
    """
    if replicas == 0:
        return task.slot - 1
    return replicas if task.slot == 1 and replicas <= MOST_SLOTS else None
