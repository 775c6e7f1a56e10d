"""What reconcile asks for, state by state: the pure twin, so each rule is one small table of values."""

import math
from typing import Any

import msgspec
import pytest

from berth.core import actions as act
from berth.core.diff import diff
from berth.core.situation import Situation
from berth.model.job import Job, Task
from berth.model.launch import Handle
from berth.ports import Capabilities
from tests import build

SWARM = Capabilities(slot_objects=True)
HOST = Capabilities()


def asked(job: Job, task: Task, *seen: Any, caps: Capabilities = HOST, **fields: Any) -> list[act.Action]:
    """The actions for one task; `seen` are the lives and objects of the look."""
    situation = Situation(
        observed=build.observed(*seen),
        capabilities=caps,
        nodes=fields.pop("nodes", {"gpu-1": build.node()}),
        settled=fields.pop("settled", {}),
        cluster=build.CLUSTER,
        now=fields.pop("now", 1000.0),
        stacks=frozenset({"s"}),
        **fields,
    )
    return diff([(job, task)], situation)


RUNNING: dict[str, Any] = {"state": "running", "attempt": 1, "node": "gpu-1", "started_at": 900.0}
STACK = build.job(stack="s", service="web")
ALONE = build.job()


def test_a_waiting_stack_task_gets_its_object() -> None:
    assert asked(STACK, build.task(), caps=SWARM) == [act.Prepare("j1.1")]


def test_a_waiting_task_of_a_job_of_its_own_needs_no_object() -> None:
    assert asked(ALONE, build.task(), caps=SWARM) == []


def test_an_object_that_is_there_already_is_taken() -> None:
    there = build.slot_object(attempt=0)
    assert asked(STACK, build.task(), there, caps=SWARM) == [act.Prepared("j1.1", there)]


def test_an_object_in_an_old_look_is_not_taken_since_its_removal_may_be_under_way() -> None:
    there = build.slot_object(attempt=1, replicas=0)
    assert asked(STACK, build.task(attempt=1), there, caps=SWARM, settled={"j1.1": 100.0}) == []


def test_the_stopped_object_of_an_earlier_attempt_is_no_scale_by_hand() -> None:
    back = build.task(state="prepared", attempt=1, object_id="s-j1.1")
    stopped = build.slot_object(attempt=1, replicas=0, digest="other")
    assert asked(STACK, back, stopped, caps=SWARM) == []


def test_a_prepared_object_that_a_person_removed_is_a_cancel() -> None:
    prepared = build.task(state="prepared", object_id="s-j1.1")
    assert asked(STACK, prepared, caps=SWARM) == [act.Removed("j1.1", False)]


def test_an_absence_in_a_look_that_began_before_the_last_call_ended_proves_nothing() -> None:
    prepared = build.task(state="prepared", object_id="s-j1.1")
    assert asked(STACK, prepared, caps=SWARM, settled={"j1.1": 100.0}) == []
    assert asked(STACK, prepared, caps=SWARM, settled={"j1.1": math.inf}) == []


def test_a_grant_without_a_container_is_started_again() -> None:
    granted = build.task(state="starting", attempt=1, node="gpu-1")
    assert asked(ALONE, granted) == [act.Start("j1.1")]


def test_a_start_waits_until_every_other_life_of_the_slot_is_gone() -> None:
    granted = build.task(state="starting", attempt=2, node="gpu-1")
    (stop,) = asked(ALONE, granted, build.life(attempt=1))
    assert isinstance(stop, act.Stop)
    assert stop.handle.engine_id == "e-j1.1-1"


def test_an_object_that_carries_the_attempt_already_is_not_started_twice() -> None:
    granted = build.task(state="starting", attempt=1, node="gpu-1", object_id="s-j1.1")
    assert asked(STACK, granted, build.slot_object(attempt=1), caps=SWARM) == []


