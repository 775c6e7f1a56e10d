"""What follows the end of an attempt, as Docker's restart policies and INTERFACE say."""

from typing import Any

import pytest

from berth.core.restart import Outcome, after_end
from berth.model.spec import Restart
from tests import build


def follows(restart: Restart, code: int | None = 1, reason: str = "exit", **task: Any) -> tuple[str, str, bool]:
    """(trigger, reason, counted) after an attempt that ended at second 100."""
    running = build.task(state="running", attempt=1, **task)
    found = after_end(restart, running, Outcome(reason=reason, at=100.0, exit_code=code))  # type: ignore[arg-type]
    return found.trigger, found.reason, found.counted


ON_FAILURE = Restart(condition="on-failure", delay_s=10.0, max_attempts=3)


@pytest.mark.parametrize(
    ("restart", "code", "expected"),
    [
        (Restart(), 0, ("finish", "exit", True)),
        (Restart(), 3, ("fail", "exit", True)),
        (ON_FAILURE, 0, ("finish", "exit", True)),
        (ON_FAILURE, 1, ("retry", "exit", True)),
        (Restart(condition="any"), 0, ("retry", "exit", True)),
    ],
)
def test_conditions(restart: Restart, code: int, expected: tuple[str, str, bool]) -> None:
    assert follows(restart, code) == expected


def test_three_attempts_mean_four_runs() -> None:
    assert follows(ON_FAILURE, failed_at=(1.0, 2.0))[0] == "retry"
    assert follows(ON_FAILURE, failed_at=(1.0, 2.0, 3.0))[:2] == ("fail", "max-attempts")


def test_a_window_forgets_old_failures() -> None:
    windowed = Restart(condition="on-failure", max_attempts=2, window_s=50.0)
    assert follows(windowed, failed_at=(1.0, 2.0, 60.0))[0] == "retry"
    assert follows(windowed, failed_at=(51.0, 60.0))[0] == "fail"


def test_the_delay_counts_from_the_end() -> None:
    found = after_end(ON_FAILURE, build.task(state="running"), Outcome(reason="exit", at=100.0, exit_code=1))
    assert found.not_before == 110.0


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("cancelled", ("finish", "cancelled", False)),
        ("removed-on-engine", ("finish", "removed-on-engine", False)),
        ("scale", ("finish", "cancelled", False)),
        ("time-limit", ("fail", "time-limit", True)),
        ("wrong-cards", ("fail", "wrong-cards", True)),
        ("replace", ("retry", "", False)),
        ("requeue", ("wait", "", False)),
        ("move", ("wait", "", False)),
    ],
)
def test_what_was_stopped_follows_the_reason_of_the_stop(stop: str, expected: tuple[str, str, bool]) -> None:
    assert follows(ON_FAILURE, 137, "killed", stop_for=stop) == expected


def test_a_lost_node_is_not_counted_whatever_the_policy() -> None:
    assert follows(Restart(), None, "node-lost") == ("wait", "node-lost", False)


@pytest.mark.parametrize("mode", ["replicated-job", "global-job"])
def test_a_job_s_task_that_ended_well_is_done_whatever_its_policy_says(mode: str) -> None:
    spec = build.spec(1, Restart(condition="any"), mode=mode)
    assert follows(spec.restart_in_force, 0) == ("finish", "exit", True)
    assert follows(spec.restart_in_force, 1) == ("retry", "exit", True)
    assert build.spec(1, Restart(condition="none"), mode=mode).restart_in_force.condition == "none"
    assert follows(build.spec(1, Restart(condition="any")).restart_in_force, 0) == ("retry", "exit", True)
