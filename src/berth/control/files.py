"""Secrets and configs for the commands: the engine's own store, or Berth's where the engine has none (encrypted).

Stacks ask here before they create anything; bind takes from here what a container gets mounted.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from berth.control.context import Control
from berth.control.own_files import OwnFiles, refs, used_by
from berth.control.permit import must_own_file
from berth.model.draft import Draft
from berth.model.errors import BadInput, EngineError, Problem, Refused
from berth.model.spec import FileRef, TaskSpec
from berth.model.stored import MOST_BYTES, Content, FileKind, FileObject, NewFile, PlacedFile, SeenFile, place_of
from berth.model.token import Actor
from berth.ports import FileStore

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
"""Swarm's rule for names of secrets and configs."""
Coming = frozenset[tuple[FileKind, str]]


def store_of(control: Control) -> FileStore:
    """The engine's store, or Berth's own."""
    return control.engine.files or OwnFiles(control)


def digested(control: Control, files: Iterable[NewFile]) -> tuple[NewFile, ...]:
    """The files that are to be created, each with the digest of its content."""
    return tuple(
        msgspec.structs.replace(new, file=_with_digest(control, new)) for new in files if not new.file.external
    )


def with_digests(drafts: Iterable[Draft], files: Iterable[NewFile]) -> tuple[Draft, ...]:
    """The drafts with the digest of every file of the stack that they mount: another content is another spec."""
    known = {(new.file.kind, new.file.name): new.file.digest for new in files}
    return tuple(msgspec.structs.replace(draft, spec=_mounting(draft.spec, known)) for draft in drafts)


async def check_files(control: Control, actor: Actor, stack: str, files: tuple[NewFile, ...]) -> None:
    """Raise BadInput or Refused for files that cannot be created or brought up to date; nothing is written."""
    if not files:
        return
    wrong = [problem for new in files for problem in _unfit(new)]
    if control.engine.files is None:
        wrong += [_swarms_own(new) for new in files if new.file.driver or new.file.template_driver]
    if wrong:
        raise BadInput(*wrong)
    await _check_owners(control, actor, stack, files)
    changed = await store_of(control).changed(files)
    if changed:
        raise BadInput(*changed)


async def bring(control: Control, actor: Actor, stack: str, files: tuple[NewFile, ...]) -> None:
    """Create the files of a stack, or bring them up to date. Raises Refused when a name is somebody else's by now."""
    if files:
        async with control.filing:
            await _check_owners(control, actor, stack, files)
            await store_of(control).ensure(files, stack, actor.name)


def missing(control: Control, spec: TaskSpec) -> tuple[Problem, ...]:
    """Secrets and configs that the spec mounts and Berth's own store lacks; nothing where the engine has its own."""
    if not _mounted_by_berth(control):
        return ()
    known = {(one.kind, one.name) for one in control.cluster.files.values() if not one.former}
    return tuple(_missing(kind, ref.source) for kind, ref in refs(spec) if (kind, ref.source) not in known)


def _mounted_by_berth(control: Control) -> bool:
    """False where the engine has its own store, and where nothing is mounted since nothing runs for real."""
    return control.engine.files is None and control.engine.capabilities.images


def without(spec: TaskSpec, coming: Coming) -> TaskSpec:
    """The spec without the files that are about to be created: all others must be there already."""
    if not coming or not (spec.secrets or spec.configs):
        return spec
    return msgspec.structs.replace(
        spec,
        secrets=tuple(ref for ref in spec.secrets if ("secret", ref.source) not in coming),
        configs=tuple(ref for ref in spec.configs if ("config", ref.source) not in coming),
    )


def mounted(control: Control, spec: TaskSpec) -> tuple[PlacedFile, ...]:
    """What a container of this form gets mounted, opened. Raises EngineError for what is missing or unreadable."""
    if not _mounted_by_berth(control) or not (spec.secrets or spec.configs):
        return ()
    own = OwnFiles(control)
    return tuple(_opened(own, kind, ref) for kind, ref in refs(spec))


