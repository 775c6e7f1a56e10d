"""What follows the end of an attempt: run again on the same cards, go back to the queue, or be over."""

from typing import Literal

import msgspec

from berth.model.job import EndReason, Task
from berth.model.spec import Restart


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended. `reason` "exit" with code 0 is a success; `at` and `started_at` are seconds
    since the epoch; `engine_id` names the container that ended, which may never have been seen running.
    """

    reason: EndReason
    at: float
    exit_code: int | None = None
    error: str = ""
    started_at: float | None = None
    engine_id: str = ""

    @property
    def ok(self) -> bool:
        """True for a clean end."""
        return self.reason == "exit" and self.exit_code == 0


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """What to do: `retry` (same cards, from `not_before` on), `wait` (queue again), `finish` or `fail`.

    `counted` says that the attempt counts against `max_attempts`; `reason` is what the user sees as the end.
    """

    trigger: Literal["retry", "wait", "finish", "fail"]
    reason: EndReason
    not_before: float = 0.0
    counted: bool = True


UNCOUNTED: frozenset[EndReason] = frozenset({"node-lost", "preempted"})


def after_end(restart: Restart, task: Task, outcome: Outcome) -> Next:
    """What follows, by why it was stopped first, then by the restart policy.

    `max_attempts` is the number of restarts (three: four runs at most), counted within `window_s` when given.
    """
    stopped = _after_stop(task, outcome)
    if stopped is not None:
        return stopped
    if outcome.reason in UNCOUNTED:
        return Next(trigger="wait", reason=outcome.reason, counted=False)
    if outcome.ok and restart.condition != "any":
        return Next(trigger="finish", reason="exit")
    if restart.condition == "none":
        return Next(trigger="fail", reason=outcome.reason)
    if _exhausted(restart, task, outcome.at):
        return Next(trigger="finish" if outcome.ok else "fail", reason="max-attempts")
    return Next(trigger="retry", reason=outcome.reason, not_before=outcome.at + restart.delay_s)


def _after_stop(task: Task, outcome: Outcome) -> Next | None:
    match task.stop_for:
        case "" | "unhealthy":
            return None
        case "cancelled" | "removed-on-engine":
            return Next(trigger="finish", reason=task.stop_for, counted=False)
        case "scale":
            return Next(trigger="finish", reason="cancelled", counted=False)
        case "time-limit":
            return Next(trigger="fail", reason="time-limit")
        case "wrong-cards":
            return Next(trigger="fail", reason="wrong-cards")
        case "replace":
            return Next(trigger="retry", reason="", not_before=outcome.at, counted=False)
        case "requeue" | "move":
            return Next(trigger="wait", reason="", counted=False)


def _exhausted(restart: Restart, task: Task, now: float) -> bool:
    if restart.max_attempts is None:
        return False
    since = now - restart.window_s if restart.window_s else 0.0
    return sum(at >= since for at in task.failed_at) >= restart.max_attempts
