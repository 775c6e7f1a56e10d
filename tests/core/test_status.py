"""The state of a job from the states of its tasks, as INTERFACE says."""

from typing import Any

import pytest

from berth.core.status import job_status
from tests import build


def state(*tasks: dict[str, Any], **job: Any) -> str:
    """The job's state when its tasks are like this."""
    fields = {"replicas": max(1, len(tasks)), **job}
    slots = [build.task(slot=slot, **task) for slot, task in enumerate(tasks, 1)]
    return job_status(build.job(**fields), slots, {}).state


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["waiting"], "waiting"),
        (["prepared", "waiting"], "waiting"),
        (["restarting"], "waiting"),
        (["starting", "waiting"], "starting"),
        (["running", "waiting"], "running"),
        (["unknown"], "running"),
        (["running", "stopping"], "running"),
        (["stopping", "ended"], "stopping"),
        (["ended", "ended"], "succeeded"),
        (["ended", "failed"], "failed"),
        (["failed", "running"], "running"),
    ],
)
def test_a_job_is_running_while_one_task_runs_and_failed_if_any_failed(states: list[str], expected: str) -> None:
    assert state(*({"state": one, "reason": "exit"} for one in states)) == expected


def test_a_cancel_is_stopping_until_all_have_ended() -> None:
    assert state({"state": "running"}, cancelled=True) == "stopping"
    assert state({"state": "ended", "reason": "cancelled"}, cancelled=True) == "cancelled"
    assert state({"state": "ended", "reason": "removed-on-engine"}) == "cancelled"


def test_a_job_that_is_scaled_to_nothing_waits_to_be_scaled_up() -> None:
    scaled = job_status(build.job(replicas=0), [build.task(state="ended", reason="cancelled")], {})
    assert (scaled.state, scaled.reason) == ("waiting", "held")
    assert "berth scale train=1" in scaled.message
    assert job_status(build.job(replicas=0, ended_at=1.0), [], {}).state == "succeeded"


def test_a_native_service_starts_once_the_engine_has_it_and_waits_for_what_the_engine_says() -> None:
    assert state(native=True, applied=0) == "waiting"
    assert state(native=True, applied=1) == "starting"
    assert state({"state": "running"}, native=True, applied=1) == "running"
    waits = job_status(build.job(native=True, applied=1), [build.task(error="no suitable node (x)")], {})
    assert (waits.state, waits.reason, waits.message) == ("waiting", "engine", "no suitable node (x)")
    untold = job_status(build.job(native=True), [], {})
    assert (untold.reason, untold.message) == ("engine", "Swarm has given it no node yet")
