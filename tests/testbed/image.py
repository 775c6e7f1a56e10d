"""Packs Debian's static busybox into small Docker images, the same bytes each time, and loads them."""

import hashlib
import io
import json
import platform
import shutil
import tarfile
from pathlib import Path
from typing import Any

from .cache import made_once
from .processes import TestbedError, run

IMAGE = "bb:1"
IMAGE_TERM = "bb-term:1"
IMAGE_GPU = "bb-gpu:1"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
RECIPE = 1
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
}
FOLDERS = {"bin": 0o755, "etc": 0o755, "root": 0o700, "srv": 0o755, "tmp": 0o1777, "usr": 0o755, "var": 0o755}


def archive() -> Path:
    """Return the archive of all images for `docker load`, packed on the first call."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise TestbedError("busybox-static is not installed: run `python -m tests.testbed install`")
    program = Path(busybox).read_bytes()
    name = f"images-{RECIPE}-{hashlib.sha256(program).hexdigest()[:12]}"
    return made_once(name, lambda folder: _pack(folder / "images.tar", program, busybox)) / "images.tar"


def load(socket: Path) -> None:
    """Load the images into the daemon that listens on this socket."""
    run(["docker", "-H", f"unix://{socket}", "load", "--quiet", "--input", archive()], timeout=60)


def tags() -> list[str]:
    """Return the names of all images."""
    return list(_images())


def _images() -> dict[str, dict[str, Any]]:
    """Tag and configuration of each: killed at once, stopped by TERM as most are, asking for all GPUs."""
    plain = {"Cmd": ["sleep", "3600"], "Env": [PATH], "WorkingDir": "/"}
    return {
        IMAGE: {**plain, "StopSignal": "SIGKILL"},
        IMAGE_TERM: plain,
        IMAGE_GPU: {**plain, "StopSignal": "SIGKILL", "Env": [PATH, "NVIDIA_VISIBLE_DEVICES=all"]},
    }


def _pack(target: Path, program: bytes, busybox: str) -> None:
    layer = _layer(program, run([busybox, "--list"]).stdout.split())
    digest = "sha256:" + hashlib.sha256(layer).hexdigest()
    manifest: list[dict[str, Any]] = []
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as tar:
        _add(tar, "layer.tar", layer)
        for tag, config in _images().items():
            document = {
                "architecture": ARCHITECTURES[platform.machine()],
                "os": "linux",
                "created": "1970-01-01T00:00:00Z",
                "config": config,
                "rootfs": {"type": "layers", "diff_ids": [digest]},
            }
            file = tag.replace(":", "-") + ".json"
            _add(tar, file, json.dumps(document).encode())
            manifest.append({"Config": file, "RepoTags": [tag], "Layers": ["layer.tar"]})
        _add(tar, "manifest.json", json.dumps(manifest).encode())


def _layer(program: bytes, applets: list[str]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, mode in FOLDERS.items():
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, mode
            tar.addfile(folder)
        for name, text in FILES.items():
            _add(tar, name, text.encode())
        _add(tar, "bin/busybox", program, 0o755)
        for applet in sorted(set(applets) - {"busybox"}):
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return held.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    file = tarfile.TarInfo(name)
    file.size, file.mode = len(content), mode
    tar.addfile(file, io.BytesIO(content))
