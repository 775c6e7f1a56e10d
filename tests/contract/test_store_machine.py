"""Random histories: the SQL store and the memory store refuse the same batches and are left with the same ledger."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from berth.model.card import Share, room_of
from berth.model.change import (
    Batch,
    Change,
    DropCard,
    Give,
    Note,
    PutAttempt,
    PutCard,
    PutJob,
    PutTask,
    RenameCard,
    Take,
)
from berth.model.event import Event
from berth.model.job import Attempt
from berth.ports import Loaded, Store
from berth.store.memory import MemoryStore
from berth.store.sql import SqlStore
from tests import build
from tests.effort import examples

JOBS = st.sampled_from(["a", "b", "c"])
TASKS = st.builds(lambda job, slot: f"{job}.{slot}", JOBS, st.integers(1, 2))
UUIDS = st.sampled_from(["GPU-0", "GPU-1", "GPU-2"])
VERSIONS = st.sampled_from([1, 1, 2, 3])
SLOTS = st.integers(1, 2)
WAS = st.sampled_from([None, None, 1, 2])
CARDS = st.builds(lambda uuid, mib: build.card(uuid=uuid, memory_mib=mib), UUIDS, st.sampled_from([0, 100, 200]))
SHARES = st.builds(Share, UUIDS, st.sampled_from([0, 250, 500, 1000]), st.sampled_from([0, 50, 100]))
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(lambda job, v, was: PutJob(build.job(job, version=v), was), JOBS, VERSIONS, WAS),
    st.builds(lambda job, slot, v, was: PutTask(build.task(job, slot, version=v), was), JOBS, SLOTS, VERSIONS, WAS),
    st.builds(PutCard, CARDS),
    st.builds(RenameCard, UUIDS, CARDS),
    st.builds(DropCard, UUIDS),
    st.builds(Take, TASKS, st.lists(SHARES, min_size=1, max_size=2).map(tuple)),
    st.builds(Take, TASKS, st.lists(SHARES, min_size=1, max_size=2).map(tuple)),
    st.builds(Give, TASKS, st.one_of(st.none(), st.lists(UUIDS, max_size=2).map(tuple))),
    st.builds(lambda task: PutAttempt(Attempt(task=task, attempt=1, node="n", cards=())), TASKS),
    st.just(Note(Event(kind="k", message="m"))),
)  # fmt: skip
BATCHES: st.SearchStrategy[list[Batch]] = st.lists(st.lists(CHANGES, max_size=4).map(tuple), min_size=1, max_size=5)


class Stores(RuleBasedStateMachine):
    """Both stores go through the same history, the SQL store now and then closed and opened again."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.memory: Store = MemoryStore()
        self.sql: Store = SqlStore(Path(self._folder.name) / "berth.db")
        self.memory.open()
        self.sql.open()

    @initialize()
    def begin(self) -> None:
        """Two jobs and two cards, so that most histories have something to book."""
        start: list[Batch] = [(PutJob(build.job(job)), PutTask(build.task(job))) for job in ("a", "b")]
        start.append(tuple(PutCard(build.card(uuid=uuid, memory_mib=100)) for uuid in ("GPU-0", "GPU-1")))
        assert self.memory.commit(start) == self.sql.commit(start) == [None] * 3

    @rule(batches=BATCHES)
    def commit(self, batches: list[Batch]) -> None:
        """The same batches are refused."""
        ours, theirs = self.memory.commit(batches), self.sql.commit(batches)
        assert [problem is None for problem in ours] == [problem is None for problem in theirs], (ours, theirs)

    @rule()
    def restart(self) -> None:
        """A server ends and another starts."""
        for store in (self.memory, self.sql):
            store.close()
            store.open()

    @invariant()
    def same_and_balanced(self) -> None:
        """free = whole - granted on every card, and both stores hold the same."""
        ours, theirs = _plain(self.memory.load()), _plain(self.sql.load())
        assert ours == theirs
        for card, room in self.sql.load().cards:
            assert room == room_of(card, [share for _, share in self.sql.load().grants if share.card == card.uuid])

    def teardown(self) -> None:
        """Close both."""
        self.memory.close()
        self.sql.close()
        self._folder.cleanup()


def _plain(loaded: Loaded) -> object:
    return (
        sorted(loaded.jobs, key=lambda job: job.id),
        sorted(loaded.tasks, key=lambda task: task.id),
        sorted(loaded.cards, key=lambda pair: pair[0].uuid),
        sorted((task, share.card, share.milli, share.mib) for task, share in loaded.grants),
        loaded.last_event,
    )


TestStores = Stores.TestCase
TestStores.settings = settings(
    max_examples=examples(25), stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
