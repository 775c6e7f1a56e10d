"""What is outdated is refused alone, without the store; its neighbours are kept by one transaction."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from berth.control.mirror.cluster import Cluster
from berth.control.outdated import outdated
from berth.control.writer import Writer
from berth.model.change import Batch, PutJob, PutTask, Stale
from berth.store.memory import MemoryStore
from tests import build


class CountingStore(MemoryStore):
    """Remembers what it was asked to commit."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def commit(self, batches: Sequence[Batch]) -> list[Exception | None]:
        self.asked.append(len(batches))
        return super().commit(batches)


def holding(*jobs: str) -> tuple[CountingStore, Cluster]:
    """A store with a task in each of these jobs, and its mirror."""
    store = CountingStore()
    store.open()
    assert store.commit([(PutJob(build.job(job)), PutTask(build.task(job))) for job in jobs]) == [None] * len(jobs)
    store.asked.clear()
    return store, Cluster(store.load())


def change(job: str, was: int | None = 1) -> PutTask:
    """The next version of the job's task, by somebody who has read version `was`."""
    return PutTask(build.task(job, version=(was or 0) + 1), was=was)


def test_of_two_changes_of_one_version_the_first_passes() -> None:
    _, cluster = holding("a", "b")
    refused = outdated(cluster, [(change("a"),), (change("b"),), (change("a"),), (change("a", was=2),)])
    assert [isinstance(one, Stale) for one in refused] == [False, False, True, False]


@pytest.mark.parametrize(
    ("batch", "passes"),
    [
        ((change("a", was=None),), False),
        ((change("a", was=7),), False),
        ((change("a"), change("a", was=2)), True),
        ((change("a"), change("a")), False),
        ((PutJob(build.job("a", version=2), was=1), change("a")), True),
        ((PutJob(build.job("a", version=2), was=2),), False),
        ((change("not-in-memory", was=4),), True),
        ((PutJob(build.job("new")), PutTask(build.task("new"))), True),
    ],
)
def test_a_batch_passes_when_it_knows_all_versions(batch: Batch, passes: bool) -> None:
    _, cluster = holding("a")
    assert (outdated(cluster, [batch]) == [None]) is passes


def test_a_refused_batch_leaves_no_version_behind() -> None:
    _, cluster = holding("a", "b")
    assert outdated(cluster, [(change("a"), change("b", was=9)), (change("a"),)])[1] is None


async def test_the_store_is_asked_once_and_only_for_what_may_pass() -> None:
    store, cluster = holding("a", "b")
    writer = Writer(store, cluster, lambda _: None)
    both = await asyncio.gather(
        writer.commit((change("a"),)), writer.commit((change("a"),)), writer.commit((change("b"),)),
        return_exceptions=True,
    )  # fmt: skip
    await writer.close()
    assert [type(one) for one in both] == [type(None), Stale, type(None)]
    assert store.asked == [2]
    assert [cluster.task(f"{job}.1") for job in "ab"] == [build.task(job, version=2) for job in "ab"]


async def test_a_commit_of_nothing_but_outdated_batches_asks_nobody() -> None:
    store, cluster = holding("a")
    writer = Writer(store, cluster, lambda _: None)
    with pytest.raises(Stale):
        await writer.commit((PutTask(msgspec.structs.replace(build.task("a"), version=9), was=8),))
    await writer.close()
    assert store.asked == []
