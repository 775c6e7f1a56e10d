"""Asks a daemon for the digest that an image's registry has now, as the docker CLI does for a Swarm's services."""

from urllib.parse import quote

import msgspec

from berth.dockerapi import references
from berth.dockerapi.client import Docker
from berth.model.errors import EngineError
from berth.model.spec import Pinned

_ARM = "arm"
"""Nodes with such processors name their variant, which images do not: for them any architecture will do."""


class _Descriptor(msgspec.Struct, frozen=True):
    digest: str = ""


class _Platform(msgspec.Struct, frozen=True):
    os: str = ""
    architecture: str = ""


class _Distribution(msgspec.Struct, frozen=True, rename={"descriptor": "Descriptor", "platforms": "Platforms"}):
    descriptor: _Descriptor = _Descriptor()
    platforms: list[_Platform] | None = None


async def pin(docker: Docker, image: str, auth: str) -> Pinned:
    """The image with its digest and platforms; nothing where the registry does not tell them."""
    name = references.familiar(image)
    headers = {"X-Registry-Auth": auth} if auth else None
    try:
        answer = await docker.send(f"/distribution/{quote(name, safe='/:@')}/json", headers=headers, method="GET")
    except EngineError:
        return Pinned()
    found = msgspec.json.decode(answer, type=_Distribution)
    if not found.descriptor.digest:
        return Pinned()
    platforms = tuple((one.os, _architecture(one)) for one in found.platforms or ())
    return Pinned(references.pinned(image, found.descriptor.digest), platforms)


def _architecture(platform: _Platform) -> str:
    return "" if platform.architecture.lower() == _ARM else platform.architecture
