"""Berth's own store of secrets and configs, for engines that have none: encrypted, in its database.

control/files hands it out as the store that commands ask; what a container gets mounted is opened here.
"""

import secrets
from collections.abc import Iterable

import msgspec

from berth.control.context import Control
from berth.model.change import DropFile, PutFile
from berth.model.errors import BadInput, Problem
from berth.model.spec import FileRef, TaskSpec
from berth.model.stored import Content, FileKind, KeptFile, NewFile, SeenFile


class OwnFiles:
    """`ports.FileStore` in Berth's own database, for engines that have no store; what it keeps is encrypted."""

    def __init__(self, control: Control) -> None:
        self._control = control

    async def all(self, kind: FileKind) -> tuple[SeenFile, ...]:
        """What is kept, by name."""
        kept = sorted(self._kept(kind), key=lambda one: one.name)
        return tuple(
            SeenFile(kind=kind, name=one.name, labels=one.labels, created_at=one.created_at, user=one.user,
                     stack=one.stack) for one in kept
        )  # fmt: skip

    async def changed(self, files: tuple[NewFile, ...]) -> tuple[Problem, ...]:  # noqa: ARG002 - may all be replaced
        """Nothing: another content replaces the one that is kept, and the services that mount it are updated."""
        return ()

    async def ensure(self, files: tuple[NewFile, ...], stack: str, user: str) -> None:
        """Keep what is new or different."""
        changes = []
        for new in files:
            before, made = self._named(new.file.kind, new.file.name), self._sealed(new, user, stack)
            if before is None:
                changes.append(PutFile(made))
            elif (before.digest, before.labels, before.stack) != (made.digest, made.labels, made.stack):
                changes.append(
                    PutFile(msgspec.structs.replace(made, id=before.id, user=before.user, created_at=before.created_at))
                )
        if changes:
            await self._control.writer.commit(tuple(changes))

    async def create(self, new: NewFile, user: str) -> None:
        """Keep one. Raises BadInput when the name is taken."""
        if self._named(new.file.kind, new.file.name) is not None:
            raise taken(new.file.kind, new.file.name)
        await self._control.writer.commit((PutFile(self._sealed(new, user, "")),))

    async def remove(self, kind: FileKind, name: str) -> None:
        """Forget one."""
        kept = self._named(kind, name)
        if kept is not None:
            await self._control.writer.commit((DropFile(kept.id),))

    async def remove_stack(self, stack: str) -> tuple[str, ...]:
        """Forget what a stack created; what a job outside of it mounts stays."""
        used = used_by(self._control)
        ours = [one for one in self._control.cluster.files.values() if one.stack == stack]
        changes = tuple(DropFile(one.id) for one in ours if (one.kind, one.name) not in used)
        if changes:
            await self._control.writer.commit(changes)
        return tuple(f"{one.kind} {one.name}" for one in ours if (one.kind, one.name) in used)

    def open(self, kind: FileKind, name: str) -> Content | None:
        """The content of one; None when it is not there. Raises Refused when the key is another one."""
        kept = self._named(kind, name)
        return None if kept is None else self._control.vault.unseal(kept.sealed, _sealed_as(kind, name))

    def _sealed(self, new: NewFile, user: str, stack: str) -> KeptFile:
        vault, file = self._control.vault, new.file
        return KeptFile(
            id=secrets.token_hex(8),
            kind=file.kind,
            name=file.name,
            sealed=vault.seal(new.content, _sealed_as(file.kind, file.name)),
            digest=vault.digest(new.content),
            size=len(new.content),
            user=user,
            stack=stack,
            labels=file.labels,
            created_at=self._control.clock.now(),
        )

    def _kept(self, kind: FileKind) -> Iterable[KeptFile]:
        return (one for one in self._control.cluster.files.values() if one.kind == kind)

    def _named(self, kind: FileKind, name: str) -> KeptFile | None:
        return next((one for one in self._kept(kind) if one.name == name), None)


def refs(spec: TaskSpec) -> list[tuple[FileKind, FileRef]]:
    """What a spec mounts, secrets first."""
    return [*(("secret", ref) for ref in spec.secrets), *(("config", ref) for ref in spec.configs)]


def used_by(control: Control) -> dict[tuple[FileKind, str], set[str]]:
    """By kind and name: the jobs that have not ended and mount it."""
    used: dict[tuple[FileKind, str], set[str]] = {}
    for job_id in control.cluster.work.live:
        job = control.cluster.jobs[job_id]
        for kind, ref in refs(job.spec):
            used.setdefault((kind, ref.source), set()).add(job.name)
    return used


def taken(kind: FileKind, name: str) -> BadInput:
    """The name is in use."""
    hint = f"berth {kind} rm {name}, or choose another name"
    return BadInput(Problem(code="file-taken", message=f"there is a {kind} {name} already.", hint=hint, field="name"))


def _sealed_as(kind: FileKind, name: str) -> str:
    return f"{kind}/{name}"
