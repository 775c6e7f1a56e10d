"""An image's environment -> its demands. The rules are those of NVIDIA's container toolkit, and a few signs of ROCm.

Sources: github.com/NVIDIA/nvidia-container-toolkit, `internal/config/image` (which variables count, what switches
them off) and `internal/requirements` (a space is OR, a comma is AND). That an image with forward-compatible libraries
runs on older drivers: docs.nvidia.com/deploy/cuda-compatibility.
"""

import re
from collections.abc import Mapping

from berth.model.image import COMPAT, DISABLE, REQUIRE, ROCM, VERSION, Demand

JETPACK = "NVIDIA_REQUIRE_JETPACK"
_TERM = re.compile(r"(cuda|driver|brand|arch)(=|!=|<=|>=|<|>)([A-Za-z0-9.]{1,40})")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_TOOLKIT = re.compile(r"v?(\d{1,3}\.\d{1,3})(?:[.\-+].*)?")
MOST_ALTERNATIVES = 256


def demands_of(env: Mapping[str, str]) -> tuple[Demand, ...]:
    """The demands of an image with this environment; all of them must be met. A term that cannot be read is left out
    (with its alternative, when nothing of that remains): a toolkit refuses such an image itself.
    """
    vendor = _vendor(env)
    if env.get(DISABLE, "") in _TRUE:
        return vendor
    names = sorted(name for name in env if name.startswith(REQUIRE) and not name.startswith(JETPACK))
    found = tuple(demand for name in names if (demand := _demand(name, env[name])).any_of)
    return (*vendor, *found) if found else (*vendor, *_toolkit(env))


def _demand(name: str, value: str) -> Demand:
    alternatives = (_terms(part) for part in value.split()[:MOST_ALTERNATIVES])
    return Demand(name, tuple(terms for terms in alternatives if terms))


def _terms(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if _TERM.fullmatch(part))


def _toolkit(env: Mapping[str, str]) -> tuple[Demand, ...]:
    """The toolkit's version alone: by NVIDIA's table of minor version compatibility, unless the image brings newer
    driver libraries along.
    """
    version = _TOOLKIT.fullmatch(env.get(VERSION, ""))
    if version is None or env.get(COMPAT) or _is_rocm(env):
        return ()
    return (Demand(VERSION, ((f"toolkit={version[1]}",),)),)


def _vendor(env: Mapping[str, str]) -> tuple[Demand, ...]:
    """Images with ROCm go to AMD's cards, images with CUDA to NVIDIA's; one that has both goes anywhere."""
    cuda = next((name for name in sorted(env) if name == VERSION or name.startswith(f"{REQUIRE}CUDA")), "")
    rocm = next((name for name in ROCM if name in env), "")
    if bool(cuda) == bool(rocm):
        return ()
    return (Demand(cuda or rocm, ((f"vendor={'nvidia' if cuda else 'amd'}",),)),)


def _is_rocm(env: Mapping[str, str]) -> bool:
    return any(name in env for name in ROCM)
