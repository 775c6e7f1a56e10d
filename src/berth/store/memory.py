"""MemoryStore: the store of the simulator and of tests, with the same rules as a database; gone with the process."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec

from berth.model.card import Card, Room, Share, room_of
from berth.model.change import (
    Batch,
    Change,
    DoubleGrant,
    DropCard,
    DropNode,
    DropStack,
    DropTask,
    DropToken,
    Give,
    Note,
    PutAttempt,
    PutCard,
    PutJob,
    PutNode,
    PutStack,
    PutTask,
    PutToken,
    Remember,
    RenameCard,
    Stale,
    Superseded,
    Take,
)
from berth.model.event import Event
from berth.model.job import Attempt, Job, Stack, Task
from berth.model.lifecycle import FINISHED
from berth.model.node import Node
from berth.model.token import Token
from berth.ports import Loaded, StoreInUse
from berth.store.journal import Journal

ENDED_LOADED = 1000


class MemoryStore:
    """`ports.Store` in dictionaries. What was committed is there again after `close` and `open` of the same object."""

    def __init__(self) -> None:
        self._opened = False
        self._epoch = 0
        self._meta: dict[str, str] = {}
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, Task] = {}
        self._slots: dict[str, dict[int, str]] = {}
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._nodes: dict[str, Node] = {}
        self._cards: dict[str, Card] = {}
        self._grants: dict[str, dict[str, Share]] = {}
        self._holders: dict[str, dict[str, Share]] = {}
        self._stacks: dict[str, Stack] = {}
        self._tokens: dict[str, Token] = {}
        self._events: dict[int, Event] = {}
        self._remembered: dict[str, Remember] = {}

    def open(self) -> None:
        """Raise the epoch."""
        if self._opened:
            raise StoreInUse("this memory store is open already")
        self._opened = True
        self._epoch = int(self._meta.get("epoch", "0")) + 1
        self._meta["epoch"] = str(self._epoch)

    def close(self) -> None:
        """Keep everything for the next `open`."""
        self._opened = False

    def commit(self, batches: Sequence[Batch]) -> list[Exception | None]:
        """Each batch is a unit; one that is refused is undone alone."""
        self._must_lead()
        return [self._unit(batch) for batch in batches]

    def load(self) -> Loaded:
        """Everything that is live."""
        ended = sorted((job for job in self._jobs.values() if job.ended_at is not None), key=_end)
        newest = {job.id for job in ended[-ENDED_LOADED:]}
        live = sorted((job for job in self._jobs.values() if job.ended_at is None), key=lambda job: (job.seq, job.id))
        jobs = [*(job for job in ended if job.id in newest or self._of_use(job)), *live]
        return Loaded(
            jobs=jobs,
            tasks=[task for job_id in sorted(job.id for job in jobs) for task in self._tasks_of(job_id)],
            nodes=[self._nodes[name] for name in sorted(self._nodes)],
            cards=[(self._cards[uuid], self._room(uuid)) for uuid in sorted(self._cards)],
            grants=[(task, held[card]) for task, held in sorted(self._grants.items()) for card in sorted(held)],
            stacks=[self._stacks[name] for name in sorted(self._stacks)],
            tokens=[self._tokens[key] for key in sorted(self._tokens)],
            last_event=self._last_event,
        )

    def events(self, after: int, limit: int, job: str = "") -> list[Event]:
        """Events after a number."""
        newer = (one for seq, one in self._events.items() if seq > after and (not job or one.job == job))
        return list(islice(newer, limit))

    def attempts(self, job: str) -> list[Attempt]:
        """Attempts of a job."""
        found = [one for one in self._attempts.values() if one.task.rpartition(".")[0] == job]
        return sorted(found, key=lambda one: (int(one.task.rpartition(".")[2]), one.attempt))

    def job(self, key: str) -> tuple[Job, list[Task]] | None:
        """A job by id."""
        return (self._jobs[key], self._tasks_of(key)) if key in self._jobs else None

    def ended_jobs(self, before: float, limit: int) -> list[tuple[Job, list[Task]]]:
        """Ended jobs, newest first."""
        found = [job for job in self._jobs.values() if job.ended_at is not None and job.ended_at < before]
        return [(job, self._tasks_of(job.id)) for job in sorted(found, key=_end, reverse=True)[:limit]]

    def find_ended(self, name: str, limit: int = 20) -> list[Job]:
        """Ended jobs of a name, newest first."""
        found = [job for job in self._jobs.values() if job.ended_at is not None and job.name == name]
        return sorted(found, key=_end, reverse=True)[:limit]

    def remembered(self, key: str) -> tuple[str, bytes] | None:
        """The answer kept for an idempotency key."""
        one = self._remembered.get(key)
        return (one.body_hash, one.response) if one is not None else None

    def meta(self, key: str) -> str | None:
        """A small fact."""
        return self._meta.get(key)

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small fact."""
        self._must_lead()
        self._meta[key] = value

    def prune(self, events_before: float, jobs_before: float, remembered_before: float) -> list[str]:
        """Forget what is old."""
        self._must_lead()
        last = self._last_event
        self._events = {seq: one for seq, one in self._events.items() if one.time >= events_before or seq == last}
        self._remembered = {key: one for key, one in self._remembered.items() if one.at >= remembered_before}
        ended = sorted((job for job in self._jobs.values() if job.ended_at is not None), key=_end)
        gone = [job.id for job in ended if _end(job)[0] < jobs_before and not self._of_use(job)]
        for job_id in gone:
            del self._jobs[job_id]
            for task_id in self._slots.pop(job_id, {}).values():
                del self._tasks[task_id]
        dropped = set(gone)
        self._attempts = {key: one for key, one in self._attempts.items() if one.task.rpartition(".")[0] not in dropped}
        return gone

    @property
    def _last_event(self) -> int:
        return next(reversed(self._events), 0)

    def _must_lead(self) -> None:
        if self._meta.get("epoch") != str(self._epoch):
            raise Superseded("another Berth has taken over the memory store")

    def _of_use(self, job: Job) -> bool:
        """True while an ended job has unfinished tasks, holds cards, or belongs to a stack that exists."""
        tasks = self._tasks_of(job.id)
        unfinished = any(task.state not in FINISHED or not task.gone or task.id in self._grants for task in tasks)
        return unfinished or job.stack in self._stacks

    def _tasks_of(self, job_id: str) -> list[Task]:
        return [self._tasks[task_id] for _, task_id in sorted(self._slots.get(job_id, {}).items())]

    def _room(self, uuid: str) -> Room:
        return room_of(self._cards[uuid], self._holders.get(uuid, {}).values())

    def _unit(self, batch: Iterable[Change]) -> Exception | None:
        journal = Journal()
        try:
            for change in batch:
                _HANDLERS[type(change)](self, journal, change)
        except (Stale, DoubleGrant) as refused:
            journal.undo()
            return refused
        return None

    def _put_job(self, journal: Journal, change: PutJob) -> None:
        _guard(self._jobs, change.job.id, change.was)
        journal.put(self._jobs, change.job.id, change.job)

    def _put_task(self, journal: Journal, change: PutTask) -> None:
        task = change.task
        _guard(self._tasks, task.id, change.was)
        if task.job not in self._jobs:
            raise Stale(f"task {task.id}: its job is not there")
        journal.put(self._tasks, task.id, task)
        journal.put(self._slots, task.job, {**self._slots.get(task.job, {}), task.slot: task.id})

    def _drop_task(self, journal: Journal, change: DropTask) -> None:
        if change.id in self._grants:
            raise Stale(f"task {change.id} holds cards")
        task = self._tasks.get(change.id)
        if task is not None:
            journal.drop(self._tasks, task.id)
            left = {slot: one for slot, one in self._slots[task.job].items() if one != task.id}
            journal.put(self._slots, task.job, left)

    def _put_attempt(self, journal: Journal, change: PutAttempt) -> None:
        journal.put(self._attempts, (change.attempt.task, change.attempt.attempt), change.attempt)

    def _put_node(self, journal: Journal, change: PutNode) -> None:
        journal.put(self._nodes, change.node.name, change.node)

    def _drop_node(self, journal: Journal, change: DropNode) -> None:
        journal.drop(self._nodes, change.name)

    def _put_card(self, journal: Journal, change: PutCard) -> None:
        journal.put(self._cards, change.card.uuid, change.card)

    def _rename_card(self, journal: Journal, change: RenameCard) -> None:
        if change.old not in self._cards:
            raise Stale(f"card {change.old} is not there")
        journal.put(self._cards, change.card.uuid, change.card)
        if change.old == change.card.uuid:
            return
        for task, share in list(self._holders.get(change.old, {}).items()):
            self._unbook(journal, task, change.old)
            self._book(journal, task, Share(change.card.uuid, share.milli, share.mib))
        journal.drop(self._cards, change.old)

    def _drop_card(self, journal: Journal, change: DropCard) -> None:
        if self._holders.get(change.uuid):
            raise Stale(f"card {change.uuid} is held")
        journal.drop(self._cards, change.uuid)

    def _take(self, journal: Journal, change: Take) -> None:
        for share in change.shares:
            card = self._cards.get(share.card)
            if card is None:
                raise DoubleGrant(f"the card is not there: {share.card}")
            mib = share.mib if card.memory_mib else 0
            if self._room(card.uuid).mib < mib:
                raise DoubleGrant(f"not that much is left of the card: {card.uuid}")
            self._book(journal, change.task, Share(card.uuid, share.milli, mib))
        if change.shares and change.task not in self._tasks:
            raise Stale(f"the task {change.task} is not there")

    def _give(self, journal: Journal, change: Give) -> None:
        held = self._grants.get(change.task, {})
        for card in list(held) if change.cards is None else [card for card in change.cards if card in held]:
            if card in self._grants.get(change.task, {}):
                self._unbook(journal, change.task, card)

    def _book(self, journal: Journal, task: str, share: Share) -> None:
        if share.card in self._grants.get(task, {}):
            raise DoubleGrant(f"task {task} holds card {share.card} already")
        if share.milli < 0 or share.mib < 0 or self._room(share.card).milli < share.milli:
            raise DoubleGrant(f"not that much is left of the card: {share.card}")
        journal.put(self._grants, task, {**self._grants.get(task, {}), share.card: share})
        journal.put(self._holders, share.card, {**self._holders.get(share.card, {}), task: share})

    def _unbook(self, journal: Journal, task: str, card: str) -> None:
        _drop_inner(journal, self._grants, task, card)
        _drop_inner(journal, self._holders, card, task)

    def _put_stack(self, journal: Journal, change: PutStack) -> None:
        journal.put(self._stacks, change.stack.name, change.stack)

    def _drop_stack(self, journal: Journal, change: DropStack) -> None:
        journal.drop(self._stacks, change.name)

    def _put_token(self, journal: Journal, change: PutToken) -> None:
        journal.put(self._tokens, change.token.id, change.token)

    def _drop_token(self, journal: Journal, change: DropToken) -> None:
        journal.drop(self._tokens, change.id)

    def _note(self, journal: Journal, change: Note) -> None:
        seq = self._last_event + 1
        journal.put(self._events, seq, msgspec.structs.replace(change.event, seq=seq))

    def _remember(self, journal: Journal, change: Remember) -> None:
        if change.key in self._remembered:
            raise Stale(f"idempotency key {change.key}: it is there already")
        journal.put(self._remembered, change.key, change)


