"""Random commands, ends and crashes against the whole control: the invariants hold after every step, nothing stays."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.control.commands import jobs as commands
from berth.control.commands import stacks
from berth.control.mirror.cluster import Cluster
from berth.model.job import Job
from berth.model.lifecycle import FINISHED
from berth.model.spec import Restart
from berth.ports import Store
from berth.store import make_store
from tests.control.bench import ADMIN, Bench, bench
from tests.effort import examples

POLICIES = (
    Restart(), Restart(condition="on-failure", delay_s=1.0, max_attempts=1), Restart(condition="any", delay_s=0.5)
)  # fmt: skip
KINDS = (
    "submit", "deploy", "cancel", "requeue", "scale", "kill", "take away", "hold", "release", "remove", "change",
    "crash",
)  # fmt: skip
Step = tuple[str, int, int]
steps = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.integers(0, 4)), min_size=4, max_size=25)


class Story:
    """One run of steps; a crash leaves the database and the engine, and a new server begins on them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bench: Bench

    async def play(self, story: list[Step]) -> None:
        """Play all steps, server after server; at last cancel everything: eight cards are free."""
        engine, clock, rest = None, None, story
        while True:
            async with bench(self.store, engine, clock) as self.bench:
                engine, clock = self.bench.engine, self.bench.clock
                rest = await self._until_crash(rest)
                if not rest:
                    await self._end()
                    return

    async def _until_crash(self, story: list[Step]) -> list[Step]:
        for number, (kind, which, much) in enumerate(story):
            if kind == "crash":
                return story[number + 1 :] or [("submit", 0, 0)]
            await self._do(kind, which, much)
            if much % 2:
                await self.bench.step()
            await self._mirrors_the_store()
            self.bench.clock.pass_(0.3)
        return []

    async def _mirrors_the_store(self) -> None:
        """What a server keeps in memory is what another would load now."""
        loaded = Cluster(await self.bench.control.writer.read(lambda store: store.load()))
        assert _shown(self.bench.control.cluster) == _shown(loaded)

    async def _do(self, kind: str, which: int, much: int) -> None:
        does: dict[str, Callable[[int, int], Awaitable[object]]] = {
            "submit": self._submit, "deploy": self._deploy, "cancel": self._cancel, "requeue": self._requeue,
            "scale": self._scale, "kill": self._kill, "take away": self._take_away, "hold": self._hold,
            "release": self._release, "remove": self._remove,
            "change": self._change,
        }  # fmt: skip
        await does[kind](which, much)

    async def _submit(self, which: int, much: int) -> None:
        seconds = ("sh", "-c", f"sleep {which % 3}; exit {which % 2}") if which < 6 else ("serve",)
        await self.bench.submit(*seconds, gpus=much, restart=POLICIES[which % 3])

    async def _deploy(self, which: int, much: int) -> None:
        services = {"train": much, "serve": which % 3}
        await self.bench.deploy(f"app{which % 2}", **services)

    async def _change(self, which: int, much: int) -> None:
        await self.bench.deploy(f"app{which % 2}", gpus=1 + which % 3, train=much)

    async def _cancel(self, which: int, much: int) -> None:
        if job := self._job(which):
            await commands.cancel(self.bench.control, ADMIN, job.id)

    async def _requeue(self, which: int, much: int) -> None:
        if (job := self._job(which)) and not job.cancelled:
            await commands.requeue(self.bench.control, ADMIN, job.id)

    async def _scale(self, which: int, much: int) -> None:
        if (job := self._job(which)) and not job.cancelled and job.stack:
            await commands.scale(self.bench.control, ADMIN, job.id, much)

    async def _kill(self, which: int, much: int) -> None:
        if job := self._job(which):
            for task in self.bench.control.cluster.tasks_of(job.id)[: much + 1]:
                await self.bench.kill(task)

    async def _take_away(self, which: int, much: int) -> None:
        for job in [job for job in [self._job(which)] if job and job.stack]:
            for task in self.bench.control.cluster.tasks_of(job.id)[: much + 1]:
                await self.bench.take_away(task)

    async def _hold(self, which: int, much: int) -> None:
        job = self._job(which)
        if job and all(task.state == "waiting" for task in self.bench.control.cluster.tasks_of(job.id)):
            await commands.hold(self.bench.control, ADMIN, job.id)

    async def _release(self, which: int, much: int) -> None:
        if job := self._job(which):
            await commands.release(self.bench.control, ADMIN, job.id)

    async def _remove(self, which: int, much: int) -> None:
        if f"app{which % 2}" in self.bench.control.cluster.stacks:
            await stacks.remove(self.bench.control, ADMIN, f"app{which % 2}")

    def _job(self, which: int) -> Job | None:
        live = [self.bench.control.cluster.jobs[job_id] for job_id in self.bench.control.cluster.work.live]
        return live[which % len(live)] if live else None

    async def _end(self) -> None:
        """What can run does; then all is cancelled, ends, and leaves nothing behind."""
        bench = self.bench
        for job_id in list(bench.control.cluster.work.live):
            await commands.release(bench.control, ADMIN, job_id)
        for _ in range(12):
            await bench.step()
            bench.clock.pass_(1.0)
        self._nothing_idle()
        for job_id in list(bench.control.cluster.work.live):
            await commands.cancel(bench.control, ADMIN, job_id)
        for name in list(bench.control.cluster.stacks):
            await stacks.remove(bench.control, ADMIN, name)
        await bench.settle(12)
        assert bench.free() == 8
        assert not bench.alive()
        assert not bench.control.cluster.work.live
        assert not bench.control.cluster.ledger.grants
        assert all(task.state in FINISHED for tasks in bench.control.cluster.tasks.values() for task in tasks.values())

    def _nothing_idle(self) -> None:
        """Every slot that is wanted runs, or waits for cards that are really not there."""
        cluster = self.bench.control.cluster
        for job_id in cluster.work.live:
            job = cluster.jobs[job_id]
            for task in cluster.tasks_of(job_id):
                if task.state in ("waiting", "prepared") and not job.cancelled:
                    assert self.bench.free() < 8, f"{task.id} waits beside free cards: {cluster.waits.get(task.id)}"


