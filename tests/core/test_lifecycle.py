"""The transition table: what is in it, and that nothing goes round it."""

import pytest

from berth.model.lifecycle import FINISHED, LIVE, OCCUPYING, QUEUED, TRANSITIONS, IllegalTransition, step
from tests import build


def test_an_over_task_stays_over() -> None:
    assert not [line for line in TRANSITIONS if line[0] in FINISHED]


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
