"""What the Docker engine refuses by itself, in words."""

from collections.abc import Iterable

from berth.model.errors import EngineError, Problem, StaleVersion
from berth.model.launch import Launch

NO_LIVE_RESTORE = (
    "A restart of this Docker daemon ends all containers; `live-restore: true` in /etc/docker/daemon.json keeps them."
)


def name_taken(name: str) -> EngineError:
    """A container of this name exists and is not this attempt's."""
    return EngineError(
        Problem(
            code="name-taken",
            message=f"The engine has a container {name} that does not belong to this attempt.",
            hint=f"Remove it (`docker rm {name}`) or use another name.",
        )
    )


def removed(launch: Launch) -> StaleVersion:
    """The attempt was removed before: a late start must not bring it back."""
    return StaleVersion(
        Problem(code="stale-version", message=f"Attempt {launch.attempt} of {launch.name} was removed already.")
    )


def no_labels(node: str, keys: Iterable[str]) -> Problem:
    """The daemon's labels are in its configuration file."""
    return Problem(
        code="no-node-labels",
        message=f"Node {node} cannot be labelled through Docker ({', '.join(keys)}).",
        hint="Berth keeps such labels itself on a Docker host.",
    )


def image_vanished(image: str) -> EngineError:
    """It was pulled and is not there."""
    return EngineError(
        Problem(code="image-absent", message=f"{image} was pulled and removed again before its container was made.")
    )
