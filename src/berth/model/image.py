"""What is known of a container image: what it demands of a card, and what nodes and its registry said of it."""

from collections.abc import Mapping
from typing import Literal

import msgspec

REQUIRE = "NVIDIA_REQUIRE_"
DISABLE = "NVIDIA_DISABLE_REQUIRE"
VERSION = "CUDA_VERSION"
COMPAT = "NV_CUDA_COMPAT_PACKAGE"
ROCM = ("ROCM_VERSION", "ROCM_PATH", "ROCM_HOME", "PYTORCH_ROCM_ARCH", "HIP_PLATFORM", "HIP_PATH")
"""Variables that images of AMD's and of the frameworks' ROCm builds set."""
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


class KnownImage(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of an image: the names of nodes that have it and of nodes that said they have not, what its
    registry said, and its demanding variables (from a node that has it, else from the registry).
    """

    here: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    registry: RegistryAnswer = RegistryAnswer()
    env: dict[str, str] = {}


def relevant(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of an image from which demands are read; all others are nobody's business."""
    names = (DISABLE, VERSION, COMPAT, *ROCM)
    return {name: value for name, value in env.items() if name.startswith(REQUIRE) or name in names}