def with_users(control: Control, found: Iterable[SeenFile]) -> tuple[SeenFile, ...]:
    """The files with all that uses them: jobs that have not ended, and what the engine knows of."""
    used = used_by(control)
    return tuple(
        msgspec.structs.replace(one, users=tuple(sorted({*one.users, *used.get((one.kind, one.name), ())})))
        for one in found
    )


def name_problem(kind: FileKind, name: str) -> Problem | None:
    """What is wrong with a name, by Swarm's rule."""
    if NAME.fullmatch(name):
        return None
    message = f"'{name[:80]}' cannot name a {kind}: letters, digits, '.', '-' and '_', at most 64."
    tidy = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("._-")[:64] or f"my-{kind}"
    return Problem(code="file-name", message=message, hint=f"Write {tidy}", field="name")


def size_problem(kind: FileKind, content: Content) -> Problem | None:
    """What is wrong with the size of a content, by Swarm's limits."""
    most, size = MOST_BYTES[kind], len(content)
    if 0 < size <= most:
        return None
    said = "is empty" if not size else f"has {size} bytes; a {kind} has at most {most} ({most // 1024} KiB)"
    return Problem(code="file-size", message=f"the {kind} {said}.", hint="Put large files into a volume", field="file")


async def _check_owners(control: Control, actor: Actor, stack: str, files: tuple[NewFile, ...]) -> None:
    for kind in sorted({new.file.kind for new in files}):
        there = {seen.name: seen for seen in await store_of(control).all(kind)}
        for new in files:
            seen = there.get(new.file.name) if new.file.kind == kind else None
            if seen is not None and seen.stack != stack:
                must_own_file(actor, seen)


def _unfit(new: NewFile) -> list[Problem]:
    kind, found = new.file.kind, []
    for problem in (
        name_problem(kind, new.file.name),
        None if new.file.driver else size_problem(kind, new.content),
    ):
        if problem is not None:
            message = f"{new.file.name}: {problem.message}"
            found.append(
                msgspec.structs.replace(problem, message=message, field=new.field, file=new.path, line=new.line)
            )
    return found


def _swarms_own(new: NewFile) -> Problem:
    return Problem(
        code="secret-driver",
        message=f"{new.file.name}: driver and template_driver are Swarm's own, and this is no Swarm.",
        hint="Write file: PATH instead",
        field=new.field,
        file=new.path,
        line=new.line,
    )


def _with_digest(control: Control, new: NewFile) -> FileObject:
    return msgspec.structs.replace(new.file, digest=control.vault.digest(new.content))


def _mounting(spec: TaskSpec, known: dict[tuple[FileKind, str], str]) -> TaskSpec:
    def marked(kind: FileKind, found: Sequence[FileRef]) -> tuple[FileRef, ...]:
        return tuple(msgspec.structs.replace(ref, digest=known.get((kind, ref.source), "")) for ref in found)

    return msgspec.structs.replace(spec, secrets=marked("secret", spec.secrets), configs=marked("config", spec.configs))


def _opened(own: OwnFiles, kind: FileKind, ref: FileRef) -> PlacedFile:
    try:
        content = own.open(kind, ref.source, ref.digest)
    except Refused as error:
        raise EngineError(*error.problems) from error
    if content is None:
        raise EngineError(_lost(kind, ref.source) if ref.digest else _missing(kind, ref.source))
    target = place_of(kind, ref.target)
    return PlacedFile(target=target, uid=int(ref.uid), gid=int(ref.gid), mode=ref.mode, content=content)


def _missing(kind: FileKind, name: str) -> Problem:
    hint = f"Create it: berth secret create {name} FILE" if kind == "secret" else "Declare it with file: PATH"
    return Problem(code=f"{kind}-missing", message=f"there is no {kind} {name}.", hint=hint, field=f"{kind}s/{name}")


def _lost(kind: FileKind, name: str) -> Problem:
    message = f"the content of the {kind} {name} that this form was deployed with is not kept any more."
    return Problem(code=f"{kind}-missing", message=message, hint="Deploy the stack again", field=f"{kind}s/{name}")
