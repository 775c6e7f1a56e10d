"""Berth's own store of secrets and configs, for engines that have none: encrypted, in its database.

control/files hands it out as the store that commands ask, and opens here what a container gets mounted; control/tidy
forgets here what nothing needs any more. Of each name one content is the present one; an earlier one is kept beside it
for as long as a job runs the form that has it, or may go back to it.
"""

from collections.abc import Iterable

import msgspec

from berth.control.context import Control
from berth.model.change import Batch, DropFile, PutFile
from berth.model.errors import BadInput, Problem
from berth.model.job import Job
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
        """Keep what is new or different; a content that is replaced stays beside it, until `forget_former`."""
        await self._control.writer.commit(*(self._brought(new, stack, user) for new in files))

    async def create(self, new: NewFile, user: str) -> None:
        """Keep one. Raises BadInput when the name is taken."""
        if self._named(new.file.kind, new.file.name) is not None:
            raise taken(new.file.kind, new.file.name)
        await self._control.writer.commit((PutFile(self._sealed(new, user, "")),))

    async def remove(self, kind: FileKind, name: str) -> None:
        """Forget one, with its earlier contents."""
        await self._control.writer.commit(tuple(DropFile(one.id) for one in self._contents(kind, name)))

    async def remove_stack(self, stack: str) -> tuple[str, ...]:
        """Forget what a stack created; what a job outside of it mounts stays."""
        used = used_by(self._control)
        ours = [one for one in self._control.cluster.files.values() if one.stack == stack]
        await self._control.writer.commit(
            tuple(DropFile(one.id) for one in ours if (one.kind, one.name) not in used),
        )
        return tuple(f"{one.kind} {one.name}" for one in ours if (one.kind, one.name) in used and not one.former)

    def open(self, kind: FileKind, name: str, digest: str = "") -> Content | None:
        """The content of this digest ("": the present one); None when it is not there.

        Raises Refused when the key is another one.
        """
        found = (one for one in self._contents(kind, name) if (one.digest == digest if digest else not one.former))
        kept = next(found, None)
        return None if kept is None else self._control.vault.unseal(kept.sealed, _key(kind, name))

    def _brought(self, new: NewFile, stack: str, user: str) -> Batch:
        before, made = self._named(new.file.kind, new.file.name), self._sealed(new, user, stack)
        if before is None:
            return (PutFile(made),)
        if (before.digest, before.labels, before.stack) == (made.digest, made.labels, made.stack):
            return ()
        now = PutFile(msgspec.structs.replace(made, id=before.id, user=before.user, created_at=before.created_at))
        if before.digest == made.digest:
            return (now,)
        was = PutFile(msgspec.structs.replace(before, id=_former_key(before, before.digest), former=True))
        return (was, now, DropFile(_former_key(before, made.digest)))

    def _sealed(self, new: NewFile, user: str, stack: str) -> KeptFile:
        vault, file = self._control.vault, new.file
        return KeptFile(
            id=_key(file.kind, file.name),
            kind=file.kind,
            name=file.name,
            sealed=vault.seal(new.content, _key(file.kind, file.name)),
            digest=vault.digest(new.content),
            size=len(new.content),
            user=user,
            stack=stack,
            labels=file.labels,
            created_at=self._control.clock.now(),
        )

    def _kept(self, kind: FileKind) -> Iterable[KeptFile]:
        return (one for one in self._control.cluster.files.values() if one.kind == kind and not one.former)

    def _named(self, kind: FileKind, name: str) -> KeptFile | None:
        return next((one for one in self._contents(kind, name) if not one.former), None)

    def _contents(self, kind: FileKind, name: str) -> Iterable[KeptFile]:
        return (one for one in self._control.cluster.files.values() if (one.kind, one.name) == (kind, name))


async def forget_former(control: Control) -> None:
    """Forget the earlier contents that no form of a live job has any more."""
    jobs = (control.cluster.jobs[job_id] for job_id in control.cluster.work.live)
    named = {(kind, ref.source, ref.digest) for job in jobs for kind, ref in _mounts(job)}
    former = (one for one in control.cluster.files.values() if one.former)
    await control.writer.commit(
        tuple(DropFile(one.id) for one in former if (one.kind, one.name, one.digest) not in named)
    )


def refs(spec: TaskSpec) -> list[tuple[FileKind, FileRef]]:
    """What a spec mounts, secrets first."""
    return [*(("secret", ref) for ref in spec.secrets), *(("config", ref) for ref in spec.configs)]


def used_by(control: Control) -> dict[tuple[FileKind, str], set[str]]:
    """By kind and name: the jobs that have not ended and mount it, or would if they went back to an earlier form."""
    used: dict[tuple[FileKind, str], set[str]] = {}
    for job_id in control.cluster.work.live:
        job = control.cluster.jobs[job_id]
        for kind, ref in _mounts(job):
            used.setdefault((kind, ref.source), set()).add(job.name)
    return used


def taken(kind: FileKind, name: str) -> BadInput:
    """The name is in use."""
    hint = f"berth {kind} rm {name}, or choose another name"
    return BadInput(Problem(code="file-taken", message=f"there is a {kind} {name} already.", hint=hint, field="name"))


def _mounts(job: Job) -> Iterable[tuple[FileKind, FileRef]]:
    """What the job mounts in its present form and in those that a slot still runs or a rollback goes to."""
    earlier = job.rollout.earlier if job.rollout is not None else ()
    return (mount for spec in (job.spec, *(one.spec for one in earlier)) for mount in refs(spec))


def _key(kind: FileKind, name: str) -> str:
    """The id of the present content, so that there is one of each name; it is also what the content is sealed for."""
    return f"{kind}/{name}"


def _former_key(file: KeptFile, digest: str) -> str:
    return f"{_key(file.kind, file.name)}@{digest}"
