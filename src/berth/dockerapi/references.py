"""Names of images as the docker CLI sends them: short where Docker Hub is meant, and never without a tag."""

HUB = "docker.io"
_OLD_HUB = "index.docker.io"
_OFFICIAL = "library/"


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
    first, slash, rest = path.partition("/")
    has_host = bool(slash) and (any(ch in first for ch in ".:") or first == "localhost" or first != first.lower())
    if has_host and first not in (HUB, _OLD_HUB):
        return path
    bare = rest if has_host else path
    official = bare.removeprefix(_OFFICIAL)
    return official if "/" not in official else bare
