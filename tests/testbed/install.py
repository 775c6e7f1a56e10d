"""Installs by apt what a bare Debian 12 lacks for the testbed, and starts no service that comes with it."""

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .cache import locked
from .processes import TestbedError, run

PACKAGES = (
    "docker.io",
    "busybox-static",
    "iproute2",
    "iptables",
    "util-linux",
    "docker-registry",
    "apache2-utils",
    "openssl",
    "gcc",
    "libc6-dev",
    "libseccomp-dev",
    "pkg-config",
    "wrk",
    "zsh",
    "fish",
)
POLICY = Path("/usr/sbin/policy-rc.d")
TRIES = 5


def missing(packages: Sequence[str] = PACKAGES) -> list[str]:
    """Return those of the Debian packages that are not installed."""
    if not shutil.which("dpkg-query"):
        raise TestbedError("the testbed installs its parts by apt: use a Debian 12 machine or container")
    listed = run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *packages], check=False).stdout
    installed = {line.split()[1] for line in listed.splitlines() if line.startswith("installed ")}
    return [package for package in packages if package not in installed]


def install(packages: Sequence[str] = PACKAGES) -> list[str]:
    """Install what is missing and return its names; takes a moment only when nothing is."""
    if not missing(packages):
        return []
    if os.geteuid() != 0:
        raise TestbedError(f"as root, run: apt-get install {' '.join(missing(packages))}")
    with locked("install"):
        lacking = missing(packages)
        if lacking:
            with _services_held_back():
                _apt("update")
                _apt("install", "--yes", "--no-install-recommends", *lacking)
    return lacking


def _apt(*words: str) -> None:
    command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3", *words]
    for attempt in range(1, TRIES + 1):
        try:
            run(command, timeout=600, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
            return
        except TestbedError:
            if attempt == TRIES:
                raise
            time.sleep(2 * attempt)


@contextmanager
def _services_held_back() -> Iterator[None]:
    """Have Debian's packages start no daemon while they are installed (the way that Debian gives for it)."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink(missing_ok=True)
