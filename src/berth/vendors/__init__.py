"""The kinds of cards: `detect` chooses one for the agent, `table` is for the server's mounts; none knows an engine."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path

from berth.model.errors import BadInput
from berth.model.simulate import SimulatedNode
from berth.ports import Vendor

VENDORS: Mapping[str, str] = {
    "nvidia": "berth.vendors.nvidia:Nvidia",
    "declared": "berth.vendors.declared:DeclaredCards",
    "simulated": "berth.vendors.simulated:SimulatedCards",
}
"""Name -> "module:Class"; imported on first use, so that a host needs only the bindings of its own cards."""


def table() -> dict[str, Vendor]:
    """Every vendor by name, for `mount`: `declared` serves cards that are declared, else `Card.vendor` names it."""
    return {name: _load(name)() for name in VENDORS}


def detect(name: str, node: str, simulate: Iterable[SimulatedNode] = (), cards: Path | None = None) -> Vendor:
    """The vendor for the agent of `node`. "auto": simulated when a SPEC or a file is given, else NVIDIA.

    Nothing is asked of a driver yet: `discover` raises VendorAbsent where there is none. Raises BadInput for an
    unknown name, or one that lacks what it reads.
    """
    spec = tuple(simulate)
    chosen = ("simulated" if spec or cards else "nvidia") if name == "auto" else name
    if chosen not in VENDORS:
        names = ", ".join(["auto", *VENDORS])
        raise BadInput.of("vendor-unknown", f"There is no vendor {name}.", f"Use one of: {names}.", "--vendor")
    if chosen == "nvidia":
        return _load(chosen)(node)
    if chosen == "declared" and cards is None:
        message = "An agent with declared cards needs a file that lists them."
        hint = "Add --cards FILE, or label the node by hand and run no agent there."
        raise BadInput.of("vendor-unknown", message, hint, "--vendor")
    if chosen == "simulated" and not spec and cards is None:
        message = "Simulated cards need to be named."
        raise BadInput.of("vendor-unknown", message, "Add --simulate SPEC or --cards FILE.", "--vendor")
    return _load(chosen)(node, cards) if chosen == "declared" else _load(chosen)(node, spec, cards)


def _load(name: str) -> Callable[..., Vendor]:
    module, _, attribute = VENDORS[name].partition(":")
    found: Callable[..., Vendor] = getattr(import_module(module), attribute)
    return found
