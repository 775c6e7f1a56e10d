"""Names of images: taken apart for a registry, and as the docker CLI sends them (short for Docker Hub)."""

import msgspec

from berth.model.registry import HUB, OLD_HUB, host_in, registry_of

HUB_HOST = "registry-1.docker.io"
_OFFICIAL = "library/"


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
    registry, written = registry_of(image), host_in(image)
    name, at, digest = (image[len(written) + 1 :] if written else image).partition("@")
    path, _, tag = _tagged(name)
    if registry == HUB and "/" not in path:
        path = _OFFICIAL + path
    return Reference(registry, HUB_HOST if registry == HUB else registry, path, digest if at else tag or "latest")


def familiar(image: str) -> str:
    """The name with its tag ("latest" where it has neither tag nor digest), without "docker.io/" and "library/"."""
    name, at, digest = image.partition("@")
    path, colon, tag = _tagged(name)
    if not colon and not at:
        tag, colon = "latest", ":"
    return _short(path) + colon + tag + at + digest


def pinned(image: str, digest: str) -> str:
    """The familiar name with this digest; a name that has one already keeps it."""
    named = familiar(image)
    return named if "@" in named else f"{named}@{digest}"


def _tagged(name: str) -> tuple[str, str, str]:
    head, colon, tag = name.rpartition(":")
    return (head, colon, tag) if colon and "/" not in tag else (name, "", "")


def _short(path: str) -> str:
    host = host_in(path)
    if host not in ("", HUB, OLD_HUB):
        return path
    bare = path[len(host) + 1 :] if host else path
    official = bare.removeprefix(_OFFICIAL)
    return official if "/" not in official else bare
