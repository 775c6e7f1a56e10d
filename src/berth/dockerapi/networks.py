"""Creates and removes the networks of a stack, for both Docker engines; what exists stays as it is."""

import asyncio
import contextlib
from typing import Any

import msgspec

from berth.dockerapi import shapes
from berth.dockerapi.client import Docker, segment
from berth.model import marks
from berth.model.errors import EngineConflict, EngineError, ObjectGone, Problem
from berth.model.job import Network, Stack

IN_USE_TRIES = 12
IN_USE_PAUSE_S = 0.5
PREDEFINED = ("bridge", "host", "none", "ingress")
NOT_FOR_SERVICES = ("none", "ingress")
"""Networks of the engine's own that a Swarm's services cannot join."""


class _Known(
    msgspec.Struct,
    frozen=True,
    rename={"id": "Id", "name": "Name", "scope": "Scope", "labels": "Labels", "attachable": "Attachable"},
):
    id: str
    name: str
    scope: str = ""
    labels: dict[str, str] | None = None
    attachable: bool = False


class Networks:
    """Networks of one daemon or Swarm; `driver` is the one that a network gets that names none."""

    def __init__(self, docker: Docker, driver: str, swarm: bool) -> None:
        self._docker = docker
        self._driver = driver
        self._swarm = swarm

    async def problems(self, wanted: tuple[Network, ...]) -> tuple[Problem, ...]:
        """External networks that are not there, or not for the whole Swarm."""
        found = []
        for network in wanted:
            if self._swarm and network.external and network.name in NOT_FOR_SERVICES:
                found.append(_not_for_services(network.name))
            if not network.external or network.name in PREDEFINED:
                continue
            there = await self._find(network.name)
            if there is None or (self._swarm and there.scope != "swarm"):
                found.append(_missing(network.name, there is not None, self._swarm))
        return tuple(found)

    async def ensure(self, stack: Stack) -> None:
        """Create what is missing; a repeat finds it there."""
        for network in stack.networks:
            if network.external or await self._find(network.name):
                continue
            with contextlib.suppress(EngineConflict):
                await self._docker.send("/networks/create", self._wanted(network, stack.name))

    async def remove(self, stack: Stack) -> None:
        """Remove the stack's own; one that is in use is tried again for some seconds."""
        for network in stack.networks:
            there = None if network.external else await self._find(network.name)
            if there and (there.labels or {}).get(marks.NAMESPACE) == stack.name:
                await self._remove(there)

    async def _remove(self, network: _Known) -> None:
        for left in reversed(range(IN_USE_TRIES)):
            try:
                await self._docker.send(f"/networks/{segment(network.id)}", method="DELETE")
                return
            except ObjectGone:
                return
            except EngineError as error:
                if not left or not _in_use(error):
                    raise
            await asyncio.sleep(IN_USE_PAUSE_S)

    async def _find(self, name: str) -> _Known | None:
        answer = await self._docker.read("/networks", {"filters": {"name": [name]}})
        known = [network for network in msgspec.json.decode(answer, type=list[_Known]) if network.name == name]
        return max(known, key=lambda network: network.scope == "swarm", default=None)

    def _wanted(self, network: Network, stack: str) -> dict[str, Any]:
        pools = [{"Subnet": subnet} for subnet in network.subnets]
        ipam = shapes.kept({"Driver": network.ipam_driver, "Config": pools})
        return {
            "Name": network.name,
            "Driver": network.driver or self._driver,
            "Options": network.driver_opts,
            "Internal": network.internal,
            "CheckDuplicate": True,
            "Labels": {**network.labels, marks.NAMESPACE: stack},
            **shapes.kept({"IPAM": ipam, "Attachable": network.attachable}),
        }


def _in_use(error: EngineError) -> bool:
    return any(mark in str(error) for mark in ("in use", "active endpoints"))


def _not_for_services(name: str) -> Problem:
    return Problem(
        code="network-not-for-services",
        message=f"A Swarm's services cannot join the network {name}.",
        hint="Remove it; an internal network (internal: true) leads nowhere outside, host is the node's own.",
        field="networks",
    )


def _missing(name: str, local: bool, swarm: bool) -> Problem:
    kind = " --driver overlay" if swarm else ""
    state = "exists on this node only, not in the Swarm" if local else "does not exist"
    return Problem(
        code="network-missing",
        message=f"The external network {name} {state}.",
        hint=f"Create it: `docker network create{kind} {name}`.",
        field=f"networks/{name}",
    )
