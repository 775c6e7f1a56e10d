"""Whose the processes on the cards are, by a recorded /proc."""

from pathlib import Path

import pytest

from berth.agent.strangers import merged, strangers
from berth.model.card import Use
from berth.model.wire import ForeignUse

OURS, THEIRS, UNKNOWN = (digit * 64 for digit in "abc")
OTHER = ForeignUse(container=THEIRS, name="web", image="bb:1", uid=5)


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Processes 1 of ours, 2 and 3 of theirs, 4 of a runtime that nobody knows, 5 of no container."""
    groups = {
        1: f"5:devices:/docker/{OURS}\n0::/docker/{OURS}\n",
        2: f"0::/system.slice/docker-{THEIRS}.scope\n",
        3: f"0::/system.slice/docker-{THEIRS}.scope/child\n",
        4: f"0::/kubepods/burstable/pod1/{UNKNOWN}\n",
        5: "0::/user.slice/user-1000.slice/session-1.scope\n",
    }
    for pid, text in groups.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cgroup").write_text(text)
        (tmp_path / str(pid) / "comm").write_text("python3\n")
    return tmp_path


def use(*pids: int, uuid: str = "GPU-a") -> Use:
    """A card with these processes."""
    return Use(uuid=uuid, pids=pids)


def found(proc: Path, *uses: Use, before: tuple[int, ...] = ()) -> tuple[ForeignUse, ...]:
    """The strangers, with our container and theirs known."""
    return strangers(uses, {THEIRS: OTHER}, {OURS, THEIRS}, before, proc)


def test_processes_of_our_own_and_of_the_dead_are_no_strangers(proc: Path) -> None:
    assert found(proc, use(1, 77)) == ()


def test_a_container_that_never_asked_is_named_with_its_cards(proc: Path) -> None:
    (told,) = found(proc, use(2), use(3, uuid="GPU-b"), use(uuid="GPU-c"))
    assert (told.container, told.name, told.cards, told.process) == (THEIRS, "web", ("GPU-a", "GPU-b"), 0)
    assert told.who == "container web of image bb:1 (uid 5)"


def test_a_program_on_the_host_is_named_with_its_user(proc: Path) -> None:
    (told,) = found(proc, use(5), use(5, uuid="GPU-b"))
    assert (told.process, told.name, told.cards) == (5, "python3", ("GPU-a", "GPU-b"))
    assert told.who == f"process 5 python3 (uid {proc.stat().st_uid})"


def test_a_container_that_the_daemon_does_not_know_counts_at_the_second_look(proc: Path) -> None:
    assert found(proc, use(4)) == ()
    (told,) = found(proc, use(4), before=(4,))
    assert (told.process, told.cards) == (4, ("GPU-a",))


def test_a_container_that_just_started_is_left_alone_until_it_was_looked_at(proc: Path) -> None:
    assert strangers((use(2),), {}, {OURS, THEIRS}, (2,), proc) == ()


def test_one_that_asked_and_runs_is_told_once() -> None:
    asked = ForeignUse(container=THEIRS, cards=("GPU-a",))
    running = ForeignUse(container=THEIRS, cards=("GPU-a", "GPU-b"))
    bare = ForeignUse(process=9)
    assert merged((asked,), (bare, running)) == (bare, running)
