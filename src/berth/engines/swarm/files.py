"""Finds secrets and configs in Swarm's store by name, for the mounts of a service and for early refusals."""

from collections.abc import Iterable
from typing import Any

import msgspec

from berth.dockerapi.client import Docker
from berth.model.errors import EngineError, Problem
from berth.model.spec import FileRef, TaskSpec

References = list[dict[str, Any]]


class _Named(msgspec.Struct, frozen=True, rename="pascal"):
    name: str


class _Stored(msgspec.Struct, frozen=True, rename={"id": "ID", "spec": "Spec"}):
    id: str
    spec: _Named


class Files:
    """Secrets and configs of one Swarm."""

    def __init__(self, docker: Docker) -> None:
        self._docker = docker

    async def resolve(self, spec: TaskSpec) -> tuple[References, References]:
        """The references of a service's secrets and configs. Raises EngineError when one is missing."""
        return (await self._references("Secret", spec.secrets), await self._references("Config", spec.configs))

    async def problems(self, spec: TaskSpec) -> tuple[Problem, ...]:
        """Secrets and configs that the spec names and the Swarm lacks."""
        found = []
        for kind, wanted in (("Secret", spec.secrets), ("Config", spec.configs)):
            ids = await self._ids(kind, wanted)
            found += [_missing(kind, ref.source) for ref in wanted if ref.source not in ids]
        return tuple(found)

    async def _references(self, kind: str, wanted: Iterable[FileRef]) -> References:
        wanted = tuple(wanted)
        ids = await self._ids(kind, wanted)
        missing = [_missing(kind, ref.source) for ref in wanted if ref.source not in ids]
        if missing:
            raise EngineError(*missing)
        return [
            {
                f"{kind}ID": ids[ref.source],
                f"{kind}Name": ref.source,
                **_use(ref),
            }
            for ref in wanted
        ]

    async def _ids(self, kind: str, wanted: Iterable[FileRef]) -> dict[str, str]:
        names = sorted({ref.source for ref in wanted})
        if not names:
            return {}
        answer = await self._docker.read(f"/{kind.lower()}s", {"filters": {"name": names}})
        return {stored.spec.name: stored.id for stored in msgspec.json.decode(answer, type=list[_Stored])}


def _use(ref: FileRef) -> dict[str, Any]:
    if ref.runtime:
        return {"Runtime": {}}
    return {"File": {"Name": ref.target, "UID": ref.uid, "GID": ref.gid, "Mode": ref.mode}}


def _missing(kind: str, name: str) -> Problem:
    word = kind.lower()
    return Problem(
        code=f"{word}-missing",
        message=f"The Swarm has no {word} {name}.",
        hint=f"Create it: `docker {word} create {name} FILE`.",
        field=f"{word}s/{name}",
    )
