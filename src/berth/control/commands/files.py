"""Commands on secrets: create, list, remove by hand, in the engine's store or in Berth's own."""

from berth.control.context import Control
from berth.control.files import digested, name_problem, size_problem, store_of, with_users
from berth.control.permit import may_submit, must_own_file
from berth.model.errors import BadInput, NotFound, Refused
from berth.model.stored import Content, FileObject, NewFile, SeenFile
from berth.model.token import Actor


async def secrets(control: Control) -> tuple[SeenFile, ...]:
    """All secrets by name, each with the jobs and services that use it; never with its content."""
    return with_users(control, await store_of(control).all("secret"))


async def create_secret(control: Control, actor: Actor, name: str, content: Content) -> SeenFile:
    """Create a secret, which then belongs to the actor. Raises BadInput, Refused, EngineError."""
    may_submit(actor)
    wrong = [problem for problem in (name_problem("secret", name), size_problem("secret", content)) if problem]
    if wrong:
        raise BadInput(*wrong)
    (new,) = digested(control, [NewFile(file=FileObject(kind="secret", name=name), content=content)])
    async with control.filing:
        await store_of(control).create(new, actor.name)
    await control.writer.commit((control.note("secret-created", name, actor=actor.name),))
    return SeenFile(kind="secret", name=name, created_at=control.clock.now(), user=actor.name)


async def remove_secret(control: Control, actor: Actor, name: str) -> SeenFile:
    """Remove a secret of the actor's own that nothing uses. Raises NotFound, Refused, EngineError."""
    may_submit(actor)
    async with control.filing:
        found = await _removable(control, actor, name)
        await store_of(control).remove("secret", name)
    await control.writer.commit((control.note("secret-removed", name, actor=actor.name),))
    return found


async def _removable(control: Control, actor: Actor, name: str) -> SeenFile:
    found = next((one for one in await secrets(control) if one.name == name), None)
    if found is None:
        raise NotFound.of("no-such-secret", f"there is no secret {name}.", "List them: berth secret ls")
    must_own_file(actor, found)
    if found.users:
        named = ", ".join(found.users[:10])
        raise Refused.of(
            "file-in-use", f"the secret {name} is used by {named}.", f"Cancel it first: berth cancel {found.users[0]}"
        )
    return found
