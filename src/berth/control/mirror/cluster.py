"""The whole cluster in memory: a mirror of the store that changes only after a commit, and that all reads use."""

from collections import deque

import msgspec

from berth.control.mirror.booked import Booked
from berth.control.mirror.changed import Changed
from berth.control.mirror.hostports import HostPorts
from berth.control.mirror.ledger import Ledger
from berth.control.mirror.sight import Sight
from berth.control.mirror.work import Work
from berth.core.handover import waits_for_name
from berth.model.change import (
    Batch,
    Change,
    DropCard,
    DropFile,
    DropNode,
    DropStack,
    DropToken,
    Give,
    Note,
    PutCard,
    PutFile,
    PutJob,
    PutNode,
    PutStack,
    PutTask,
    PutToken,
    RenameCard,
    Take,
)
from berth.model.event import Event
from berth.model.job import Job, Stack, Task
from berth.model.node import Node
from berth.model.plan import Wait
from berth.model.stored import KeptFile
from berth.model.token import Token
from berth.ports import Loaded

EVENTS_KEPT = 2000


class Cluster:
    """The rows of the store by their keys, and what is derived from them as they change.

    `ledger` says who holds what of which card, `work` which jobs and tasks are live, open or waiting, `booked` what is
    reserved of each node, `ports` which host ports are taken.
    Two things are not in the store: `sight`, what the last look at the engine showed, and
    `waits`, what the last decision said about each task that waits. `cards`, `jobs` and `tasks` are the rows of
    `ledger` and `work`. `events` are the newest ones.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.changed = Changed()
        self.nodes: dict[str, Node] = {}
        self.stacks: dict[str, Stack] = {stack.name: stack for stack in loaded.stacks}
        self.tokens: dict[str, Token] = {token.hash: token for token in loaded.tokens}
        self.files: dict[str, KeptFile] = {file.id: file for file in loaded.files}
        self.ledger = Ledger(self.changed)
        self.work = Work(self.ledger.grants, self.stacks, self.changed)
        self.booked = Booked(self.changed)
        self.ports = HostPorts(self.nodes, self.changed)
        self.sight = Sight()
        self.waits: dict[str, Wait] = {}
        self.events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self.last_event = loaded.last_event
        self.cards, self.jobs, self.tasks = self.ledger.cards, self.work.jobs, self.work.tasks
        self._load(loaded)

    def _load(self, loaded: Loaded) -> None:
        for node in loaded.nodes:
            self._put_node(node)
        self.ledger.load(loaded.cards, loaded.grants)
        for job in loaded.jobs:
            self.work.put_job(job)
        for task in loaded.tasks:
            self._put_task(task)

    def task(self, task_id: str) -> Task | None:
        """The task of this id (`JOB.SLOT`), or None."""
        return self.work.task(task_id)

    def tasks_of(self, job_id: str) -> tuple[Task, ...]:
        """The tasks of a job by slot."""
        return self.work.tasks_of(job_id)

    def name_held(self, job: Job, slot: int) -> bool:
        """True while something of an earlier job of the same service, or of the service that is being taken over, is
        left that has the slot's name on the engine.
        """
        if waits_for_name(job, slot):
            return True
        earlier = self.work.services.before(job)
        return any(self.sight.has_name_of(one, slot, self.work.open) for one in earlier)

    def apply(self, batch: Batch) -> None:
        """Repeat in memory what the store has committed."""
        for change in batch:
            self._apply(change)

    def _apply(self, change: Change) -> None:
        match change:
            case PutTask(task=task):
                self._put_task(task)
            case Note(event=event):
                self._note(event)
            case PutJob(job=job):
                self.work.put_job(job)
            case Take(task=task_id, shares=shares):
                self.ledger.take(task_id, shares)
                self.work.regranted(task_id)
            case Give(task=task_id, cards=cards):
                self.ledger.give(task_id, cards)
                self.work.regranted(task_id)
            case PutNode(node=node):
                self._put_node(node)
            case DropNode(name=name):
                self._drop_node(name)
            case PutCard(card=card):
                self.ledger.put_card(card)
            case RenameCard(old=old, card=card):
                self.ledger.rename_card(old, card)
            case DropCard(uuid=uuid):
                self.ledger.drop_card(uuid)
            case PutStack() | DropStack() | PutToken() | DropToken():
                self._apply_name(change)
            case PutFile(file=file):
                self.files[file.id] = file
            case DropFile(id=file_id):
                self.files.pop(file_id, None)
            case _:
                pass  # attempts and remembered answers are read from the store only

    def _apply_name(self, change: PutStack | DropStack | PutToken | DropToken) -> None:
        match change:
            case PutStack(stack=stack):
                self.stacks[stack.name] = stack
            case DropStack(name=name):
                self.stacks.pop(name, None)
            case PutToken(token=token):
                self.tokens[token.hash] = token
            case DropToken(id=token_id):
                self.tokens = {key: token for key, token in self.tokens.items() if token.id != token_id}
        self.changed.mark("jobs" if isinstance(change, PutStack | DropStack) else "tokens")

    def _put_task(self, task: Task) -> None:
        self.work.put_task(task)
        if task.id not in self.work.waiting:
            self.waits.pop(task.id, None)
        self.booked.put_task(task, self.jobs.get(task.job))
        self.ports.put_task(task, self.jobs.get(task.job))

    def _put_node(self, node: Node) -> None:
        old = self.nodes.get(node.name)
        self.nodes[node.name] = node
        self.changed.mark_nodes(node.name)
        if old is None or old.state != node.state:
            self.changed.mark("cards")
        if old != node:
            self.changed.mark("nodes")

    def _drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.changed.mark_nodes(name)
        self.changed.mark("nodes", "cards")

    def _note(self, event: Event) -> None:
        self.last_event += 1
        self.events.append(msgspec.structs.replace(event, seq=self.last_event))
        self.changed.mark("events")
