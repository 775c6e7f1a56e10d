"""What counts as a failure of an update, whose turn it is, and how it is told; the stories are in tests/property."""

from typing import Any

import pytest

from berth.core.restart import Next, Outcome
from berth.core.retarget import alike, begun, gone_back
from berth.core.rollout import after_end, came_up, follows, in_words, next_step
from berth.model.job import Job, Task
from berth.model.rollout import Earlier, Fared, RolloutState
from berth.model.spec import Healthcheck, Request, Rollout
from tests import build

NOW = 1000.0
OLD, NEW = build.spec(1), build.spec(1, user="1000")
EARLIER = Earlier(generation=1, spec=OLD, replicas=3)


def updating(total: int = 3, **update: Any) -> Job:
    """A job on its way from generation 1 to 2."""
    state = RolloutState(phase="updating", started_at=900.0, total=total, back_to=1, newest=2, earlier=(EARLIER,))
    spec = build.spec(1, user="1000", update=Rollout(**update))
    return build.job(spec=spec, replicas=total, generation=2, rollout=state)


def old(slot: int = 1, state: str = "running", **fields: Any) -> Task:
    """A slot of the earlier form."""
    return build.task(slot=slot, state=state, generation=1, attempt=1, granted_at=1.0, **fields)


def new(slot: int = 1, state: str = "running", **fields: Any) -> Task:
    """A slot that the update has changed."""
    return build.task(slot=slot, state=state, generation=2, attempt=2, granted_at=950.0, **fields)


@pytest.mark.parametrize(
    ("fields", "outcome", "fails"),
    [
        ({"state": "starting"}, {"reason": "start-failed"}, True),
        ({"state": "starting"}, {"reason": "exit", "exit_code": 0}, True),
        ({"fared": Fared(2, 996.0)}, {"reason": "exit", "exit_code": 0}, True),
        ({"fared": Fared(2, 994.0)}, {"reason": "exit", "exit_code": 1}, False),
        ({"fared": Fared(2, 996.0)}, {"reason": "node-lost"}, False),
        ({"fared": Fared(2, 996.0), "stop_for": "requeue"}, {"reason": "exit", "exit_code": 143}, False),
        ({"fared": Fared(2, 996.0), "stop_for": "scale"}, {"reason": "exit", "exit_code": 143}, False),
        ({"state": "starting", "stop_for": "unhealthy"}, {"reason": "unhealthy"}, True),
        ({"state": "starting"}, {"reason": "exit", "exit_code": 1, "started_at": 960.0}, False),
    ],
)
def test_an_early_end_is_a_failure_unless_somebody_asked_for_it(
    fields: dict[str, Any], outcome: dict[str, Any], fails: bool
) -> None:
    fared = after_end(updating(), new(**fields), Outcome(at=NOW, **outcome))
    assert (fared is not None and fared.failed_at == NOW) == fails


def test_what_ran_unseen_is_judged_by_its_start_only_where_it_has_no_health_check() -> None:
    job = updating()
    checked = build.job(**{**_fields(job), "spec": build.spec(1, healthcheck=Healthcheck(test=("CMD", "true")))})
    outcome = Outcome(reason="exit", at=NOW, exit_code=1, started_at=960.0)
    assert after_end(job, new(state="starting"), outcome) == Fared(2, 960.0)
    assert after_end(checked, new(state="starting"), outcome) == Fared(2, NOW, NOW)


def _fields(job: Job) -> dict[str, Any]:
    return {"generation": job.generation, "rollout": job.rollout}


def test_an_end_of_the_earlier_form_is_no_failure_and_its_slot_goes_on_in_the_new_one_at_once() -> None:
    job, task = updating(), old()
    outcome = Outcome(reason="exit", at=NOW, exit_code=1)
    assert after_end(job, task, outcome) is None
    then = Next(trigger="retry", reason="exit", not_before=NOW + 600)
    assert follows(job, [task], task, outcome, then).not_before == NOW
    assert follows(job, [task], task, outcome, Next(trigger="fail", reason="exit")).trigger == "retry"


