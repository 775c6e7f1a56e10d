"""Refuses daemons that cannot carry Berth and warns of open ones; used by both Docker engines."""

from collections.abc import Sequence

from berth.dockerapi.address import Address
from berth.model.errors import EngineError, Problem


def refuse_rootless(security_options: Sequence[str] | None, address: Address) -> None:
    """Raise EngineError for rootless Docker: its user namespace can neither open cards nor hold device rules."""
    if "name=rootless" in (security_options or ()):
        raise EngineError(
            Problem(
                code="engine-rootless",
                message=f"The Docker daemon at {address.url} runs rootless: no container there can be given cards.",
                hint="Run Berth against the system's daemon: --docker-host unix:///var/run/docker.sock.",
            )
        )


def open_door(address: Address) -> tuple[str, ...]:
    """A warning when the daemon listens on the network for anybody."""
    if address.tls or not address.url.startswith(("tcp://", "http://")):
        return ()
    return (f"{address.url} has no TLS: whoever reaches that port is root on its host. Use ssh:// or TLS.",)