def test_a_container_that_runs_is_started() -> None:
    granted = build.task(state="starting", attempt=1, node="gpu-1")
    seen = build.life()
    assert asked(ALONE, granted, seen) == [act.Started("j1.1", seen)]


@pytest.mark.parametrize(
    ("fields", "reason", "code"),
    [
        ({"exit_code": 0, "started_at": 1.0}, "exit", 0),
        ({"exit_code": 137, "started_at": 1.0}, "exit", 137),
        ({"exit_code": 137, "started_at": 1.0, "killed": True}, "killed", 137),
        ({"exit_code": 137, "started_at": 1.0, "oom": True}, "oom", 137),
        ({"error": "no such image"}, "start-failed", None),
    ],
)
def test_an_end_has_the_reason_that_the_engine_shows(fields: dict[str, Any], reason: str, code: int | None) -> None:
    (ended,) = asked(ALONE, build.task(**RUNNING), build.life(state="exited", **fields))
    assert isinstance(ended, act.Ended)
    assert (ended.outcome.reason, ended.outcome.exit_code) == (reason, code)


@pytest.mark.parametrize(("told", "reason"), [("oom", "oom"), ("killed", "killed"), ("other", "exit")])
def test_what_an_agent_saw_of_the_end_counts_where_the_engine_does_not_show_it(told: str, reason: str) -> None:
    """A Swarm's manager hears of no signal and no lack of memory on its workers."""
    over = build.life(state="exited", exit_code=137, started_at=1.0, container_id="c1")
    (ended,) = asked(ALONE, build.task(**RUNNING), over, **({} if told == "other" else {told: {"c1"}}))
    assert isinstance(ended, act.Ended)
    assert ended.outcome.reason == reason


def test_a_container_that_is_gone_was_killed() -> None:
    (ended,) = asked(ALONE, build.task(**RUNNING))
    assert isinstance(ended, act.Ended)
    assert ended.outcome.reason == "killed"


def test_a_removed_service_whose_container_lives_on_still_holds_its_card() -> None:
    running = build.task(**RUNNING, object_id="s-j1.1")
    assert asked(STACK, running, build.life(), caps=SWARM) == [act.Removed("j1.1", True)]


def test_a_silent_node_makes_it_unknown_and_a_fence_lets_it_go() -> None:
    unknown = build.life(state="unknown")
    assert asked(ALONE, build.task(**RUNNING), unknown) == [act.Silent("j1.1")]
    silent = build.task(**{**RUNNING, "state": "unknown"})
    assert asked(ALONE, silent, unknown) == []
    (lost,) = asked(ALONE, silent, unknown, nodes={"gpu-1": build.node(fence="burnt", up=False)})
    assert isinstance(lost, act.Ended)
    assert lost.outcome.reason == "node-lost"


def test_a_node_that_returns_with_the_container_resumes_it() -> None:
    silent = build.task(**{**RUNNING, "state": "unknown"})
    assert asked(ALONE, silent, build.life()) == [act.Returned("j1.1")]


def test_what_docker_itself_drained_is_not_a_failure() -> None:
    (ended,) = asked(
        ALONE, build.task(**RUNNING), build.life(state="exited", exit_code=137, started_at=1.0),
        nodes={"gpu-1": build.node(available=False)},
    )  # fmt: skip
    assert isinstance(ended, act.Ended)
    assert ended.outcome.reason == "node-lost"


def test_a_stop_is_asked_for_once() -> None:
    stopping = build.task(**{**RUNNING, "state": "stopping", "stop_for": "cancelled"})
    (stop,) = asked(ALONE, stopping, build.life())
    assert isinstance(stop, act.Stop)
    sent = build.task(**{**RUNNING, "state": "stopping", "stop_for": "cancelled", "stop_sent": True})
    assert asked(ALONE, sent, build.life()) == []