def _guard(table: dict[str, Any], key: str, was: int | None) -> None:
    stored = table.get(key)
    if (stored.version if stored is not None else None) != was:
        raise Stale(f"{key}: it has another version, or is not there")


def _drop_inner(journal: Journal, table: dict[str, dict[str, Share]], key: str, inner: str) -> None:
    left = {name: share for name, share in table[key].items() if name != inner}
    if left:
        journal.put(table, key, left)
    else:
        journal.drop(table, key)


def _end(job: Job) -> tuple[float, str]:
    return (job.ended_at if job.ended_at is not None else 0.0, job.id)


_HANDLERS: dict[type[msgspec.Struct], Callable[[MemoryStore, Journal, Any], None]] = {
    PutJob: MemoryStore._put_job,
    PutTask: MemoryStore._put_task,
    DropTask: MemoryStore._drop_task,
    PutAttempt: MemoryStore._put_attempt,
    PutNode: MemoryStore._put_node,
    DropNode: MemoryStore._drop_node,
    PutCard: MemoryStore._put_card,
    RenameCard: MemoryStore._rename_card,
    DropCard: MemoryStore._drop_card,
    Take: MemoryStore._take,
    Give: MemoryStore._give,
    PutStack: MemoryStore._put_stack,
    DropStack: MemoryStore._drop_stack,
    PutToken: MemoryStore._put_token,
    DropToken: MemoryStore._drop_token,
    Note: MemoryStore._note,
    Remember: MemoryStore._remember,
}
