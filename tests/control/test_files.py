"""Secrets and configs of stacks in Berth's own store: whose they are, what another content changes, when they go."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from berth.control.commands import files, jobs, stacks
from berth.control.files import mounted
from berth.control.own_files import OwnFiles
from berth.engines.simulated import SimulatedEngine
from berth.model.draft import Draft, LoadedStack
from berth.model.errors import BadInput, EngineError, NotFound, Refused
from berth.model.launch import Handle, Launch
from berth.model.simulate import parse_simulate
from berth.model.spec import FileRef, TaskSpec
from berth.model.stored import Content, FileObject, NewFile
from berth.model.token import Actor
from berth.store import make_store
from berth.vault import AesVault
from tests.control.bench import ADMIN, FOREVER, SPEC, Bench, StepClock, bench

ANN, BOB = Actor(name="ann", role="user"), Actor(name="bob", role="user")


@pytest.fixture
async def eight() -> AsyncIterator[Bench]:
    """A server with eight free cards."""
    async with bench(make_store("memory:")) as found:
        yield found


def stack(content: bytes, name: str = "st_key", **service: object) -> LoadedStack:
    """A stack of which the service a mounts the secret and b does not."""
    spec = TaskSpec(image="x", command=FOREVER)
    mounting = msgspec.structs.replace(spec, secrets=(FileRef(source=name, target="key"),))
    drafts = tuple(Draft(name=f"st_{one}", service=one, spec=has) for one, has in (("a", mounting), ("b", spec)))
    new = NewFile(file=FileObject(kind="secret", name=name, **service), content=Content(content))  # type: ignore[arg-type]
    return LoadedStack(drafts=drafts, files=(new,))


def kept(bench: Bench, name: str = "st_key") -> bytes | None:
    """The content in Berth's store."""
    content = OwnFiles(bench.control).open("secret", name)
    return None if content is None else content.reveal()


async def test_another_content_updates_the_services_that_mount_it_and_no_other(eight: Bench) -> None:
    first = {job.service: job for job in await stacks.deploy(eight.control, ANN, "st", stack(b"one"))}
    await eight.settle()
    same = {job.service: job for job in await stacks.deploy(eight.control, ANN, "st", stack(b"one"))}
    assert [same[one].generation for one in "ab"] == [first[one].generation for one in "ab"] == [1, 1]
    changed = {job.service: job for job in await stacks.deploy(eight.control, ANN, "st", stack(b"two"))}
    assert [changed[one].generation for one in "ab"] == [2, 1]
    assert kept(eight) == b"two"


async def test_a_stack_takes_nobodys_secret(eight: Bench) -> None:
    await files.create_secret(eight.control, ANN, "anns", Content(b"hers"))
    with pytest.raises(Refused):
        await stacks.deploy(eight.control, BOB, "st", stack(b"his", "anns"))
    with pytest.raises(Refused):
        await stacks.plan_stack(eight.control, BOB, "st", stack(b"his", "anns"))
    assert kept(eight, "anns") == b"hers"
    assert "st" not in eight.control.cluster.stacks


async def test_names_and_sizes_are_swarms(eight: Bench) -> None:
    for wrong in (stack(b""), stack(b"x" * 512_001), stack(b"x", "a" * 65), stack(b"x", "-a")):
        with pytest.raises(BadInput):
            await stacks.deploy(eight.control, ANN, "st", wrong)
    with pytest.raises(BadInput) as caught:
        await stacks.deploy(eight.control, ANN, "st", stack(b"", template_driver="golang", driver="vault"))
    assert [problem.code for problem in caught.value.problems] == ["secret-driver"]
    assert eight.control.cluster.files == {}


async def test_secrets_go_with_their_stack_but_not_from_under_others(eight: Bench) -> None:
    await stacks.deploy(eight.control, ANN, "st", stack(b"one"))
    other = TaskSpec(image="x", command=FOREVER, secrets=(FileRef(source="st_key", target="key"),))
    (job,) = await jobs.submit(eight.control, BOB, [Draft(name="other", spec=other)])
    await eight.settle()
    assert [one.users for one in await files.secrets(eight.control)] == [("other", "st_a")]
    await stacks.remove(eight.control, ANN, "st")
    await eight.settle(12)
    assert "st" not in eight.control.cluster.stacks
    assert (kept(eight), await eight.events("left-in-use")) == (b"one", 1)
    with pytest.raises(Refused):
        await files.remove_secret(eight.control, ANN, "st_key")
    await jobs.cancel(eight.control, BOB, job.id)
    await eight.settle(12)
    await files.remove_secret(eight.control, ANN, "st_key")
    assert kept(eight) is None
    with pytest.raises(NotFound):
        await files.remove_secret(eight.control, ANN, "st_key")


async def test_prune_cancels_what_the_file_no_longer_names(eight: Bench) -> None:
    await stacks.deploy(eight.control, ADMIN, "st", stack(b"one"))
    await eight.settle()
    less = stack(b"one")
    less = msgspec.structs.replace(less, drafts=less.drafts[1:])
    assert [job.service for job in stacks.left_behind(eight.control, "st", less)] == ["a"]
    plan = await stacks.plan_stack(eight.control, ADMIN, "st", less, prune=True)
    assert [(one.name, one.change) for one in plan.jobs] == [("st_b", "keep"), ("st_a", "remove")]
    await stacks.deploy(eight.control, ADMIN, "st", less)
    await eight.settle()
    assert len(eight.alive()) == 2
    await stacks.deploy(eight.control, ADMIN, "st", less, prune=True)
    await eight.settle(12)
    assert [run.task.partition(".")[0] for run in eight.alive()] == [
        job.id for job in eight.control.cluster.jobs.values() if job.service == "b"
    ]
    assert kept(eight) == b"one"


class Placing(SimulatedEngine):
    """Runs containers for real as far as control can tell: they get their files mounted, which it remembers by slot."""

    capabilities = msgspec.structs.replace(SimulatedEngine.capabilities, images=True)

    def __init__(self, clock: StepClock) -> None:
        super().__init__(parse_simulate(SPEC), clock)
        self.mounts: dict[str, list[bytes]] = {}

    async def start(self, launch: Launch) -> Handle:
        self.mounts[f"{launch.job.service}.{launch.slot}"] = [file.content.reveal() for file in launch.files]
        return await super().start(launch)


@pytest.fixture
async def placing() -> AsyncIterator[tuple[Bench, Placing]]:
    """A server whose engine has no store of its own and mounts files."""
    clock = StepClock()
    engine = Placing(clock)
    async with bench(make_store("memory:"), engine, clock) as found:
        yield found, engine


async def test_what_cannot_be_opened_is_told_and_a_fault_of_ours_is_not_hidden(
    placing: tuple[Bench, Placing],
) -> None:
    bench, _ = placing
    (job, _) = await stacks.deploy(bench.control, ANN, "st", stack(b"one"))
    assert [file.content.reveal() for file in mounted(bench.control, job.spec)] == [b"one"]
    bench.control.vault = AesVault(bytes([1] * 32))
    with pytest.raises(EngineError) as caught:
        mounted(bench.control, job.spec)
    assert [problem.code for problem in caught.value.problems] == ["secret-unreadable"]
    bench.control.vault = Interrupted(bytes(32))
    with pytest.raises(KeyboardInterrupt):
        mounted(bench.control, job.spec)


class Interrupted(AesVault):
    """A person ends the server while it opens something."""

    def unseal(self, sealed: bytes, name: str) -> Content:
        raise KeyboardInterrupt
