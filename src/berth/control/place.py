"""Place: snapshot, decide (pure), and commit each grant; a grant whose card or task changed meanwhile is dropped."""

import asyncio

from berth.control.bind import start_task
from berth.control.context import Control
from berth.control.everywhere import follow
from berth.core import becomes
from berth.core.decide import Memo, decide
from berth.model.card import Share
from berth.model.change import Batch, DoubleGrant, Note, PutAttempt, PutTask, Stale, Take
from berth.model.job import Attempt, Task
from berth.model.lifecycle import OCCUPYING, QUEUED
from berth.model.plan import Place, Plan, Wait


class Placer:
    """Runs the decision whenever something that it depends on changed."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.memo = Memo()

    def plan(self) -> Plan:
        """What would be decided now."""
        return decide(self.control.views.snapshot(self.control.clock.now()), self.control.policy, self.memo)

    async def run(self) -> None:
        """One pass: decide, commit the grants, remember why the others wait."""
        await follow(self.control, self.memo)
        began = self.control.clock.monotonic()
        plan = self.plan()
        self.control.decisions += 1
        self.control.decisions_s += self.control.clock.monotonic() - began
        await asyncio.gather(*(self._grant(place) for place in plan.places))
        await self._remember(plan.waits)

    async def _grant(self, place: Place) -> None:
        task = self.control.cluster.task(place.task)
        if task is None or not (task.state in QUEUED or (task.wants_replace and task.state in OCCUPYING)):
            return
        change = self._first(task, place) if task.state in QUEUED else self._replacement(task, place)
        try:
            await self.control.writer.commit(change)
        except (Stale, DoubleGrant):
            self.control.wake("place")
            return
        self.control.wake("label")
        if task.state in QUEUED:
            start_task(self.control, task.id)
        else:
            self.control.wake("reconcile")

    def _first(self, task: Task, place: Place) -> Batch:
        now = self.control.clock.now()
        cards = tuple(share.card for share in place.shares)
        job = self.control.cluster.jobs[task.job]
        new = becomes.granted(task, job.generation, place, now)
        return (
            PutTask(new, was=task.version),
            *((Take(task.id, place.shares),) if place.shares else ()),
            PutAttempt(Attempt(task=task.id, attempt=new.attempt, node=place.node, cards=cards, granted_at=now)),
            self.control.note(
                "granted", _granted(job.name, new, place.shares), job=job.id, task=task.id, node=new.node
            ),
        )

    def _replacement(self, task: Task, place: Place) -> Batch:
        """Another grant for a task that still runs its old generation: its own cards count as its own."""
        more = tuple(share for share in place.shares if share.card not in task.cards)
        new = becomes.regranted(task, place)
        note = self.control.note("replacing", f"task {task.id} is replaced on {place.node}", job=task.job, task=task.id)
        return (PutTask(new, was=task.version), *((Take(task.id, more),) if more else ()), note)

    async def _remember(self, waits: tuple[Wait, ...]) -> None:
        cluster = self.control.cluster
        old, fresh = cluster.waits, {wait.task: wait for wait in waits}
        if fresh == old:
            return
        told = [
            wait for wait in waits
            if wait.reason != "behind" and (wait.task not in old or old[wait.task].reason != wait.reason)
        ]  # fmt: skip
        cluster.waits = fresh
        if self.control.engine.capabilities.slot_objects:
            self.control.wake("reconcile")
        cluster.changed.counts["jobs"] += 1
        if told and not self.control.engine.capabilities.hints_all:
            self.control.wake("observe")  # somebody waits now: an end that was not told of must not wait, too
        await self.control.writer.commit(tuple(self._waits(wait) for wait in told if cluster.task(wait.task)))

    def _waits(self, wait: Wait) -> Note:
        job, _, slot = wait.task.rpartition(".")
        name = self.control.cluster.jobs[job].name
        text = f"{name} slot {slot} waits ({wait.reason}): {wait.message}"
        return self.control.note("waiting", text, job=job, task=wait.task)


def _granted(name: str, task: Task, shares: tuple[Share, ...]) -> str:
    cards = ", ".join(share.card for share in shares) or "no cards"
    return f"{name} slot {task.slot}, attempt {task.attempt}: {cards} on {task.node}"
