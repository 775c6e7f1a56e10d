"""Which registry an image's name means; light, since the CLI needs it before anything else of an image."""

HUB = "docker.io"


def registry_of(image: str) -> str:
    """The registry of an image's name, as Docker reads it: "docker.io" when none is written."""
    first, slash, _ = image.partition("/")
    return first if slash and (any(ch in first for ch in ".:") or first == "localhost") else HUB
