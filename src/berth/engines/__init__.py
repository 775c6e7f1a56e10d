"""The engines by name; `main` loads one, so that an unused engine costs no import and a broken one is loud."""

from importlib import import_module
from typing import Any

from berth.model.errors import BadInput

ENGINES: dict[str, str] = {
    "docker": "berth.engines.docker:DockerEngine",
    "simulated": "berth.engines.simulated:SimulatedEngine",
    "swarm": "berth.engines.swarm:SwarmEngine",
}


def load(name: str) -> type[Any]:
    """The class of an engine. Raises BadInput for a name that is not in the table."""
    if name not in ENGINES:
        raise BadInput.of("unknown-engine", f"There is no engine {name}.", f"Use one of: {', '.join(sorted(ENGINES))}.")
    module, _, attribute = ENGINES[name].partition(":")
    found: type[Any] = getattr(import_module(module), attribute)
    return found
