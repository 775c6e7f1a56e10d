"""What NVIDIA cards a running container can open, by its /dev and its device cgroup; `verdict` judges the answer."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

NVIDIA_MAJOR = 195
FIRST_CONTROL_MINOR = 254
"""Minors 254 and 255 are nvidia-modeset and nvidiactl, which every container with cards has: they are no cards."""


class Blind(Exception):
    """The container cannot be looked into; the text says why. `forbidden`: this process may not, now or later."""

    def __init__(self, why: str, forbidden: bool = False) -> None:
        super().__init__(why)
        self.forbidden = forbidden


class Sight(msgspec.Struct, frozen=True):
    """Minor numbers of cards. `nodes` are in its /dev; `allowed` is what its cgroup lets it open (None: not known).

    `everything`: the cgroup has no limit, as in a privileged container.
    """

    nodes: frozenset[int] = frozenset()
    allowed: frozenset[int] | None = None
    everything: bool = False

    @property
    def open(self) -> frozenset[int]:
        """The cards that a program in it can open by their nodes."""
        return self.nodes if self.everything or self.allowed is None else self.nodes & self.allowed

    @property
    def barred(self) -> frozenset[int]:
        """Cards whose node is there but which the cgroup forbids: what is left after a daemon-reload took them."""
        return self.nodes - self.open

    @property
    def hidden(self) -> frozenset[int]:
        """Cards that it may open although no node is there: it could make the node itself."""
        return frozenset() if self.everything else (self.allowed or frozenset()) - self.nodes


def look(pid: int, container: str, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> Sight:
    """Look at the container `container` (full id) through its first process. Raises Blind.

    On cgroup v2 the device rules are a program in the kernel that cannot be read back: there the nodes alone count.
    """
    groups = _groups(proc / str(pid) / "cgroup")
    if not any(container in path for path in groups.values()):
        raise Blind(f"process {pid} is not the container's: the agent does not see the host's processes", True)
    nodes = frozenset(_nodes(proc / str(pid) / "root"))
    path = groups.get("devices")
    rules = _rules(cgroups / "devices" / path.lstrip("/") / "devices.list") if path else None
    if rules is None:
        return Sight(nodes)
    allowed = set(_allowed(rules))
    everything = None in allowed
    return Sight(nodes, None if everything else frozenset(minor for minor in allowed if minor is not None), everything)


def _groups(file: Path) -> dict[str, str]:
    """Controller -> path, by /proc/PID/cgroup (`5:devices:/docker/ID`; v2 has the one line `0::/PATH`)."""
    try:
        lines = file.read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise Blind("the container had ended before it could be looked at") from error
    except PermissionError as error:
        raise Blind("the agent may not read the process: it has to run as root on the host", True) from error
    found: dict[str, str] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        found |= dict.fromkeys(controllers.split(","), path)
    return found


def _nodes(root: Path) -> Iterable[int]:
    """Minors of the card nodes in the container's own /dev, whatever their names; links are not followed out of it."""
    try:
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY)
        try:
            dev = os.open("dev", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
    except PermissionError as error:
        raise Blind("the agent may not look into containers: it has to run as root on the host", True) from error
    except OSError as error:
        raise Blind(f"the container has no /dev to look at: {error.strerror}") from error
    try:
        for name in os.listdir(dev):
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=dev, follow_symlinks=False)
                if stat.S_ISCHR(found.st_mode) and os.major(found.st_rdev) == NVIDIA_MAJOR:
                    yield from _card(os.minor(found.st_rdev))
    finally:
        os.close(dev)


def _card(minor: int) -> tuple[int, ...]:
    return (minor,) if minor < FIRST_CONTROL_MINOR else ()


def _rules(file: Path) -> list[str] | None:
    try:
        return file.read_text().splitlines()
    except OSError:
        return None


def _allowed(rules: list[str]) -> Iterable[int | None]:
    """Minors that cgroup v1's rules (`c 195:0 rw`) let it read or write; None: a wildcard lets it open every card."""
    for rule in rules:
        kind, _, rest = rule.partition(" ")
        number, _, access = rest.partition(" ")
        major, _, minor = number.partition(":")
        if kind in "ac" and major in ("*", str(NVIDIA_MAJOR)) and set(access) & {"r", "w"}:
            yield from (None,) if minor == "*" else _card(int(minor))
