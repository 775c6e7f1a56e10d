"""What the Swarm engine refuses by itself, in words: an unfit daemon, a name or version that is not the caller's."""

from berth.dockerapi import fitness
from berth.dockerapi.address import Address
from berth.engines.swarm.records import Info
from berth.model.errors import EngineError, ObjectGone, Problem, StaleVersion
from berth.model.launch import Launch


def check(info: Info, address: Address) -> None:
    """Raise EngineError when this daemon cannot carry Berth on a Swarm."""
    fitness.refuse_rootless(info.security_options, address)
    if not info.swarm.managing:
        state = "is a worker" if info.swarm.state == "active" else f"has its Swarm state {info.swarm.state}"
        raise EngineError(
            Problem(
                code="not-a-manager",
                message=f"The Docker daemon at {address.url} is no Swarm manager: it {state}.",
                hint="Run `docker swarm init` there, or start Berth with --docker-host at a manager.",
            )
        )


def name_taken(name: str) -> EngineError:
    """A service of this name exists and is not this job's."""
    return EngineError(
        Problem(
            code="name-taken",
            message=f"The engine has a service {name} that does not belong to this job.",
            hint=f"Remove it (`docker service rm {name}`) or deploy under another name.",
        )
    )


def gone(name: str) -> ObjectGone:
    """The service that was to be taken over was removed meanwhile."""
    return ObjectGone(
        Problem(
            code="engine-object-gone",
            message=f"The Swarm no longer has the service {name}.",
            hint="Deploy the file again.",
        )
    )


def other_attempt(launch: Launch, attempt: int) -> StaleVersion:
    """The slot's service is at another attempt."""
    return StaleVersion(
        Problem(
            code="stale-version",
            message=f"The service {launch.name} is at attempt {attempt}, not {launch.attempt}; nothing was done.",
        )
    )


def stale_node(name: str) -> StaleVersion:
    """The node changed since it was read."""
    return StaleVersion(
        Problem(code="stale-version", message=f"Node {name} changed since Berth read it; no label was written.")
    )
