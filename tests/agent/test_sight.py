"""What a container can open, read from recorded /proc and cgroup trees of both versions."""

import os
import stat
from pathlib import Path

import pytest

from berth.agent.sight import Blind, Sight, look

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="device nodes for the recorded trees need root")
ID = "5d0c6f1be1a5ac8e7f0e8bb2b87a7e42e5f7f3fbb6d5c2c9a8ef3a1d9e6b7c01"
PID = 4242
V1 = f"""12:pids:/docker/{ID}
11:cpu,cpuacct:/docker/{ID}
5:devices:/docker/{ID}
1:name=systemd:/docker/{ID}
0::/docker/{ID}
"""
V2 = f"0::/system.slice/docker-{ID}.scope\n"
# As runc 1.1 writes them for a container with default devices: mknod of anything, and the usual nodes.
DEFAULT_RULES = ["c *:* m", "b *:* m", "c 1:3 rwm", "c 1:5 rwm", "c 5:2 rwm", "c 10:200 rwm", "c 136:* rwm"]


class Tree:
    """A recorded host: /proc with one container's process, and the cgroup file system."""

    def __init__(self, root: Path, groups: str) -> None:
        self.proc, self.cgroups = root / "proc", root / "cgroup"
        self.dev = self.proc / str(PID) / "root" / "dev"
        self.dev.mkdir(parents=True)
        (self.proc / str(PID) / "cgroup").write_text(groups)
        self.node("null", 1, 3)

    def node(self, name: str, major: int, minor: int) -> None:
        """Put a device node into the container's /dev."""
        os.mknod(self.dev / name, 0o666 | stat.S_IFCHR, os.makedev(major, minor))

    def rules(self, *rules: str) -> None:
        """Record the device rules of cgroup v1."""
        folder = self.cgroups / "devices" / "docker" / ID
        folder.mkdir(parents=True)
        (folder / "devices.list").write_text("\n".join(rules) + "\n")

    def look(self, container: str = ID) -> Sight:
        """Look at it."""
        return look(PID, container, self.proc, self.cgroups)


@pytest.fixture
def v1(tmp_path: Path) -> Tree:
    """A container on cgroup v1."""
    return Tree(tmp_path, V1)


@pytest.fixture
def v2(tmp_path: Path) -> Tree:
    """A container on cgroup v2 under systemd."""
    return Tree(tmp_path, V2)


def test_a_container_without_cards(v1: Tree) -> None:
    v1.rules(*DEFAULT_RULES)
    assert v1.look() == Sight(frozenset(), frozenset())


def test_v1_counts_nodes_that_the_rules_let_it_open(v1: Tree) -> None:
    for name, minor in (("nvidia0", 0), ("nvidia1", 1), ("nvidiactl", 255), ("nvidia-modeset", 254)):
        v1.node(name, 195, minor)
    v1.rules(*DEFAULT_RULES, "c 195:255 rw", "c 195:1 rw", "c 195:2 r")
    found = v1.look()
    assert (found.open, found.barred, found.hidden) == tuple(map(frozenset, ({1}, {0}, {2})))


def test_a_right_to_make_nodes_is_no_right_to_open_them(v1: Tree) -> None:
    v1.rules("c 195:* m", "c 195:3 m")
    assert v1.look().hidden == frozenset()


@pytest.mark.parametrize("rule", ["a *:* rwm", "c *:* rwm", "c 195:* rw"])
def test_a_rule_for_every_card(v1: Tree, rule: str) -> None:
    v1.node("nvidia0", 195, 0)
    v1.rules(*DEFAULT_RULES, rule)
    found = v1.look()
    assert (found.everything, found.open, found.barred, found.hidden) == (
        True,
        frozenset({0}),
        frozenset(),
        frozenset(),
    )


def test_v2_counts_the_nodes(v2: Tree) -> None:
    v2.node("nvidia3", 195, 3)
    v2.node("a-card-by-another-name", 195, 7)
    v2.node("nvidia-uvm", 510, 0)
    assert v2.look() == Sight(frozenset({3, 7}))
    assert v2.look().open == {3, 7}


def test_a_link_in_dev_leads_nowhere(v2: Tree, tmp_path: Path) -> None:
    os.mknod(tmp_path / "outside", 0o666 | stat.S_IFCHR, os.makedev(195, 5))
    (v2.dev / "nvidia5").symlink_to(tmp_path / "outside")
    assert v2.look().nodes == frozenset()


def test_a_dev_that_is_a_link_is_not_followed_to_the_host(v2: Tree) -> None:
    (v2.dev / "null").unlink()
    v2.dev.rmdir()
    v2.dev.symlink_to("/dev")
    with pytest.raises(Blind, match="no /dev to look at"):
        v2.look()


def test_the_process_must_be_the_containers(v1: Tree) -> None:
    with pytest.raises(Blind, match="is not the container's") as caught:
        v1.look("f" * 64)
    assert caught.value.forbidden


def test_a_container_that_has_ended(v1: Tree) -> None:
    with pytest.raises(Blind, match="had ended") as caught:
        look(PID + 1, ID, v1.proc, v1.cgroups)
    assert not caught.value.forbidden
