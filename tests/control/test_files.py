"""Secrets and configs of stacks in Berth's own store: whose they are, what another content changes, when they go."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from berth.control import files as files_of_stacks
from berth.control.bind import launch_of
from berth.control.commands import files, jobs, stacks
from berth.control.files import digested, mounted
from berth.control.own_files import OwnFiles
from berth.control.tidy import tidy
from berth.dockerapi import marking
from berth.engines.docker import wanted
from berth.engines.docker.records import Info
from berth.engines.simulated import SimulatedEngine
from berth.model import marks
from berth.model.draft import Draft, LoadedStack
from berth.model.errors import BadInput, EngineError, NotFound, Refused
from berth.model.job import Job
from berth.model.launch import Handle, Launch
from berth.model.simulate import parse_simulate
from berth.model.spec import FileRef, Restart, Rollout, TaskSpec
from berth.model.stored import Content, FileObject, NewFile, SeenFile
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
        """The content "bad" breaks a program."""
        self.mounts[f"{launch.job.service}.{launch.slot}"] = [file.content.reveal() for file in launch.files]
        if b"bad" in self.mounts["a.1"] and launch.job.service == "a":
            raise EngineError.of("start-failed", "the program ends at once.")
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
    (file,) = mounted(bench.control, job.spec)
    assert (file.target, file.content.reveal()) == ("/run/secrets/key", b"one")
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


async def bring(on: Bench, content: bytes, **fields: object) -> Job:
    """The stack again, whose service a rolls back to its last good form when it fails."""
    loaded = stack(content)
    spec = msgspec.structs.replace(
        loaded.drafts[0].spec, restart=Restart(condition="any", delay_s=1.0), update=Rollout(failure_action="rollback"),
        **fields,
    )  # fmt: skip
    drafts = (msgspec.structs.replace(loaded.drafts[0], spec=spec), loaded.drafts[1])
    (job, _) = await stacks.deploy(on.control, ANN, "st", msgspec.structs.replace(loaded, drafts=drafts))
    return job


async def play(on: Bench, seconds: int) -> None:
    """Let time pass."""
    for _ in range(seconds * 4):
        await on.step()
        on.clock.pass_(0.25)


async def test_a_rollback_brings_the_earlier_content_back(placing: tuple[Bench, Placing]) -> None:
    bench, engine = placing
    job = await bring(bench, b"good")
    await play(bench, 3)
    await bring(bench, b"bad")
    assert kept(bench) == b"bad"
    await play(bench, 30)
    now = bench.control.cluster.jobs[job.id]
    assert (now.rollout.phase if now.rollout else "", now.generation) == ("rolled-back", 1)
    assert engine.mounts["a.1"] == [b"good"]
    await bench.kill(bench.task(job))
    await play(bench, 5)
    assert engine.mounts["a.1"] == [b"good"]
    await tidy(bench.control)
    assert contents(bench) == [b"bad", b"good"]
    await bring(bench, b"good")
    await tidy(bench.control)
    assert contents(bench) == [b"good"]
    await stacks.remove(bench.control, ANN, "st")
    await bench.settle(12)
    assert bench.control.cluster.files == {}


async def test_a_slot_starts_with_command_files_and_mark_of_the_form_that_it_was_granted(
    placing: tuple[Bench, Placing],
) -> None:
    bench, _ = placing
    job = await bring(bench, b"one")
    await bench.settle()
    before = bench.control.cluster.jobs[job.id].spec
    after = await bring(bench, b"two", args=("new",))
    task = bench.task(job)
    assert (after.generation, task.generation) == (2, 1)
    launch = launch_of(bench.control, after, task)
    assert (launch.spec, [file.content.reveal() for file in launch.files]) == (before, [b"one"])
    assert marking.spec_of(marking.object_labels(launch), ()) == before
    assert wanted.container(launch, Info())["Labels"][marks.SPEC] == marking.spec_label(before)


def contents(on: Bench) -> list[bytes]:
    """All contents that are kept."""
    vault, found = on.control.vault, on.control.cluster.files.values()
    return sorted(vault.unseal(one.sealed, f"{one.kind}/{one.name}").reveal() for one in found)


async def test_a_crash_between_files_and_jobs_leaves_the_old_form_its_content(placing: tuple[Bench, Placing]) -> None:
    bench, _ = placing
    job = await bring(bench, b"one")
    new = digested(bench.control, stack(b"two").files)
    await files_of_stacks.bring(bench.control, ANN, "st", new)
    assert [file.content.reveal() for file in mounted(bench.control, job.spec)] == [b"one"]
    assert await files.secrets(bench.control) == (
        SeenFile(kind="secret", name="st_key", created_at=bench.clock.now(), user="ann", stack="st", users=("st_a",)),
    )


async def test_a_content_that_is_lost_is_told_and_not_replaced_by_another(placing: tuple[Bench, Placing]) -> None:
    bench, _ = placing
    job = await bring(bench, b"one")
    other = (FileRef(source="st_key", target="key", digest="0-0"),)
    with pytest.raises(EngineError, match="not kept any more"):
        mounted(bench.control, msgspec.structs.replace(job.spec, secrets=other))


async def test_of_two_secrets_of_one_name_one_is_created(eight: Bench) -> None:
    answers = await asyncio.gather(
        *(files.create_secret(eight.control, actor, "k", Content(actor.name.encode())) for actor in (ANN, BOB)),
        return_exceptions=True,
    )
    assert [isinstance(answer, BadInput) for answer in answers] == [False, True]
    assert (kept(eight, "k"), len(eight.control.cluster.files)) == (b"ann", 1)
    await files.remove_secret(eight.control, ANN, "k")
    assert (kept(eight, "k"), eight.control.cluster.files) == (None, {})


async def test_a_secret_that_somebody_created_during_a_deployment_stays_theirs(eight: Bench) -> None:
    new = digested(eight.control, stack(b"his", "anns").files)
    await files_of_stacks.check_files(eight.control, BOB, "st", new)
    await files.create_secret(eight.control, ANN, "anns", Content(b"hers"))
    with pytest.raises(Refused):
        await files_of_stacks.bring(eight.control, BOB, "st", new)
    creating = files.create_secret(eight.control, ANN, "other", Content(b"hers"))
    bringing = files_of_stacks.bring(eight.control, BOB, "st", digested(eight.control, stack(b"his", "other").files))
    answers = await asyncio.gather(creating, bringing, return_exceptions=True)
    assert [isinstance(answer, Refused) for answer in answers] == [False, True]
    assert (kept(eight, "anns"), kept(eight, "other")) == (b"hers", b"hers")


async def test_a_secret_to_which_a_rollback_may_go_back_is_in_use(eight: Bench) -> None:
    await files.create_secret(eight.control, ANN, "hand", Content(b"x"))
    await bring(eight, b"one", configs=(), secrets=(FileRef(source="hand", target="key"),))
    await eight.settle()
    await bring(eight, b"one", secrets=())
    with pytest.raises(Refused, match="st_a"):
        await files.remove_secret(eight.control, ANN, "hand")
    await play(eight, 30)
    await files.remove_secret(eight.control, ANN, "hand")
    assert kept(eight, "hand") is None
