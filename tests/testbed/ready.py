"""Whether this machine can have real engines, and everything that they need made ready before the tests begin."""

import os
import shutil
import sys
from pathlib import Path

from . import build
from .install import install


def obstacle() -> str:
    """Why no real engine can run here, in words; "" when one can."""
    if sys.platform != "linux":
        return "real engines need Linux"
    if os.geteuid() != 0:
        return "real engines need root (network namespaces, cgroups, device nodes)"
    if not shutil.which("apt-get"):
        return "real engines are installed by apt, and this is no Debian"
    if not Path("/sys/fs/cgroup").exists():
        return "real engines need cgroups"
    return ""


def make_ready() -> list[str]:
    """Install and build what the tests of real engines need; the folders that were built. Does nothing elsewhere."""
    if obstacle():
        return []
    install()
    return [str(folder) for folder in build.build_all()]
