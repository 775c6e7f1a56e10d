"""Stand-in GPUs for a Docker host: device nodes, a CDI file that names them, NVIDIA's real runtime."""

import json
import os
import stat
import uuid
from dataclasses import dataclass
from pathlib import Path

from . import build
from .processes import TestbedError

MAJOR = 195
CONFIG = """[nvidia-container-runtime]
mode = "cdi"
log-level = "info"
runtimes = ["{runc}"]

[nvidia-container-runtime.modes.cdi]
default-kind = "nvidia.com/gpu"
"""


@dataclass(frozen=True)
class Card:
    """One stand-in card: its node opens with ENXIO where it was granted, with EPERM elsewhere."""

    index: int
    uuid: str
    node: Path


def uuids(name: str, number: int) -> list[str]:
    """Return full GPU UUIDs that follow from a host's name, the same in each run."""
    return [f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{name}/{index}')}" for index in range(number)]


def equip(folder: Path, cards: list[str], path: str) -> list[Card]:
    """Give the host of this folder one card per UUID; `path` tells where its runc is."""
    (folder / "dev").mkdir()
    made = [Card(index, card, folder / "dev" / f"nvidia{index}") for index, card in enumerate(cards)]
    for card in made:
        os.mknod(card.node, 0o666 | stat.S_IFCHR, os.makedev(MAJOR, card.index))
        card.node.chmod(0o666)
    (folder / "run" / "cdi").mkdir()
    (folder / "run" / "cdi" / "nvidia.json").write_text(json.dumps(_cdi(made), indent=1))
    (folder / "toolkit.toml").write_text(CONFIG.format(runc=_runc(path)))
    wrapper = folder / "nvidia-runtime"
    program = build.toolkit() / "nvidia-container-runtime"
    wrapper.write_text(f'#!/bin/sh\nNVIDIA_CTK_CONFIG_FILE_PATH={folder}/toolkit.toml exec {program} "$@"\n')
    wrapper.chmod(0o755)
    return made


def daemon_settings(folder: Path) -> dict[str, object]:
    """Return the keys of daemon.json that make NVIDIA's runtime the default."""
    return {"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": str(folder / "nvidia-runtime")}}}


def lose(container: str, card: Card) -> None:
    """Take a granted card from a running container, as a daemon-reload does on real hosts."""
    group = Path("/sys/fs/cgroup/devices/docker") / container / "devices.deny"
    group.write_text(f"c {MAJOR}:{card.index} rwm")


def _cdi(cards: list[Card]) -> dict[str, object]:
    named = {name: [card] for card in cards for name in (str(card.index), card.uuid)}
    devices = [{"name": name, "containerEdits": _edits(held)} for name, held in [*named.items(), ("all", cards)]]
    return {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices}


def _edits(cards: list[Card]) -> dict[str, object]:
    nodes = [{"path": f"/dev/nvidia{card.index}", "hostPath": str(card.node)} for card in cards]
    return {"deviceNodes": nodes}


def _runc(path: str) -> Path:
    for folder in path.split(":"):
        if (Path(folder) / "runc").exists():
            return Path(folder) / "runc"
    raise TestbedError(f"no runc in {path}")
