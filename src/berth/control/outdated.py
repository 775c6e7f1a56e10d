"""Refuses, before the writer asks the store, what the mirror shows to be outdated: it would undo the whole commit.

Two passes often change one task in the same moment. The store finds that, too, and has the last word; but it undoes
the transaction for it and tries again by halves, at the cost of many commits.
"""

from collections.abc import Sequence

from berth.control.mirror.cluster import Cluster
from berth.model.change import Batch, PutJob, PutTask, Stale


def outdated(cluster: Cluster, batches: Sequence[Batch]) -> list[Stale | None]:
    """For each batch of one commit, in order: why it is refused, or None. What the mirror does not know passes."""
    coming: dict[str, int] = {}
    return [_refused(cluster, batch, coming) for batch in batches]


def _refused(cluster: Cluster, batch: Batch, coming: dict[str, int]) -> Stale | None:
    """`coming` are the versions that the batches before leave behind; this one adds its own where it passes."""
    mine: dict[str, int] = {}
    for change in batch:
        if isinstance(change, PutTask | PutJob):
            new = change.task if isinstance(change, PutTask) else change.job
            known = mine.get(new.id, coming.get(new.id, _version(cluster, new.id)))
            if known is not None and known != change.was:
                return Stale(f"{new.id}: it has another version")
            mine[new.id] = new.version
    coming.update(mine)
    return None


def _version(cluster: Cluster, key: str) -> int | None:
    found = cluster.task(key) or cluster.jobs.get(key)
    return found.version if found is not None else None