def _shown(cluster: Cluster) -> dict[str, object]:
    """The rows and all that is derived from them; ended jobs that nobody asks for apart."""
    work, ledger = cluster.work, cluster.ledger
    tasks = [task for _, task in work.unfinished()]
    return {
        "jobs": {job_id: cluster.jobs[job_id] for job_id in work.live},
        "open": {task.id: task for task in tasks},
        "active": set(work.active),
        "waiting": set(work.waiting),
        "services": {name: work.services.of(name) for name in cluster.stacks},
        "superseded": work.services.superseded() & {task.job for task in tasks},
        "nodes": cluster.nodes,
        "stacks": cluster.stacks,
        "cards": ledger.cards,
        "on node": {name: set(ledger.on_node(name)) for name in cluster.nodes},
        "rooms": ledger.rooms,
        "holders": ledger.holders,
        "grants": ledger.grants,
        "booked": {name: (cluster.booked.on(name), cluster.booked.tasks[name]) for name in cluster.nodes},
    }


@settings(max_examples=examples(60), deadline=None)
@given(story=steps)
def test_any_story_on_the_memory_store_ends_with_all_cards_free(story: list[Step]) -> None:
    asyncio.run(Story(make_store("memory:")).play(story))


@pytest.mark.parametrize("seed", range(3))
def test_a_story_on_sqlite_ends_with_all_cards_free(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(max_examples=5, deadline=None, derandomize=False)
    @given(story=steps)
    def told(story: list[Step]) -> None:
        url = f"sqlite:///{tmp_path_factory.mktemp('story') / 'berth.db'}"
        asyncio.run(Story(Reopened(url)).play(story))

    told()


class Reopened:
    """A SQLite store that is made anew at each `open`, as by a new server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._store = make_store(url)

    def open(self) -> None:
        """Make it and open it."""
        self._store = make_store(self._url)
        self._store.open()

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)
