"""The tables of MemoryStore and what each change does to them; a database does the same by its schema and its rules."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from berth.model.card import Card, Room, Share, room_of
from berth.model.change import (
    Change,
    DoubleGrant,
    DropCard,
    DropFile,
    DropNode,
    DropStack,
    DropToken,
    Give,
    Note,
    PutAttempt,
    PutCard,
    PutFile,
    PutJob,
    PutNode,
    PutStack,
    PutTask,
    PutToken,
    Remember,
    RenameCard,
    Stale,
    Take,
)
from berth.model.event import Event
from berth.model.job import Attempt, Job, Stack, Task
from berth.model.node import Node
from berth.model.stored import KeptFile
from berth.model.token import Token
from berth.store.journal import Journal


class Tables:
    """Everything that is kept. `slots[job]` maps slot -> task id; `grants[task]` and `holders[card]` are one ledger
    seen from its two sides.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.tasks: dict[str, Task] = {}
        self.slots: dict[str, dict[int, str]] = {}
        self.attempts: dict[tuple[str, int], Attempt] = {}
        self.nodes: dict[str, Node] = {}
        self.cards: dict[str, Card] = {}
        self.grants: dict[str, dict[str, Share]] = {}
        self.holders: dict[str, dict[str, Share]] = {}
        self.stacks: dict[str, Stack] = {}
        self.tokens: dict[str, Token] = {}
        self.files: dict[str, KeptFile] = {}
        self.events: dict[int, Event] = {}
        self.remembered: dict[str, Remember] = {}

    @property
    def last_event(self) -> int:
        """The number of the newest event; 0 when there is none."""
        return next(reversed(self.events), 0)

    def tasks_of(self, job_id: str) -> list[Task]:
        """The tasks of a job by slot."""
        return [self.tasks[task_id] for _, task_id in sorted(self.slots.get(job_id, {}).items())]

    def room(self, uuid: str) -> Room:
        """What is left of a card."""
        return room_of(self.cards[uuid], self.holders.get(uuid, {}).values())

    def forget(self, jobs: Collection[str]) -> None:
        """Remove jobs with their tasks and attempts."""
        gone = set(jobs)
        for job_id in gone:
            del self.jobs[job_id]
            for task_id in self.slots.pop(job_id, {}).values():
                del self.tasks[task_id]
        self.attempts = {key: one for key, one in self.attempts.items() if key[0].rpartition(".")[0] not in gone}

    def apply(self, batch: Iterable[Change]) -> Exception | None:
        """All changes of the batch, or none: then Stale or DoubleGrant is returned."""
        journal = Journal()
        try:
            for change in batch:
                _HANDLERS[type(change)](self, journal, change)
        except (Stale, DoubleGrant) as refused:
            journal.undo()
            return refused
        return None

    def _put_job(self, journal: Journal, change: PutJob) -> None:
        _guard(self.jobs, change.job.id, change.was)
        journal.put(self.jobs, change.job.id, change.job)

    def _put_task(self, journal: Journal, change: PutTask) -> None:
        task = change.task
        _guard(self.tasks, task.id, change.was)
        if task.job not in self.jobs:
            raise Stale(f"task {task.id}: its job is not there")
        journal.put(self.tasks, task.id, task)
        journal.put(self.slots, task.job, {**self.slots.get(task.job, {}), task.slot: task.id})

    def _put_attempt(self, journal: Journal, change: PutAttempt) -> None:
        journal.put(self.attempts, (change.attempt.task, change.attempt.attempt), change.attempt)

    def _put_node(self, journal: Journal, change: PutNode) -> None:
        journal.put(self.nodes, change.node.name, change.node)

    def _drop_node(self, journal: Journal, change: DropNode) -> None:
        journal.drop(self.nodes, change.name)

    def _put_card(self, journal: Journal, change: PutCard) -> None:
        journal.put(self.cards, change.card.uuid, change.card)

    def _rename_card(self, journal: Journal, change: RenameCard) -> None:
        if change.old not in self.cards:
            raise Stale(f"card {change.old} is not there")
        journal.put(self.cards, change.card.uuid, change.card)
        if change.old == change.card.uuid:
            return
        for task, share in list(self.holders.get(change.old, {}).items()):
            self._unbook(journal, task, change.old)
            self._book(journal, task, Share(change.card.uuid, share.milli, share.mib))
        journal.drop(self.cards, change.old)

    def _drop_card(self, journal: Journal, change: DropCard) -> None:
        if self.holders.get(change.uuid):
            raise Stale(f"card {change.uuid} is held")
        journal.drop(self.cards, change.uuid)

    def _take(self, journal: Journal, change: Take) -> None:
        for share in change.shares:
            card = self.cards.get(share.card)
            if card is None:
                raise DoubleGrant(f"the card is not there: {share.card}")
            mib = share.mib if card.memory_mib else 0
            if self.room(card.uuid).mib < mib:
                raise DoubleGrant(f"not that much is left of the card: {card.uuid}")
            self._book(journal, change.task, Share(card.uuid, share.milli, mib))
        if change.shares and change.task not in self.tasks:
            raise Stale(f"the task {change.task} is not there")

    def _give(self, journal: Journal, change: Give) -> None:
        held = self.grants.get(change.task, {})
        for card in list(held) if change.cards is None else [card for card in change.cards if card in held]:
            if card in self.grants.get(change.task, {}):
                self._unbook(journal, change.task, card)

    def _book(self, journal: Journal, task: str, share: Share) -> None:
        if share.card in self.grants.get(task, {}):
            raise DoubleGrant(f"task {task} holds card {share.card} already")
        if share.milli < 0 or share.mib < 0 or self.room(share.card).milli < share.milli:
            raise DoubleGrant(f"not that much is left of the card: {share.card}")
        journal.put(self.grants, task, {**self.grants.get(task, {}), share.card: share})
        journal.put(self.holders, share.card, {**self.holders.get(share.card, {}), task: share})

    def _unbook(self, journal: Journal, task: str, card: str) -> None:
        _drop_inner(journal, self.grants, task, card)
        _drop_inner(journal, self.holders, card, task)

    def _put_stack(self, journal: Journal, change: PutStack) -> None:
        journal.put(self.stacks, change.stack.name, change.stack)

    def _drop_stack(self, journal: Journal, change: DropStack) -> None:
        journal.drop(self.stacks, change.name)

    def _put_token(self, journal: Journal, change: PutToken) -> None:
        journal.put(self.tokens, change.token.id, change.token)

    def _drop_token(self, journal: Journal, change: DropToken) -> None:
        journal.drop(self.tokens, change.id)

    def _put_file(self, journal: Journal, change: PutFile) -> None:
        journal.put(self.files, change.file.id, change.file)

    def _drop_file(self, journal: Journal, change: DropFile) -> None:
        journal.drop(self.files, change.id)

    def _note(self, journal: Journal, change: Note) -> None:
        seq = self.last_event + 1
        journal.put(self.events, seq, msgspec.structs.replace(change.event, seq=seq))

    def _remember(self, journal: Journal, change: Remember) -> None:
        if change.key in self.remembered:
            raise Stale(f"idempotency key {change.key}: it is there already")
        journal.put(self.remembered, change.key, change)


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


_HANDLERS: dict[type[msgspec.Struct], Callable[[Tables, Journal, Any], None]] = {
    PutJob: Tables._put_job,
    PutTask: Tables._put_task,
    PutAttempt: Tables._put_attempt,
    PutNode: Tables._put_node,
    DropNode: Tables._drop_node,
    PutCard: Tables._put_card,
    RenameCard: Tables._rename_card,
    DropCard: Tables._drop_card,
    Take: Tables._take,
    Give: Tables._give,
    PutStack: Tables._put_stack,
    DropStack: Tables._drop_stack,
    PutToken: Tables._put_token,
    DropToken: Tables._drop_token,
    PutFile: Tables._put_file,
    DropFile: Tables._drop_file,
    Note: Tables._note,
    Remember: Tables._remember,
}
