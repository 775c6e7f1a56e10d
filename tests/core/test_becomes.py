"""What an action makes of its task, and that one that comes too late makes nothing."""

from typing import Any

import pytest

from berth.core import becomes
from berth.model.job import MOST_SLOTS, Task
from berth.model.plan import Place
from tests import build

SEEN = build.slot_object(digest="d2")
STATES = ("waiting", "prepared", "starting", "running", "stopping", "restarting", "unknown", "ended", "failed")


def task(state: str, **fields: Any) -> Task:
    """A task on its first attempt."""
    return build.task(**{"state": state, "attempt": 1, "node": "gpu-1", "cards": ("GPU-1",), **fields})


@pytest.mark.parametrize(
    ("action", "states"),
    [
        (lambda one: becomes.prepared(one, SEEN), {"waiting"}),
        (lambda one: becomes.versioned(one, SEEN), {"starting"}),
        (lambda one: becomes.started(one, build.life(), 9.0), {"starting"}),
        (lambda one: becomes.again(one, 2, None, 9.0), {"restarting"}),
        (lambda one: becomes.removed(one, False, 9.0), set(STATES) - {"ended", "failed"}),
        (lambda one: becomes.removed(one, True, 9.0), set(STATES) - {"ended", "failed"}),
        (becomes.silent, {"starting", "running", "stopping"}),
        (becomes.resumed, {"unknown"}),
        (becomes.unplaceable, {"starting"}),
        (becomes.overdue, {"running"}),
        (lambda one: becomes.unhealthy(one, "no"), {"starting", "running"}),
        (lambda one: becomes.blamed(one, "no"), {"starting", "running", "stopping", "unknown"}),
        (becomes.stop_sent, {"stopping"}),
        (lambda one: becomes.stopped(one, "cancelled", 9.0), set(STATES) - {"ended", "failed"}),
        (becomes.requeued, {"starting", "running", "unknown", "restarting"}),
    ],
)  # fmt: skip
def test_each_action_means_something_in_these_states_only(action: Any, states: set[str]) -> None:
    assert {state for state in STATES if action(task(state)) is not None} == states


PLACE = Place("j1.1", "gpu-2", build.whole(build.card("gpu-2", 0)))


def test_a_grant_begins_an_attempt_and_wipes_out_the_last_end() -> None:
    waiting = task("waiting", reason="exit", exit_code=3, error="no", restarts=2)
    found = becomes.granted(waiting, 4, PLACE, 9.0)
    assert (found.state, found.attempt, found.generation, found.node) == ("starting", 2, 4, "gpu-2")
    assert (found.cards, found.granted_at, found.reason, found.exit_code, found.error) == (
        ("GPU-gpu-2-0",), 9.0, "", None, "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("state", "after"), [("running", "stopping"), ("restarting", "restarting"), ("unknown", "unknown")]
)
def test_another_grant_waits_for_the_end_of_the_attempt(state: str, after: str) -> None:
    found = becomes.regranted(task(state, wants_replace=True), PLACE)
    assert (found.state, found.stop_for, found.wants_replace) == (after, "replace", False)
    assert (found.cards, found.next_node, found.next_cards) == (("GPU-1",), "gpu-2", ("GPU-gpu-2-0",))


def test_an_attempt_that_was_seen_running_began_when_the_engine_says_but_not_in_the_future() -> None:
    early, late = build.life(started_at=5.0), build.life(started_at=99.0)
    for life, at in ((early, 5.0), (late, 9.0), (build.life(), 9.0)):
        found = becomes.started(task("starting"), life, 9.0)
        assert found is not None
        assert (found.state, found.started_at, found.engine_id) == ("running", at, "e-j1.1-1")
    assert becomes.started(task("starting", attempt=2), early, 9.0) is None


def test_the_next_attempt_takes_the_other_grant_that_it_waited_for() -> None:
    same = becomes.again(task("restarting", object_version=3), 2, None, 9.0)
    moved = becomes.again(task("restarting", next_node="gpu-2", next_cards=("GPU-2",)), 2, SEEN, 9.0)
    assert same is not None
    assert moved is not None
    assert (same.attempt, same.node, same.cards, same.restarts, same.object_version) == (2, "gpu-1", ("GPU-1",), 1, 3)
    assert (moved.node, moved.cards, moved.next_node, moved.next_cards) == ("gpu-2", ("GPU-2",), "", ())
    assert (moved.generation, moved.object_version) == (2, SEEN.version)


def test_what_a_person_removed_ends_with_its_last_container() -> None:
    alive, gone = becomes.removed(task("running"), True, 9.0), becomes.removed(task("running"), False, 9.0)
    assert alive is not None
    assert gone is not None
    assert (alive.state, alive.stop_for, alive.stop_sent) == ("stopping", "removed-on-engine", True)
    assert (gone.state, gone.reason, gone.ended_at) == ("ended", "removed-on-engine", 9.0)
    assert becomes.removed(task("stopping", stop_for="cancelled"), True, 9.0) is None


def test_wrong_cards_are_blamed_on_what_is_cancelled_without_a_change_of_its_end() -> None:
    going = becomes.blamed(task("stopping", stop_for="cancelled"), "it sees GPU-2")
    assert going is not None
    assert (going.stop_for, going.error) == ("cancelled", "it sees GPU-2")


@pytest.mark.parametrize("state", ["waiting", "prepared", "restarting"])
def test_what_only_waits_is_cancelled_at_once(state: str) -> None:
    found = becomes.stopped(task(state), "cancelled", 9.0)
    assert found is not None
    assert (found.state, found.reason, found.ended_at) == ("ended", "cancelled", 9.0)


def test_a_slot_that_was_scaled_away_while_its_node_was_silent_is_not_put_back_in_the_queue() -> None:
    assert becomes.requeued(task("unknown", stop_for="scale")) is None
    assert becomes.requeued(task("unknown", stop_for="replace")) is not None


def test_the_first_look_remembers_what_an_object_asks_for_and_a_later_difference_is_put_back() -> None:
    first = becomes.edited(task("running"), SEEN)
    assert (first.state, first.digest) == ("running", "d2")
    assert becomes.edited(task("running", digest="d1"), SEEN).stop_for == "replace"
    assert becomes.edited(task("prepared", digest="d1"), SEEN).digest == "d2"


@pytest.mark.parametrize(
    ("slot", "said", "meant"),
    [(1, 3, 3), (1, 0, 0), (3, 0, 2), (3, 2, None), (1, MOST_SLOTS, MOST_SLOTS), (1, MOST_SLOTS + 1, None)],
)
def test_how_many_slots_a_person_means(slot: int, said: int, meant: int | None) -> None:
    assert becomes.replicas_meant(build.task(slot=slot, state="running"), said) == meant
