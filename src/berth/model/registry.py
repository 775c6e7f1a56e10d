"""Which registry an image's name means; light, since the CLI needs it before anything else of an image."""

HUB = "docker.io"
OLD_HUB = "index.docker.io"


def registry_of(image: str) -> str:
    """The registry of an image's name, as Docker reads it: "docker.io" when none is written."""
    host = host_in(image)
    return HUB if host in ("", OLD_HUB) else host


def host_in(image: str) -> str:
    """The host that is written before the first slash; "" where that is a part of the name.

    A host has a dot, a colon or a capital letter, or is localhost. Source: github.com/distribution/reference.
    """
    first, slash, _ = image.partition("/")
    is_host = any(ch in first for ch in ".:") or first == "localhost" or first != first.lower()
    return first if slash and is_host else ""
