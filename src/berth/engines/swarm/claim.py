"""Which Berth a Swarm belongs to: a label on the Swarm itself, renewed while that server lives."""

from typing import Any

import msgspec

from berth.dockerapi.client import Docker
from berth.model import marks
from berth.model.errors import StaleVersion

STALE_S = 60.0
"""A claim that was not renewed for so long is nobody's (seconds, by the servers' clocks)."""


async def claim(docker: Docker, cluster: str, now: float) -> str:
    """Hold the Swarm for this cluster; "" when that worked, else the id of the Berth that holds it.

    `now` 0 gives it up. Swarm refuses an update of an older version, so two servers cannot both win.
    """
    swarm: dict[str, Any] = msgspec.json.decode(await docker.read("/swarm"))
    labels: dict[str, str] = swarm["Spec"].get("Labels") or {}
    holder = labels.get(marks.HOLDER, "")
    if holder not in ("", cluster) and now - _seconds(labels.get(marks.RENEWED, "")) < STALE_S:
        return holder
    if now == 0.0:
        labels = {key: value for key, value in labels.items() if key not in (marks.HOLDER, marks.RENEWED)}
    else:
        labels = {**labels, marks.HOLDER: cluster, marks.RENEWED: str(int(now))}
    try:
        await docker.send("/swarm/update", {**swarm["Spec"], "Labels": labels}, {"version": swarm["Version"]["Index"]})
    except StaleVersion:
        return await claim(docker, cluster, now)
    return ""


def _seconds(text: str) -> float:
    return float(text) if text.isdigit() else 0.0
