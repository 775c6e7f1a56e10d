"""The whole cluster in memory: a mirror of the store that changes only after a commit, and that all reads use."""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from itertools import takewhile

import msgspec

from berth.model.card import Card, Room, Share, room_of
from berth.model.change import (
    Batch,
    Change,
    DropCard,
    DropNode,
    DropStack,
    DropTask,
    DropToken,
    Give,
    Note,
    PutCard,
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
from berth.model.lifecycle import FINISHED, OCCUPYING, QUEUED
from berth.model.node import Node
from berth.model.plan import Wait
from berth.model.seen import Life
from berth.model.token import Token
from berth.ports import Loaded

ENDED_KEPT = 1000
"""How many ended jobs stay in memory; older ones are read from the store."""
EVENTS_KEPT = 2000


class Cluster:
    """Jobs, tasks, nodes, cards, ledger, tokens, and what the last decision said about each waiting task.

    `tasks[job]` maps slot -> task. `holders[card]` maps task -> share. `active` are the open tasks that do not only
    wait, `settling` the jobs that changed since reclaim last asked whether they are over. `versions` counts changes by
    kind ("cards", "nodes", "jobs", "events"), so that encoded answers can be kept until something changed.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.jobs: dict[str, Job] = {}
        self.tasks: dict[str, dict[int, Task]] = {}
        self._by_id: dict[str, Task] = {}
        self.nodes: dict[str, Node] = {}
        self.cards: dict[str, Card] = {}
        self.rooms: dict[str, Room] = {}
        self.holders: dict[str, dict[str, Share]] = {}
        self.grants: dict[str, dict[str, Share]] = {}
        self.node_cards: dict[str, set[str]] = {}
        self.stacks: dict[str, Stack] = {}
        self.tokens: dict[str, Token] = {}
        self.ended: OrderedDict[str, None] = OrderedDict()
        self.live: dict[str, None] = {}
        self.open_tasks: dict[str, Task] = {}
        self.active: dict[str, Task] = {}
        self.names: dict[str, dict[str, None]] = {}
        self.natives: dict[str, tuple[Life, ...]] = {}
        self.seen: frozenset[str] = frozenset()
        self.waiting: dict[str, Task] = {}
        self.booked: dict[str, tuple[int, int]] = {}
        self.others_booked: dict[str, tuple[int, int]] = {}
        self.placed: Counter[str] = Counter()
        self.stale_views: set[str] = set()
        self.settling: dict[str, None] = {}
        self._by_stack: dict[str, dict[str, None]] = {}
        self._occupied: dict[str, tuple[str, int, int]] = {}
        self.waits: dict[str, Wait] = {}
        self.events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self.last_event = loaded.last_event
        self.versions: dict[str, int] = {"cards": 0, "nodes": 0, "jobs": 0, "events": 0, "tokens": 0}
        self._load(loaded)

    def _load(self, loaded: Loaded) -> None:
        for node in loaded.nodes:
            self._put_node(node)
        for card, room in loaded.cards:
            self._put_card(card)
            self.rooms[card.uuid] = room
        for task, share in loaded.grants:
            self.holders[share.card][task] = share
            self.grants.setdefault(task, {})[share.card] = share
        for job in loaded.jobs:
            self._put_job(job)
        for row in loaded.tasks:
            self._put_task(row)
        self.stacks = {stack.name: stack for stack in loaded.stacks}
        self.tokens = {token.hash: token for token in loaded.tokens}

    def task(self, task_id: str) -> Task | None:
        """The task of this id (`JOB.SLOT`), or None."""
        return self._by_id.get(task_id)

    def tasks_of(self, job_id: str) -> tuple[Task, ...]:
        """The tasks of a job by slot."""
        return tuple(task for _, task in sorted(self.tasks.get(job_id, {}).items()))

    def unfinished(self) -> Iterator[tuple[Job, Task]]:
        """Every task that has not ended or still has something on the engine or in the ledger."""
        for task in list(self.open_tasks.values()):
            if task.job in self.jobs:
                yield self.jobs[task.job], task

    def in_play(self) -> Iterator[tuple[Job, Task]]:
        """Of the unfinished tasks those that more than a decision concerns: not jobs that only wait."""
        for task in list(self.active.values()):
            if task.job in self.jobs:
                yield self.jobs[task.job], task

    def stack_jobs(self, stack: str) -> tuple[Job, ...]:
        """The jobs of a stack that are not ended-and-replaced, by name; the newest of each name."""
        newest: dict[str, Job] = {}
        for job in (self.jobs[job_id] for job_id in self._by_stack.get(stack, ())):
            last = newest.get(job.name)
            if last is None or last.ended_at is not None or job.ended_at is None:
                newest[job.name] = job
        return tuple(newest[name] for name in sorted(newest))

    def superseded(self) -> frozenset[str]:
        """Ended jobs of stacks whose service has a later job: nothing of them is kept on the engine."""
        return frozenset(
            job_id
            for stack, ids in self._by_stack.items()
            if stack and len(ids) > 1
            for job_id in ids.keys() - {job.id for job in self.stack_jobs(stack)}
            if self.jobs[job_id].ended_at is not None
        )

    def name_held(self, job: Job, slot: int) -> bool:
        """True while something of an earlier job of the same service is left that has the slot's name on the engine."""
        if not job.stack:
            return False
        earlier = takewhile(lambda one: one != job.id, self._by_stack.get(job.stack, ()))
        return any(
            f"{one.id}.{slot}" in self.open_tasks
            or f"{one.id}.{slot}" in self.seen
            or one.id in self.seen
            or (one.native and one.ended_at is None)
            for one in map(self.jobs.__getitem__, earlier)
            if one.name == job.name
        )

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
                self._put_job(job)
            case Take(task=task_id, shares=shares):
                self._take(task_id, shares)
            case Give(task=task_id, cards=cards):
                self._give(task_id, cards)
            case PutNode(node=node):
                self._put_node(node)
            case PutCard(card=card):
                self._put_card(card)
            case RenameCard(old=old, card=card):
                self._rename_card(old, card)
            case DropCard(uuid=uuid):
                self._drop_card(uuid)
            case DropNode(name=name):
                self.nodes.pop(name, None)
                self.stale_views.add(name)
                self._changed("nodes", "cards")
            case DropTask(id=task_id):
                self._drop_task(task_id)
            case PutStack(stack=stack):
                self.stacks[stack.name] = stack
                self._changed("jobs")
            case DropStack(name=name):
                self.stacks.pop(name, None)
                self._changed("jobs")
            case PutToken(token=token):
                self.tokens[token.hash] = token
                self._changed("tokens")
            case DropToken(id=token_id):
                self.tokens = {h: token for h, token in self.tokens.items() if token.id != token_id}
                self._changed("tokens")
            case _:
                pass  # attempts and remembered answers are read from the store only

    def _changed(self, *kinds: str) -> None:
        for kind in kinds:
            self.versions[kind] += 1

    def _put_job(self, job: Job) -> None:
        if job.id not in self.jobs:
            self.names.setdefault(job.name, {})[job.id] = None
            self._by_stack.setdefault(job.stack, {})[job.id] = None
        self.jobs[job.id] = job
        self.settling[job.id] = None
        if job.ended_at is None:
            self.live[job.id] = None
            self.ended.pop(job.id, None)
        elif job.id not in self.ended:
            self.live.pop(job.id, None)
            self.ended[job.id] = None
            self._forget_oldest()
        self._changed("jobs")

    def _forget_oldest(self) -> None:
        for job_id in list(self.ended)[: max(0, len(self.ended) - ENDED_KEPT)]:
            open_still = any(task.id in self.open_tasks for task in self.tasks_of(job_id))
            if open_still or self.jobs[job_id].stack in self.stacks:
                continue
            job = self.jobs.pop(job_id)
            for task in self.tasks.pop(job_id, {}).values():
                self._by_id.pop(task.id, None)
            del self.ended[job_id]
            self.names[job.name].pop(job_id, None)
            if not self.names[job.name]:
                del self.names[job.name]
            self._by_stack[job.stack].pop(job_id, None)
            if not self._by_stack[job.stack]:
                del self._by_stack[job.stack]

    def _put_task(self, task: Task) -> None:
        self.tasks.setdefault(task.job, {})[task.slot] = task
        self._by_id[task.id] = task
        self.settling[task.job] = None
        if task.state in FINISHED and task.gone and task.id not in self.grants:
            self.open_tasks.pop(task.id, None)
            self.active.pop(task.id, None)
        else:
            self.open_tasks[task.id] = task
            self._activate(task)
        if task.state in QUEUED or task.wants_replace:
            self.waiting[task.id] = task
        else:
            self.waiting.pop(task.id, None)
            self.waits.pop(task.id, None)
        self._occupy(task)
        self._changed("jobs", "cards")

    def _activate(self, task: Task) -> None:
        """A long queue must not slow down the care for what runs: what only waits is left out of `active`."""
        job = self.jobs.get(task.job)
        clean = task.state == "waiting" and task.gone and task.id not in self.grants
        if clean and job is not None and not job.stack:
            self.active.pop(task.id, None)
        else:
            self.active[task.id] = task

    def _occupy(self, task: Task) -> None:
        """Keep what tasks reserve of each node's CPU and memory, and how many there are."""
        node, cpu, memory = self._occupied.pop(task.id, ("", 0, 0))
        if node:
            had = self.booked[node]
            self.booked[node] = (had[0] - cpu, had[1] - memory)
            self.placed[node] -= 1
            self.stale_views.add(node)
        job = self.jobs.get(task.job)
        if task.node and task.state in OCCUPYING and job is not None and not job.native:
            ask = job.spec.request
            has = self.booked.get(task.node, (0, 0))
            self._occupied[task.id] = (task.node, ask.cpu_nano, ask.memory_bytes)
            self.booked[task.node] = (has[0] + ask.cpu_nano, has[1] + ask.memory_bytes)
            self.placed[task.node] += 1
            self.stale_views.add(task.node)

    def set_others(self, booked: dict[str, tuple[int, int]]) -> None:
        """What work that is not Berth's reserves on each node: (1e-9 CPUs, bytes)."""
        if booked != self.others_booked:
            self.stale_views |= booked.keys() | self.others_booked.keys()
            self.others_booked = booked

    def _drop_task(self, task_id: str) -> None:
        job, _, slot = task_id.rpartition(".")
        self.tasks.get(job, {}).pop(int(slot), None)
        for index in (self._by_id, self.open_tasks, self.active, self.waiting):
            index.pop(task_id, None)
        self.waits.pop(task_id, None)
        self.settling[job] = None
        self._changed("jobs")

    def _put_node(self, node: Node) -> None:
        old = self.nodes.get(node.name)
        self.nodes[node.name] = node
        self.node_cards.setdefault(node.name, set())
        self.stale_views.add(node.name)
        if old is None or old.state != node.state:
            self._changed("cards")
        if old != node:
            self._changed("nodes")

    def _put_card(self, card: Card) -> None:
        self.cards[card.uuid] = card
        self.holders.setdefault(card.uuid, {})
        self._count(card.uuid)
        self.node_cards.setdefault(card.node, set()).add(card.uuid)
        self._changed("cards", "nodes")

    def _count(self, uuid: str) -> None:
        """What is left of a card follows from what is held of it, as in the store."""
        card = self.cards[uuid]
        self.rooms[uuid] = room_of(card, self.holders[uuid].values())
        self.stale_views.add(card.node)

    def _rename_card(self, old: str, card: Card) -> None:
        self.rooms.pop(old)
        self.node_cards[self.cards.pop(old).node].discard(old)
        holders = self.holders.setdefault(card.uuid, {})
        for task, share in self.holders.pop(old).items():
            moved = Share(card.uuid, share.milli, share.mib)
            holders[task] = moved
            self.grants[task].pop(old)
            self.grants[task][card.uuid] = moved
        self._put_card(card)

    def _drop_card(self, uuid: str) -> None:
        card = self.cards.pop(uuid, None)
        self.rooms.pop(uuid, None)
        self.holders.pop(uuid, None)
        if card is not None:
            self.node_cards.get(card.node, set()).discard(uuid)
            self.stale_views.add(card.node)
        self._changed("cards", "nodes")

    def _take(self, task_id: str, shares: tuple[Share, ...]) -> None:
        for share in shares:
            known = self.cards[share.card].memory_mib > 0
            held = share if known else Share(share.card, share.milli, 0)
            self.holders[share.card][task_id] = held
            self.grants.setdefault(task_id, {})[share.card] = held
            self._count(share.card)
        self._changed("cards", "nodes")

    def _give(self, task_id: str, cards: tuple[str, ...] | None) -> None:
        held = self.grants.get(task_id, {})
        for uuid in list(held) if cards is None else [card for card in cards if card in held]:
            del held[uuid]
            self.holders[uuid].pop(task_id, None)
            self._count(uuid)
        if not held:
            self.grants.pop(task_id, None)
            task = self.task(task_id)
            self.settling[task_id.rpartition(".")[0]] = None
            if task is not None and task.state in FINISHED and task.gone:
                self.open_tasks.pop(task_id, None)
                self.active.pop(task_id, None)
            elif task is not None:
                self._activate(task)
        self._changed("cards", "nodes")

    def _note(self, event: Event) -> None:
        self.last_event += 1
        self.events.append(msgspec.structs.replace(event, seq=self.last_event))
        self._changed("events")