def test_a_slot_that_makes_the_update_roll_back_keeps_its_cards() -> None:
    job = updating(failure_action="rollback")
    failed = new(fared=Fared(2, NOW, NOW))
    outcome, then = Outcome(reason="exit", at=NOW, exit_code=1), Next(trigger="fail", reason="exit")
    assert follows(job, [failed, old(2), old(3)], failed, outcome, then).trigger == "retry"
    tolerant = updating(failure_action="rollback", max_failure_ratio=0.5)
    assert follows(tolerant, [failed, old(2), old(3)], failed, outcome, then) == then


@pytest.mark.parametrize(
    ("update", "phase"),
    [
        ({}, "paused"),
        ({"failure_action": "rollback"}, "rolling-back"),
        ({"failure_action": "continue"}, ""),
        ({"max_failure_ratio": 0.3}, "paused"),
        ({"max_failure_ratio": 0.34}, ""),
    ],
)
def test_more_failures_than_the_ratio_are_the_end_of_it(update: dict[str, Any], phase: str) -> None:
    failed = new(state="restarting", fared=Fared(2, 990.0, 990.0), reason="exit", exit_code=3)
    found = next_step(updating(**update), [failed, old(2), old(3)], NOW)
    assert found.phase == phase
    assert found.message == ("slot 1 ended with exit code 3" if phase else "")
    assert found.end == (() if phase else ("j1.2",))


def test_slots_that_do_not_run_come_first_and_silent_ones_are_passed_over() -> None:
    slots = [old(1, "unknown"), old(2), old(3, "starting")]
    assert next_step(updating(parallelism=2), slots, NOW).end == ("j1.3", "j1.2")
    assert next_step(updating(parallelism=1), slots, NOW).end == ("j1.3",)
    assert next_step(updating(), [old(1, "unknown"), new(2, fared=Fared(2, 980.0))], NOW) == next_step(
        updating(), [old(1, "unknown"), new(2, fared=Fared(2, 980.0))], NOW + 100
    )


def test_the_delay_after_a_slot_and_the_watch_over_the_last_one() -> None:
    slots = [new(1, fared=Fared(2, 990.0)), old(2)]
    waits = next_step(updating(delay_s=15.0), slots, NOW)
    assert (waits.end, waits.look_at) == ((), 1005.0)
    assert next_step(updating(delay_s=15.0), slots, 1005.0).end == ("j1.2",)
    watched = next_step(updating(monitor_s=20.0), [new(1, fared=Fared(2, 990.0))], NOW)
    assert (watched.phase, watched.look_at) == ("", 1010.0)
    assert next_step(updating(monitor_s=20.0), [new(1, fared=Fared(2, 990.0))], 1010.0).phase == "completed"


def test_only_the_first_time_that_a_slot_is_up_is_remembered() -> None:
    assert came_up(updating(), new(), NOW) == Fared(2, NOW)
    assert came_up(updating(), new(fared=Fared(2, 960.0)), NOW) == Fared(2, 960.0)
    assert came_up(updating(), old(), NOW) is None
    assert came_up(build.job(), build.task(state="running", generation=1), NOW) is None


def test_another_way_of_updating_is_not_another_form() -> None:
    assert alike(OLD, build.spec(1, update=Rollout(parallelism=2), rollback=Rollout()))
    assert not alike(OLD, NEW)


def test_going_back_asks_for_what_was_asked_before() -> None:
    before = build.job(spec=OLD, replicas=2, priority=70)
    job = begun(before, build.job(spec=build.spec(2), replicas=3, priority=10), [old(1), old(2)], NOW)
    assert (job.generation, job.rollout.back_to, job.rollout.total) == (2, 1, 2)  # type: ignore[union-attr]
    assert (job.spec_of(1), job.request_of(1)) == (OLD, Request(gpus=1))
    back = gone_back(job, [new(1), old(2)], "slot 1 ended", NOW)
    assert (back.generation, back.spec, back.replicas, back.priority) == (1, OLD, 2, 70)
    assert back.rollout is not None
    assert (back.rollout.phase, back.rollout.total, back.rollout.newest) == ("rolling-back", 1, 2)


def test_how_it_stands_in_words() -> None:
    assert in_words(updating(), [new(), old(2), old(3)]) == "is being updated: 1 of 3 slots run the new form"
    assert in_words(build.job(), [old()]) == ""
