"""Engine calls under way: what is held counts as called until it is let go of, and looks wait for that for a moment."""

import math

from berth.control.calls import Calls
from tests.control.bench import StepClock


async def test_a_call_within_a_held_one_is_over_when_that_is() -> None:
    told: list[str] = []
    calls = Calls(StepClock(), told.append, ())
    with calls.holding(["a", "b"]):
        with calls.during("a"):
            assert calls.busy("a")
        assert calls.settled == {"a": math.inf, "b": math.inf}
        assert not told
    assert max(calls.settled.values()) < math.inf
    assert told == ["", ""]


async def test_it_is_idle_but_for_what_is_held_by_anybody() -> None:
    calls = Calls(StepClock(), lambda _: None, ())
    assert calls.idle.is_set()
    with calls.holding(["a"]):
        with calls.holding(["b"]):
            assert not calls.idle.is_set()
        assert not calls.idle.is_set()
    with calls.during("c"):
        assert calls.idle.is_set()
