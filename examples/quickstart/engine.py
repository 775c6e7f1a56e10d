"""What the quickstart does to the engine beside Berth: load its image, and put labels and images back as found."""

import asyncio
import contextlib
import json
from typing import Any
from urllib.parse import quote

import msgspec

from berth.dockerapi.address import find
from berth.dockerapi.client import Docker
from berth.model.errors import BerthError
from examples.quickstart import image

PATIENCE_S = 20.0


class Found(msgspec.Struct):
    """The daemon as it was found. `labels`: node id -> labels, {} outside a Swarm; `manager`: its own hostname."""

    manager: str = ""
    swarm: bool = False
    nodes: int = 1
    labels: dict[str, dict[str, str]] = {}
    had_image: bool = False


async def look() -> Found | None:
    """Look at the daemon that the docker CLI would use; None when none answers."""
    docker = Docker(find())
    try:
        await docker.open()
    except BerthError:
        return None
    try:
        info = msgspec.json.decode(await docker.read("/info"))
        found = Found(manager=info["Name"], swarm=bool(info.get("Swarm", {}).get("ControlAvailable")))
        found.had_image = await _has_image(docker)
        if found.swarm:
            nodes = msgspec.json.decode(await docker.read("/nodes"))
            found.labels = {node["ID"]: node["Spec"].get("Labels") or {} for node in nodes}
            found.nodes = len(nodes)
        return found
    finally:
        await docker.close()


async def load_image() -> None:
    """Load the quickstart's image into the daemon."""
    docker = Docker(find())
    await docker.open()
    try:
        await docker.send("/images/load", image.archive(), {"quiet": "1"})
    finally:
        await docker.close()


async def put_back(found: Found) -> list[str]:
    """Labels and images as they were found; sentences about what could not be put back."""
    docker = Docker(find())
    await docker.open()
    left: list[str] = []
    try:
        await _containers_gone(docker)
        for node_id, labels in found.labels.items():
            left += await _put_labels_back(docker, node_id, labels)
        if not found.had_image:
            left += await _try(docker, f"/images/{quote(image.NAME, safe='')}?force=1", "DELETE")
    finally:
        await docker.close()
    return left


async def _containers_gone(docker: Docker) -> None:
    """The engine removes what ended a little later; the image is in use until then."""
    mine = msgspec.json.encode({"ancestor": [image.NAME]}).decode()
    with contextlib.suppress(BerthError, TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while json.loads(await docker.read("/containers/json", {"all": "1", "filters": mine})):  # noqa: ASYNC110
                await asyncio.sleep(0.2)


async def _has_image(docker: Docker) -> bool:
    try:
        await docker.read(f"/images/{quote(image.NAME, safe='')}/json")
    except BerthError:
        return False
    return True


async def _put_labels_back(docker: Docker, node_id: str, labels: dict[str, str]) -> list[str]:
    node: dict[str, Any] = msgspec.json.decode(await docker.read(f"/nodes/{node_id}"))
    if (node["Spec"].get("Labels") or {}) == labels:
        return []
    spec = {**node["Spec"], "Labels": labels}
    return await _try(docker, f"/nodes/{node_id}/update?version={node['Version']['Index']}", "POST", spec)


async def _try(docker: Docker, path: str, method: str, body: object = None) -> list[str]:
    try:
        await docker.send(path, body, method=method)
    except BerthError as error:
        return [str(error)]
    return []
