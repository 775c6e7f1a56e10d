"""Swarm's own store of secrets and configs, driven as the docker CLI drives it; `files` finds their ids for mounts."""

import base64
import contextlib
from datetime import datetime
from typing import Any

import msgspec

from berth.dockerapi import shapes
from berth.dockerapi.client import Docker, segment
from berth.model import marks
from berth.model.errors import BadInput, EngineConflict, EngineError, ObjectGone, Problem
from berth.model.stored import FileKind, NewFile, SeenFile

KINDS: tuple[FileKind, ...] = ("secret", "config")


class _Spec(msgspec.Struct, frozen=True, rename="pascal"):
    name: str
    labels: dict[str, str] | None = None
    data: str = ""


class _Version(msgspec.Struct, frozen=True, rename="pascal"):
    index: int


class _Stored(
    msgspec.Struct, frozen=True, rename={"id": "ID", "spec": "Spec", "version": "Version", "created": "CreatedAt"}
):
    id: str
    spec: _Spec
    version: _Version
    created: datetime

    @property
    def labels(self) -> dict[str, str]:
        return self.spec.labels or {}


class SwarmFiles:
    """`ports.FileStore` of one Swarm. What Berth creates there carries its user and a keyed hash of its content."""

    def __init__(self, docker: Docker) -> None:
        self._docker = docker

    async def all(self, kind: FileKind) -> tuple[SeenFile, ...]:
        """What the Swarm has, by name, with the services that mount it."""
        stored = await self._stored(kind)
        users = await self._users(kind) if stored else {}
        return tuple(
            SeenFile(
                kind=kind,
                name=name,
                labels=one.labels,
                created_at=one.created.timestamp(),
                user=one.labels.get(marks.USER, ""),
                stack=one.labels.get(marks.NAMESPACE, ""),
                users=tuple(sorted(users.get(name, ()))),
            )
            for name, one in sorted(stored.items())
        )

    async def changed(self, files: tuple[NewFile, ...]) -> tuple[Problem, ...]:
        """Files whose content differs from what is there: Swarm changes labels alone."""
        found = []
        for kind in KINDS:
            wanted = [new for new in files if new.file.kind == kind]
            there = await self._stored(kind) if wanted else {}
            found += [_fixed(new) for new in wanted if _differs(new, there.get(new.file.name))]
        return tuple(found)

    async def ensure(self, files: tuple[NewFile, ...], stack: str, user: str) -> None:
        """Bring what exists up to date first, since Swarm may refuse that; then create what is missing."""
        missing = []
        for kind in KINDS:
            wanted = [new for new in files if new.file.kind == kind]
            there = await self._stored(kind) if wanted else {}
            for new in wanted:
                one = there.get(new.file.name)
                if one is None:
                    missing.append(new)
                else:
                    await self._update(one, new, stack)
        for new in missing:
            await self._create(new, {marks.NAMESPACE: stack, marks.USER: user})

    async def create(self, new: NewFile, user: str) -> None:
        """Create one by hand. Raises BadInput when the name is taken."""
        await self._create(new, {marks.USER: user})

    async def remove(self, kind: FileKind, name: str) -> None:
        """Remove one; Swarm refuses while a service mounts it."""
        one = (await self._stored(kind)).get(name)
        if one is not None:
            await self._remove(kind, one)

    async def remove_stack(self, stack: str) -> tuple[str, ...]:
        """Remove all that carry the stack's label, as `docker stack rm` does; what other services mount stays."""
        left = []
        for kind in KINDS:
            for one in (await self._stored(kind, {"label": [f"{marks.NAMESPACE}={stack}"]})).values():
                try:
                    await self._remove(kind, one)
                except EngineError as error:
                    if "in use" not in str(error):
                        raise
                    left.append(f"{kind} {one.spec.name}")
        return tuple(left)

    async def _stored(self, kind: FileKind, filters: dict[str, list[str]] | None = None) -> dict[str, _Stored]:
        answer = await self._docker.read(f"/{kind}s", {"filters": filters or {}})
        return {one.spec.name: one for one in msgspec.json.decode(answer, type=list[_Stored])}

    async def _users(self, kind: FileKind) -> dict[str, set[str]]:
        """By name: the services that mount it."""
        key, found = kind.capitalize(), dict[str, set[str]]()
        for service in msgspec.json.decode(await self._docker.read("/services")):
            container = service["Spec"]["TaskTemplate"].get("ContainerSpec") or {}
            for ref in container.get(f"{key}s") or ():
                found.setdefault(ref[f"{key}Name"], set()).add(service["Spec"]["Name"])
        return found

    async def _create(self, new: NewFile, labels: dict[str, str]) -> None:
        body = _body(new, {**new.file.labels, **labels, marks.DIGEST: new.file.digest})
        try:
            await self._docker.send(f"/{new.file.kind}s/create", body)
        except EngineConflict as error:
            raise BadInput(_taken(new)) from error

    async def _update(self, one: _Stored, new: NewFile, stack: str) -> None:
        """Its labels, as the docker CLI does. Raises BadInput when the content is another one."""
        owner = {marks.USER: one.labels[marks.USER]} if marks.USER in one.labels else {}
        labels = {**new.file.labels, marks.NAMESPACE: stack, **owner, marks.DIGEST: new.file.digest}
        if labels == one.labels:
            return
        try:
            path = f"/{new.file.kind}s/{segment(one.id)}/update"
            await self._docker.send(path, _body(new, labels), {"version": one.version.index})
        except EngineError as error:
            if "only updates to Labels" in str(error):
                raise BadInput(_fixed(new)) from error
            raise

    async def _remove(self, kind: FileKind, one: _Stored) -> None:
        with contextlib.suppress(ObjectGone):
            await self._docker.send(f"/{kind}s/{segment(one.id)}", method="DELETE")


def _body(new: NewFile, labels: dict[str, str]) -> dict[str, Any]:
    file = new.file
    driver = {"Name": file.driver, "Options": file.driver_opts} if file.driver else None
    templating = {"Name": file.template_driver} if file.template_driver else None
    data = base64.b64encode(new.content.reveal()).decode()
    return {
        "Name": file.name,
        "Labels": {key: value for key, value in labels.items() if value or key != marks.DIGEST},
        **shapes.kept({"Data": data, "Driver": driver, "Templating": templating}),
    }


def _differs(new: NewFile, one: _Stored | None) -> bool:
    """True when it is known that the content is another one. Of a secret without a mark by the present key
    only Swarm knows.
    """
    if one is None or new.file.driver:
        return False
    there = one.labels.get(marks.DIGEST, "")
    if there and there.partition("-")[0] == new.file.digest.partition("-")[0]:
        return there != new.file.digest
    return new.file.kind == "config" and base64.b64decode(one.spec.data) != new.content.reveal()


def _fixed(new: NewFile) -> Problem:
    kind, name = new.file.kind, new.file.name
    return Problem(
        code="file-changed",
        message=f"the {kind} {name} has another content in the Swarm, where the content of a {kind} never changes.",
        hint=f"Give it a new name in the file, under its key: name: {name}_2 (or name: {name}_${{VERSION}})",
        field=new.field,
        file=new.path,
        line=new.line,
    )


def _taken(new: NewFile) -> Problem:
    kind, name = new.file.kind, new.file.name
    message, hint = f"there is a {kind} {name} already.", f"docker {kind} rm {name}, or choose another name"
    return Problem(code="file-taken", message=message, hint=hint, field="name")
