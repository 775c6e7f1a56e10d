"""Whose cards are really free."""

from typing import Any

from berth.core.expire import Held, expire
from berth.model.job import Task
from tests import build


def released(task: Task, *seen: Any, **fields: Any) -> bool:
    """Whether the task's cards are released by this look."""
    held = Held(
        observed=build.observed(*seen),
        granted=frozenset({task.id}),
        settled=fields.pop("settled", {}),
        cluster=build.CLUSTER,
        **fields,
    )
    return bool(list(expire([task], held)))


OVER = build.task(state="ended", attempt=1, gone=False, cards=("GPU-1",), node="gpu-1")


def test_an_ended_task_with_nothing_alive_is_released() -> None:
    assert released(OVER)
    assert released(OVER, build.life(state="exited", exit_code=0))


def test_a_container_that_still_lives_holds_its_card() -> None:
    assert not released(OVER, build.life(state="running"))
    assert not released(OVER, build.life(state="unknown"))


def test_a_running_task_is_never_released() -> None:
    assert not released(build.task(state="running", attempt=1, gone=False))
    assert not released(build.task(state="restarting", attempt=1, gone=False))


def test_a_look_that_began_before_the_last_call_proves_nothing() -> None:
    assert not released(OVER, settled={"j1.1": 100.0})


def test_a_fenced_node_is_vouched_to_be_off() -> None:
    assert released(OVER, build.life(state="unknown"), fenced_nodes=frozenset({"gpu-1"}))
