"""The transition table: what is in it, and that nothing goes round it."""

import msgspec
import pytest

from berth.model.job import StopFor
from berth.model.lifecycle import (
    FINISHED,
    LIVE,
    OCCUPYING,
    QUEUED,
    TRANSITIONS,
    IllegalTransition,
    ask_stop,
    begin,
    refill,
    returned,
    step,
)
from tests import build


def test_an_over_task_stays_over_unless_its_slot_is_wanted_again() -> None:
    assert [line for line in TRANSITIONS if line[0] in FINISHED] == [("ended", "refill"), ("failed", "refill")]


def test_a_refilled_slot_is_a_new_task_that_knows_its_last_attempt_until_that_is_gone() -> None:
    over = build.task(state="ended", reason="cancelled", attempt=3, node="gpu-1", cards=("a",), restarts=2, version=7)
    assert refill(over) == build.task(state="waiting", attempt=3, version=8)
    seen = refill(msgspec.structs.replace(over, gone=False))
    assert seen == build.task(state="waiting", attempt=3, version=8, gone=False, node="gpu-1", cards=("a",))


def test_a_task_on_a_silent_node_that_was_asked_to_end_is_stopped_when_the_node_answers() -> None:
    silent = build.task(state="unknown", attempt=1)
    assert returned(silent).state == "running"
    asked = ask_stop(silent, "cancelled")
    assert (asked.state, asked.stop_for) == ("unknown", "cancelled")
    assert (returned(asked).state, returned(asked).stop_for, returned(asked).stop_sent) == (
        "stopping",
        "cancelled",
        False,
    )


@pytest.mark.parametrize(
    ("why", "kept"), [("replace", True), ("unhealthy", True), ("cancelled", False), ("move", False)]
)
def test_what_does_not_go_on_wants_no_other_grant(why: StopFor, kept: bool) -> None:
    changed = build.task(state="running", wants_replace=True, next_node="gpu-2", next_cards=("GPU-2",))
    asked = ask_stop(changed, why)
    assert (asked.wants_replace, bool(asked.next_node), bool(asked.next_cards)) == (kept, kept, kept)
    silent = ask_stop(step(changed, "silent"), why)
    assert (silent.state, silent.wants_replace) == ("unknown", kept)


def test_a_stop_that_was_sent_before_the_silence_is_not_taken_for_unsent() -> None:
    sent = step(build.task(state="stopping", stop_for="requeue", stop_sent=True), "silent")
    assert (returned(sent).state, returned(sent).stop_sent) == ("stopping", True)


def test_an_attempt_begins_with_nothing_of_the_one_before() -> None:
    again = build.task(
        state="restarting", attempt=1, engine_id="c1", started_at=1.0, ended_at=2.0, digest="d", stop_for="replace"
    )
    task = begin(again, 9.0, 4, "gpu-2", ("GPU-2",), restarts=1)
    assert task == build.task(
        state="starting", attempt=2, generation=4, node="gpu-2", cards=("GPU-2",), granted_at=9.0, restarts=1,
        gone=False, version=2,
    )  # fmt: skip


def test_cards_are_only_given_to_what_waits_or_restarts() -> None:
    assert {state for state, trigger in TRANSITIONS if trigger == "grant"} == {"waiting", "prepared", "restarting"}


def test_a_task_leaves_the_occupying_states_only_by_its_end_or_back_to_the_queue() -> None:
    leaving = {trigger for (state, trigger), to in TRANSITIONS.items() if state in OCCUPYING and to not in OCCUPYING}
    assert leaving == {"finish", "fail", "wait"}


def test_every_state_is_reached_and_only_known_ones() -> None:
    assert set(TRANSITIONS.values()) == LIVE | QUEUED | FINISHED | {"restarting"}


def test_a_task_that_ends_forgets_the_replacement_that_it_waited_for() -> None:
    running = build.task(state="running", wants_replace=True, next_node="gpu-2", next_cards=("GPU-1",))
    ended = step(running, "finish")
    assert (ended.wants_replace, ended.next_node, ended.next_cards) == (False, "", ())
    assert step(running, "stop").wants_replace


def test_a_step_raises_the_version_and_an_unknown_one_is_refused() -> None:
    waiting = build.task(version=3)
    granted = step(waiting, "grant", node="gpu-1")
    assert (granted.state, granted.version, granted.node) == ("starting", 4, "gpu-1")
    with pytest.raises(IllegalTransition, match="ended"):
        step(build.task(state="ended"), "start")
