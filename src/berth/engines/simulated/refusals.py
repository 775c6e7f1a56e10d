"""What the simulated engine refuses, in the words of the real ones."""

from collections.abc import Iterable

from berth.model.errors import EngineError, Problem, StaleVersion


def gone(what: str) -> EngineError:
    """The slot or run is not there any more."""
    return EngineError(Problem(code="engine-object-gone", message=f"The simulated engine has no {what} (any more)."))


def stale(what: str) -> StaleVersion:
    """It changed since the version that the caller holds."""
    return StaleVersion(Problem(code="stale-version", message=f"{what} has changed since; nothing was done."))


def name_taken(name: str) -> EngineError:
    """Another task's slot has this name."""
    return EngineError(
        Problem(
            code="name-taken",
            message=f"The engine has a slot {name} that does not belong to this job.",
            hint="Use another name.",
        )
    )


def no_node(name: str, known: Iterable[str]) -> EngineError:
    """The node does not exist."""
    return EngineError(
        Problem(
            code="engine-refused",
            message=f"The simulated engine has no node {name}.",
            hint=f"Its nodes are: {', '.join(sorted(known))}.",
        )
    )
