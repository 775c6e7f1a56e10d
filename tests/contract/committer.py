"""A program that commits until it is killed: `python -m tests.contract.committer FILE`. Each line is a kept commit.

Commit N submits job jN, grants it one of four cards and gives back what the job four before it held.
"""

import sys
from itertools import count
from pathlib import Path

from berth.model.change import Batch, Give, Note, PutCard, PutJob, PutTask, Take
from berth.model.event import Event
from berth.store.sql import SqlStore
from tests import build

CARDS = [build.card(index=index) for index in range(4)]


def commit_number(number: int) -> list[Batch]:
    """Two batches that belong together in one commit."""
    job = f"j{number}"
    give: Batch = (Give(f"j{number - 4}.1"), Note(Event(kind="give", message=job, time=1.0)))
    take: Batch = (
        PutJob(build.job(job, name="x" * (number % 50 * 100))),
        PutTask(build.task(job)),
        Take(f"{job}.1", build.whole(CARDS[number % 4])),
        Note(Event(kind="take", message=job, time=1.0, job=job)),
    )
    return [give, take]


def main(path: Path) -> None:
    """Commit from where the file stands until the end."""
    store = SqlStore(path)
    store.open()
    store.commit([tuple(PutCard(card) for card in CARDS)])
    for number in count(store.load().last_event // 2):
        assert store.commit(commit_number(number)) == [None, None]
        print(number, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
