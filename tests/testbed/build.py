"""Builds what Debian does not have, once per version: today's engine, runc, NVIDIA's toolkit, a fake NVML."""

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .cache import cache_folder, made_once
from .install import install
from .processes import run

MOBY = "v2.0.0-beta.24"
RUNC = "v1.4.0"
TOOLKIT = "v1.20.2"
NVML = Path(__file__).parent / "nvml" / "fake_nvml.c"
NVML_FLAGS = (
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-shared",
    "-fPIC",
    "-pthread",
    "-Wl,-soname,libnvidia-ml.so.1",
)
TOOLKIT_COMMANDS = (
    "nvidia-container-runtime",
    "nvidia-container-runtime-hook",
    "nvidia-ctk",
    "nvidia-cdi-hook",
)


def moby() -> Path:
    """Return the folder with today's dockerd and docker-proxy (it starts Debian's containerd)."""
    module = "github.com/moby/moby/v2"
    packages = [f"{module}/cmd/dockerd", f"{module}/cmd/docker-proxy"]
    flags = ["-ldflags", f"-s -w -X {module}/dockerversion.Version={MOBY.removeprefix('v')}"]
    return made_once(f"moby-{MOBY}", lambda folder: _go(folder, module, MOBY, packages, flags, cgo=False))


def runc() -> Path:
    """Return the folder with the runc that today's dockerd needs (Debian's knows no time namespace)."""
    module = "github.com/opencontainers/runc"
    flags = ["-tags", "seccomp", "-ldflags", f"-s -w -X main.version={RUNC.removeprefix('v')}"]
    return made_once(f"runc-{RUNC}", lambda folder: _go(folder, module, RUNC, [module], flags))


def toolkit() -> Path:
    """Return the folder with the four commands of NVIDIA's container toolkit."""
    module = "github.com/NVIDIA/nvidia-container-toolkit"
    packages = [f"{module}/cmd/{command}" for command in TOOLKIT_COMMANDS]
    flags = [
        "-ldflags",
        f"-s -w -extldflags=-Wl,-z,lazy -X {module}/internal/info.version={TOOLKIT.removeprefix('v')}",
    ]
    return made_once(f"toolkit-{TOOLKIT}", lambda folder: _go(folder, module, TOOLKIT, packages, flags))


def nvml() -> Path:
    """Return the folder with the fake libnvidia-ml.so.1."""
    version = hashlib.sha256(NVML.read_bytes() + repr(NVML_FLAGS).encode()).hexdigest()[:12]

    def compile_in(folder: Path) -> None:
        run(["gcc", *NVML_FLAGS, "-o", folder / "libnvidia-ml.so.1", NVML], timeout=120)

    return made_once(f"nvml-{version}", compile_in)


def build_all() -> list[Path]:
    """Build everything that is not in the cache yet, two at a time, and return the folders."""
    install()
    with ThreadPoolExecutor(2) as pool:
        return [job.result() for job in [pool.submit(make) for make in (moby, runc, toolkit, nvml)]]


def _go(
    folder: Path,
    module: str,
    version: str,
    packages: Sequence[str],
    flags: Sequence[str],
    *,
    cgo: bool = True,
) -> None:
    """Build packages of a module into `folder`, through a module of our own that names them as tools."""
    imports = "".join(f'import _ "{package}"\n' for package in packages)
    (folder / "go.mod").write_text(f"module testbed\n\ngo 1.25\n\nrequire {module} {version}\n")
    (folder / "tools.go").write_text(f"//go:build tools\n\npackage tools\n\n{imports}")
    env = _go_environment() | {"CGO_ENABLED": "1" if cgo else "0"}
    run(["go", "mod", "tidy"], cwd=folder, env=env, timeout=600)
    run(["go", "build", "-trimpath", "-o", f"{folder}/", *flags, *packages], cwd=folder, env=env, timeout=1500)
    for rest in ("go.mod", "go.sum", "tools.go"):
        (folder / rest).unlink()


def _go_environment() -> dict[str, str]:
    """Return the environment for go; a user without a home gets Go's own caches in the testbed's."""
    env = dict(os.environ) | {"GOFLAGS": "-buildvcs=false"}
    if not env.get("HOME"):
        env |= {"GOPATH": str(cache_folder() / "go"), "GOCACHE": str(cache_folder() / "go-build")}
    return env
