"""Drivers of volumes, networks and logs that no node has: asked before anything is created, for both Docker engines."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from berth.dockerapi.client import Docker
from berth.model.errors import Problem
from berth.model.job import Network
from berth.model.spec import TaskSpec


class _Wanted(NamedTuple):
    kind: str
    name: str
    field: str


class _Plugin(msgspec.Struct, frozen=True, rename={"kind": "Type", "name": "Name"}):
    kind: str = ""
    name: str = ""


class _Engine(msgspec.Struct, frozen=True, rename={"plugins": "Plugins"}):
    plugins: list[_Plugin] | None = None


class _Description(msgspec.Struct, frozen=True, rename={"engine": "Engine"}):
    engine: _Engine = _Engine()


class _Node(msgspec.Struct, frozen=True, rename={"description": "Description"}):
    description: _Description = _Description()


class _Info(msgspec.Struct, frozen=True, rename={"plugins": "Plugins"}):
    plugins: dict[str, list[str] | None] = {}


_nodes = msgspec.json.Decoder(list[_Node])
_info = msgspec.json.Decoder(_Info)


async def problems(docker: Docker, spec: TaskSpec, networks: Iterable[Network], swarm: bool) -> tuple[Problem, ...]:
    """What the spec and these networks want and no node has. Swarm's own scheduler goes by the same list."""
    wanted = list(_wanted(spec, networks))
    if not wanted:
        return ()
    known = _of_swarm(await docker.read("/nodes")) if swarm else _of_host(await docker.read("/info"))
    kinds = {kind for kind, _ in known}
    return tuple(
        _missing(one, sorted(name for kind, name in known if kind == one.kind))
        for one in wanted
        if one.kind in kinds and known.isdisjoint({(one.kind, one.name), (one.kind, f"{one.name}:latest")})
    )


def _wanted(spec: TaskSpec, networks: Iterable[Network]) -> Iterator[_Wanted]:
    for n, mount in enumerate(spec.mounts):
        if mount.kind == "volume" and mount.driver:
            yield _Wanted("Volume", mount.driver, f"volumes.{n}")
    for network in networks:
        if network.driver and not network.external:
            yield _Wanted("Network", network.driver, f"networks/{network.name}")
    logging = spec.around.logging
    if logging is not None and logging.driver not in ("", "none"):
        yield _Wanted("Log", logging.driver, "logging.driver")


def _of_swarm(answer: bytes) -> set[tuple[str, str]]:
    nodes = _nodes.decode(answer)
    return {(plugin.kind, plugin.name) for node in nodes for plugin in node.description.engine.plugins or ()}


def _of_host(answer: bytes) -> set[tuple[str, str]]:
    return {(kind, name) for kind, names in _info.decode(answer).plugins.items() for name in names or ()}


def _missing(one: _Wanted, known: list[str]) -> Problem:
    kind = one.kind.lower()
    return Problem(
        code="driver-missing",
        message=f"No node has the {kind} driver {one.name[:80]}; there is {', '.join(known[:12])}.",
        hint=f"Install it on the nodes (docker plugin install {one.name[:80]}), or leave the driver out.",
        field=one.field,
    )
