"""What is known of a container image: what it demands of a card, and what nodes and its registry said of it."""

from typing import Literal

import msgspec

Verdict = Literal["", "found", "absent", "denied", "unreachable"]


class Demand(msgspec.Struct, frozen=True):
    """What an image demands of every card it is given: one of the alternatives, each a list of terms that all hold.

    A term is as NVIDIA writes it: "cuda>=12.4", "driver<471", "brand=tesla", "arch>=7.0"; Berth's own are
    "vendor=amd", and "toolkit=12.4" for an image that names no more than the CUDA toolkit it was built with.
    `source` is the variable of the image that says so.
    """

    source: str
    any_of: tuple[tuple[str, ...], ...]


class RegistryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What an image's registry said. "" means that nobody asked; `said` are the registry's own words.

    `env` are those variables of the image that demand something of the cards, and no others.
    """

    registry: str = ""
    verdict: Verdict = ""
    said: str = ""
    env: dict[str, str] = {}


def registry_of(image: str) -> str:
    """The registry of an image's name, as Docker reads it: "docker.io" when none is written."""
    first, slash, _ = image.partition("/")
    return first if slash and (any(ch in first for ch in ".:") or first == "localhost") else "docker.io"
