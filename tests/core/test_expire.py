"""Whose cards are really free."""

from typing import Any

import pytest

from berth.core.expire import expire, released
from berth.core.situation import Situation
from berth.model.job import Task
from berth.ports import Capabilities
from tests import build


def is_released(task: Task, *seen: Any, **fields: Any) -> bool:
    """Whether the task's cards are released by this look."""
    situation = Situation(
        observed=build.observed(*seen), capabilities=Capabilities(), cluster=build.CLUSTER, now=1000.0,
        **{"settled": {}, "nodes": {"gpu-1": build.node()}, **fields},
    )  # fmt: skip
    return bool(list(expire([task], {task.id}, situation)))


OVER = build.task(state="ended", attempt=1, gone=False, cards=("GPU-1",), node="gpu-1")


def test_an_ended_task_with_nothing_alive_is_is_released() -> None:
    assert is_released(OVER)
    assert is_released(OVER, build.life(state="exited", exit_code=0))


def test_a_container_that_still_lives_holds_its_card() -> None:
    assert not is_released(OVER, build.life(state="running"))
    assert not is_released(OVER, build.life(state="unknown"))


def test_a_running_task_is_never_is_released() -> None:
    assert not is_released(build.task(state="running", attempt=1, gone=False))
    assert not is_released(build.task(state="restarting", attempt=1, gone=False))


def test_a_look_that_began_before_the_last_call_proves_nothing() -> None:
    assert not is_released(OVER, settled={"j1.1": 100.0})


def test_a_fenced_node_is_vouched_to_be_off() -> None:
    assert is_released(OVER, build.life(state="unknown"), nodes={"gpu-1": build.node(fence="off")})


@pytest.mark.parametrize(("state", "left"), [("ended", ("gpu-1", ("GPU-1",))), ("waiting", ("", ()))])
def test_a_released_task_that_is_over_remembers_where_it_was_and_one_that_waits_does_not(state: str, left: Any) -> None:
    task = build.task(state=state, attempt=1, gone=False, cards=("GPU-1",), node="gpu-1")
    free = released(task, {task.id})
    assert free is not None
    assert (free.gone, (free.node, free.cards)) == (True, left)
    assert released(free, {}) is None
    assert released(build.task(state="running", gone=False), {}) is None
