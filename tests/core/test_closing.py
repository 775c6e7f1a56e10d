"""Which jobs and stacks are over, and what goes then."""

import math
from typing import Any

import msgspec
import pytest

from berth.core.closing import closed, is_over, native_duty, stack_duties
from berth.core.situation import Situation
from berth.model.job import Job, Stack, Task
from berth.ports import Capabilities
from tests import build


def situation(*seen: Any, slot_objects: bool = True, settled: dict[str, float] | None = None) -> Situation:
    """A look that began at 100 s."""
    return Situation(
        observed=build.observed(*seen), capabilities=Capabilities(slot_objects=slot_objects), nodes={},
        settled=settled or {}, cluster=build.CLUSTER, now=1000.0,
    )  # fmt: skip


DONE = build.task(state="ended", reason="exit", ended_at=50.0)


@pytest.mark.parametrize(
    ("job", "tasks", "granted", "over"),
    [
        (build.job(), (DONE,), (), True),
        (build.job(), (DONE,), ("j1.1",), False),
        (build.job(), (msgspec.structs.replace(DONE, gone=False),), (), False),
        (build.job(), (DONE, build.task(slot=2)), (), False),
        (build.job(ended_at=1.0), (DONE,), (), False),
        (build.job(replicas=0), (DONE,), (), False),
        (build.job(replicas=0, cancelled=True), (), (), True),
        (build.job(native=True, cancelled=True), (), (), False),
    ],
)
def test_a_job_is_over_when_nothing_of_its_tasks_is_left(
    job: Job, tasks: tuple[Task, ...], granted: tuple[str, ...], over: bool
) -> None:
    assert is_over(job, tasks, granted) is over


def test_a_job_ended_with_its_last_task() -> None:
    later = build.task(slot=2, state="failed", ended_at=70.0)
    assert closed(build.job(version=3), (later, DONE), 1000.0) == build.job(version=4, ended_at=70.0)
    assert closed(build.job(), (), 1000.0).ended_at == 1000.0


SERVICE = build.job(stack="s", service="web", native=True, generation=2, applied=2)
THERE = build.slot_object("", job="j1", native=True)


def test_a_native_service_that_the_engine_does_not_know_in_its_present_form_is_told_once_its_name_is_free() -> None:
    untold = msgspec.structs.replace(SERVICE, applied=1)
    assert native_duty(untold, False, situation()) == "tell"
    assert native_duty(untold, True, situation()) == ""
    assert native_duty(untold, False, situation(settled={"j1": math.inf})) == ""


def test_a_native_service_that_is_gone_ends_its_job_and_a_cancelled_one_is_removed_first() -> None:
    gone = msgspec.structs.replace(SERVICE, cancelled=True)
    assert native_duty(SERVICE, False, situation(THERE)) == ""
    assert native_duty(gone, False, situation(THERE)) == "remove"
    assert native_duty(gone, False, situation()) == native_duty(SERVICE, False, situation()) == "close"


WEB = build.job(stack="s", service="web", ended_at=60.0)


def duty(stack: Stack, job: Job, task: Task, seen: Situation) -> str:
    """What the stack of one service needs."""
    return stack_duties({"s": stack}, {"s": [(job, (task,))]}, seen).get("s", "")


def test_a_stack_whose_services_a_person_took_away_is_marked_and_one_that_only_ended_stays() -> None:
    ended = msgspec.structs.replace(DONE, object_id="s-j1.1")
    stack = Stack(name="s")
    assert duty(stack, WEB, ended, situation(build.slot_object())) == ""
    assert duty(stack, WEB, ended, situation()) == "mark"
    assert duty(stack, WEB, ended, situation(settled={"j1.1": 100.0})) == ""
    assert duty(stack, WEB, ended, situation(slot_objects=False)) == ""
    assert duty(stack, WEB, msgspec.structs.replace(ended, reason="removed-on-engine"), situation()) == "mark"
    assert duty(stack, msgspec.structs.replace(WEB, ended_at=None), ended, situation()) == ""


def test_what_a_stack_had_is_dropped_only_when_nothing_of_it_is_left_on_the_engine() -> None:
    going = Stack(name="s", removing=True)
    assert duty(going, WEB, DONE, situation(build.life(state="exited"))) == ""
    assert duty(going, WEB, DONE, situation(build.slot_object())) == ""
    assert duty(going, WEB, DONE, situation()) == "drop"
    assert duty(going, msgspec.structs.replace(WEB, ended_at=None), DONE, situation()) == ""
