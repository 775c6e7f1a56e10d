"""Tells whether the node's own daemon has an image, and what that image demands of cards."""

import asyncio

import msgspec

from berth.dockerapi.client import Docker, segment
from berth.model.errors import BerthError, ImageAbsent, ObjectGone
from berth.model.image import relevant
from berth.model.wire import FoundImage

ANSWER_S = 5.0


class _Config(msgspec.Struct, rename="pascal"):
    env: list[str] | None = None


class _Image(msgspec.Struct, rename="pascal"):
    config: _Config | None = None


async def find_image(docker: Docker, name: str) -> FoundImage:
    """Ask the daemon. One that does not answer in time, or makes no sense, cannot tell (`here` is None)."""
    try:
        async with asyncio.timeout(ANSWER_S):
            data = await docker.read(f"/images/{segment(name)}/json")
        config = msgspec.json.decode(data, type=_Image).config
    except (ImageAbsent, ObjectGone):
        return FoundImage(image=name, here=False)
    except (BerthError, TimeoutError, msgspec.MsgspecError):
        return FoundImage(image=name)
    entries = (entry.partition("=") for entry in (config.env if config else None) or ())
    return FoundImage(image=name, here=True, env=relevant({key: value for key, _, value in entries}))