@pytest.mark.parametrize(("grace", "patience"), [(None, 25.0), (0.0, 15.0), (60.0, 75.0)])
def test_what_runs_on_long_after_its_grace_is_stopped_again(grace: float | None, patience: float) -> None:
    job = msgspec.structs.replace(ALONE, spec=msgspec.structs.replace(ALONE.spec, stop_grace_s=grace))
    sent = build.task(**{**RUNNING, "state": "stopping", "stop_for": "cancelled", "stop_sent": True})
    assert asked(job, sent, build.life(), settled={"j1.1": 100.0 - patience}) == []
    (stop,) = asked(job, sent, build.life(), settled={"j1.1": 100.0 - patience - 0.1})
    assert isinstance(stop, act.Stop)


def test_a_stop_before_the_engine_has_made_a_container_is_carried_out_first() -> None:
    stopping = build.task(state="stopping", attempt=1, node="gpu-1", stop_for="cancelled", object_id="s-j1.1")
    coming = build.slot_object(attempt=1, replicas=1)
    handle = Handle(object_id="s-j1.1", object_version=10, node="gpu-1")
    assert asked(STACK, stopping, coming, caps=SWARM) == [act.Stop("j1.1", handle, remove=True)]
    assert asked(STACK, stopping, coming, caps=SWARM, settled={"j1.1": math.inf}) == []
    (ended,) = asked(STACK, stopping, build.slot_object(attempt=1, replicas=0), caps=SWARM)
    assert isinstance(ended, act.Ended)
    assert ended.outcome.reason == "cancelled"


@pytest.mark.parametrize(
    ("why", "caps", "grace", "remove"),
    [
        ("cancelled", SWARM, 60.0, True),
        ("scale", SWARM, 60.0, True),
        ("cancelled", HOST, 60.0, False),
        ("requeue", SWARM, 60.0, False),
        ("move", SWARM, 5.0, False),
        ("wrong-cards", SWARM, 0.0, False),
    ],
)
def test_why_it_is_stopped_says_with_what_grace_and_whether_its_object_goes(
    why: str, caps: Capabilities, grace: float, remove: bool
) -> None:
    job = build.job(stack="s", service="web", spec=build.spec(1, stop_grace_s=60.0))
    stopping = build.task(**{**RUNNING, "state": "stopping", "stop_for": why, "object_id": "s-j1.1"})
    seen = (build.slot_object(), build.life())
    (stop,) = asked(job, stopping, *seen, caps=caps, nodes={"gpu-1": build.node(drain="mend", drain_grace_s=5.0)})
    assert isinstance(stop, act.Stop)
    assert (stop.grace_s, stop.remove) == (grace, remove)


def test_a_restart_waits_for_its_delay() -> None:
    again = build.task(state="restarting", attempt=1, node="gpu-1", not_before=1005.0)
    assert asked(ALONE, again, now=1004.9) == []
    assert asked(ALONE, again, now=1005.0) == [act.Again("j1.1")]


def test_an_ended_container_is_removed_before_the_next_attempt_so_that_nobody_starts_it_again() -> None:
    again = build.task(state="restarting", attempt=1, node="gpu-1", not_before=0.0)
    old = build.life(state="exited", exit_code=1)
    assert [type(action) for action in asked(ALONE, again, old)] == [act.Sweep]
    assert asked(ALONE, again, old, caps=SWARM) == [act.Again("j1.1")]


def test_a_time_limit_ends_the_attempt() -> None:
    limited = build.job(spec=build.spec(1, time_limit_s=60.0))
    running = build.task(**RUNNING)
    assert asked(limited, running, build.life(), now=959.9) == []
    assert asked(limited, running, build.life(), now=960.0) == [act.Overdue("j1.1")]


def test_what_the_engine_cannot_start_goes_back_after_five_seconds() -> None:
    granted = build.task(state="starting", attempt=1, node="gpu-1", granted_at=1000.0)
    pending = build.life(state="pending", error="no suitable node (insufficient memory)")
    assert asked(ALONE, granted, pending, now=1004.0) == []
    (back,) = asked(ALONE, granted, pending, now=1005.1)
    assert isinstance(back, act.Unplaceable)
    assert back.reason == "memory"


