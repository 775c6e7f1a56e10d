"""Reads an image's name as Docker does: which registry, which repository there, which tag or digest."""

import msgspec

from berth.model.registry import HUB, registry_of

HUB_HOST = "registry-1.docker.io"


class Reference(msgspec.Struct, frozen=True):
    """A name taken apart. `registry` is as people write it, `host` where it is reached, `mark` a tag or a digest."""

    registry: str
    host: str
    path: str
    mark: str


def reference(image: str) -> Reference:
    """Take an image's name apart. Names without a registry are Docker Hub's, those without a slash `library`'s there;
    without tag and digest the tag is `latest`. Source: github.com/distribution/reference.
    """
    registry = registry_of(image)
    rest = image.removeprefix(f"{registry}/") if image.startswith(f"{registry}/") else image
    name, at, digest = rest.partition("@")
    head, colon, tag = name.rpartition(":")
    path, mark = (head, tag) if colon and "/" not in tag else (name, "latest")
    if registry == HUB and "/" not in path:
        path = f"library/{path}"
    return Reference(registry, HUB_HOST if registry == HUB else registry, path, digest if at else mark)
