"""What the agent tells of its host besides cards: name, gids of the groups that open cards, and a few facts."""

import grp
import os
import platform
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")
GROUPS = ("video", "render")


def hostname() -> str:
    """The host's own name, as Docker also reports it."""
    return platform.node() or "localhost"


def is_own(docker_url: str) -> bool:
    """True when a daemon at this address runs on this host: a socket, or TCP on loopback."""
    parts = urlsplit(docker_url)
    return parts.scheme == "unix" or (parts.scheme != "ssh" and parts.hostname in LOOPBACK)


def group_ids() -> dict[str, int]:
    """The host's gids of `video` and `render`, those that exist: images need not know these names."""
    found = {}
    for name in GROUPS:
        with suppress(KeyError):
            found[name] = grp.getgrnam(name).gr_gid
    return found


def facts() -> dict[str, str]:
    """Kernel, machine and boot id (new at each boot: how a restart of the machine is noticed)."""
    found = {"kernel": platform.release(), "arch": platform.machine(), "cpus": str(os.cpu_count() or 0)}
    with suppress(OSError):
        found["boot_id"] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return found