def test_earlier_containers_go_when_a_person_removed_only_the_last_one() -> None:
    failed = build.task(state="failed", attempt=3, reason="killed", node="gpu-1", engine_id="e-j1.1-3")
    seen = (build.life(attempt=1, state="exited"), build.life(attempt=2, state="exited"))
    (sweep,) = asked(ALONE, failed, *seen)
    assert isinstance(sweep, act.Sweep)
    assert sweep.handle == Handle(engine_id="e-j1.1-2", node="gpu-1")
    assert asked(ALONE, failed, *seen, caps=SWARM) == []


def test_a_stack_keeps_the_object_of_what_ended_until_it_is_removed() -> None:
    ended = build.task(state="ended", attempt=1, reason="exit", object_id="s-j1.1")
    seen = (build.slot_object(), build.life(state="exited", exit_code=0))
    assert asked(STACK, ended, *seen, caps=SWARM) == []
    gone = build.job(stack="removed", service="web")
    assert [type(action) for action in asked(gone, ended, *seen, caps=SWARM)] == [act.Sweep]
    assert [type(action) for action in asked(ALONE, ended, *seen, caps=SWARM)] == [act.Sweep]


def test_the_container_of_an_earlier_attempt_is_swept_though_the_last_one_is_gone() -> None:
    over = build.task(state="ended", attempt=2, reason="cancelled")
    old = build.life(attempt=1, state="exited")
    assert asked(ALONE, over, old) == [act.Sweep(Handle(engine_id=old.engine_id), "what is left of train", "j1.1")]


def test_an_edit_by_hand_is_found_by_what_the_object_asks_for() -> None:
    running = build.task(**RUNNING, object_id="s-j1.1", digest="as started")
    same, other = build.slot_object(digest="as started"), build.slot_object(digest="edited")
    assert asked(STACK, running, same, build.life(), caps=SWARM) == []
    assert asked(STACK, running, other, build.life(), caps=SWARM) == [act.Edited("j1.1", other)]


def test_a_scale_by_hand_is_meant_for_the_job() -> None:
    running = build.task(**RUNNING, object_id="s-j1.1")
    scaled = build.slot_object(replicas=3)
    assert asked(STACK, running, scaled, build.life(), caps=SWARM) == [act.Rescaled("j1.1", 3, scaled)]


def test_things_of_this_cluster_that_nobody_knows_are_swept_and_others_are_left_alone() -> None:
    situation = Situation(
        observed=build.observed(
            build.slot_object("x.1"),
            build.life("y.1"),
            build.life("z.1", labels={"berth.cluster": "other", "berth.task": "z.1"}),
        ),
        capabilities=SWARM, nodes={}, settled={}, cluster=build.CLUSTER, now=0.0,
    )  # fmt: skip
    swept = [action for action in diff([], situation) if isinstance(action, act.Sweep)]
    assert [sweep.handle.object_id or sweep.handle.engine_id for sweep in swept] == ["s-x.1", "e-y.1-1"]


def test_a_node_that_was_forced_out_of_the_engine_holds_its_tasks_until_somebody_vouches_for_it() -> None:
    gone = {"gpu-1": build.node(gone=True, up=False)}
    assert asked(ALONE, build.task(**RUNNING), nodes=gone) == [act.Silent("j1.1")]
    silent = build.task(**{**RUNNING, "state": "unknown"})
    assert asked(ALONE, silent, nodes=gone) == []
    (lost,) = asked(ALONE, silent, nodes={"gpu-1": build.node(gone=True, up=False, fence="scrapped")})
    assert isinstance(lost, act.Ended)
    assert lost.outcome.reason == "node-lost"
