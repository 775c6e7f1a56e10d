"""Reconcile: the last look at the engine beside what is wanted (core.diff), then each action as one guarded commit.

What an action makes of its task is core.becomes' to say; here are the commits, the engine calls and who is woken.
"""

import asyncio
import contextlib

import msgspec

from berth.control.amend import amend
from berth.control.bind import prepare_task, start_task
from berth.control.context import Control
from berth.control.ends import attempt_of, end_attempt
from berth.control.rescale import rescale
from berth.control.rollout import Roller
from berth.control.situation import situation_of
from berth.core import actions as act
from berth.core import becomes
from berth.core.diff import diff
from berth.core.rollout import came_up
from berth.model.change import Batch, Give, PutAttempt
from berth.model.errors import Refused
from berth.model.job import Job, Task
from berth.model.launch import Handle
from berth.model.seen import Observed, SlotObject


class Reconciler:
    """Applies what `diff` asks for after each look."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.roller = Roller(control)

    async def run(self) -> None:
        """One pass over everything that is in play or still seen on the engine."""
        look = self.control.look
        if look is None:
            return
        await self.roller.run()
        actions = diff(self._wanted(look), situation_of(self.control, look))
        await asyncio.gather(*(self._apply(action) for action in actions if not self._at_once(action)))

    def _wanted(self, look: Observed) -> list[tuple[Job, Task]]:
        cluster = self.control.cluster
        wanted = {task.id: (job, task) for job, task in cluster.work.in_play()}
        for task_id in {seen.task for seen in look.objects} | {life.task for life in look.lives}:
            task = cluster.task(task_id) if task_id not in wanted else None
            if task is not None:
                wanted[task_id] = (cluster.jobs[task.job], task)
        return list(wanted.values())

    def _at_once(self, action: act.Action) -> bool:
        """Do what only begins an engine call, and say so; nothing is begun again that is under way."""
        match action:
            case act.Prepare(task=task):
                if task in self.control.cluster.waits:  # else it may start at once, and is created by that one call
                    prepare_task(self.control, task)
            case act.Stop():
                self._stop(action)
            case act.Sweep(handle=handle, task=task):
                self._sweep(task or handle.object_id or handle.engine_id, handle)
            case _:
                return False
        return True

    async def _apply(self, action: act.Action) -> None:
        control = self.control
        match action:
            case act.Prepared(task=task, object=seen):
                await amend(control, task, lambda one: becomes.prepared(one, seen))
                control.wake("place")
            case act.Start(task=task):
                await self._start(task)
            case act.Started():
                await self._started(action)
            case act.Ended(task=task, outcome=outcome):
                await end_attempt(control, task, outcome)
            case act.Again(task=task):
                await self._again(task)
            case act.Removed():
                await self._removed(action)
            case act.Silent(task=task):
                await amend(control, task, becomes.silent, self._told_silent)
            case act.Returned(task=task):
                if await amend(control, task, becomes.resumed):
                    control.wake("reconcile")
            case act.Up(task=task):
                await self._up(task)
            case act.Unhealthy(task=task, error=error):
                await self._unhealthy(task, error)
            case act.Unplaceable(task=task):
                await amend(control, task, becomes.unplaceable, lambda one: self._told_unplaceable(one, action))
            case act.Overdue(task=task):
                await amend(control, task, becomes.overdue)
                control.wake("reconcile")
            case act.Edited(task=task, object=seen):
                await self._edited(task, seen)
            case act.Rescaled():
                await self._rescaled(action)
            case act.Release():
                pass  # reclaim's own

    async def _started(self, action: act.Started) -> None:
        control, now = self.control, self.control.clock.now()

        def running(task: Task) -> Task | None:
            new = becomes.started(task, action.life, now)
            return self._came_up(new) if new is not None and action.life.healthy else new

        def told(task: Task) -> Batch:
            text = f"{control.cluster.jobs[task.job].name} slot {task.slot} runs on {task.node}"
            return PutAttempt(attempt_of(task)), control.note("running", text, job=task.job, task=task.id)

        if await amend(control, action.task, running, told):
            control.keeper.follow(action.task)
            control.wake("alarm", "reconcile")

    def _came_up(self, task: Task) -> Task:
        fared = came_up(self.control.cluster.jobs[task.job], task, self.control.clock.now())
        return msgspec.structs.replace(task, fared=fared)

    async def _up(self, task_id: str) -> None:
        if await amend(self.control, task_id, lambda task: becomes.up(task, self._came_up(task).fared)):
            self.control.wake("alarm", "reconcile")

    async def _unhealthy(self, task_id: str, error: str) -> None:
        control = self.control

        def told(task: Task) -> Batch:
            name = control.cluster.jobs[task.job].name
            text = f"{name} slot {task.slot} is not healthy and is ended: {error}"
            return (control.note("unhealthy", text, job=task.job, task=task.id, node=task.node),)

        if await amend(control, task_id, lambda task: becomes.unhealthy(task, error), told):
            control.wake("reconcile")

    async def _start(self, task_id: str) -> None:
        """Start with the object's version as it is now, committed first, so that a late call still fails."""
        seen = self.control.object_of(task_id)
        if seen is not None:
            await amend(self.control, task_id, lambda task: becomes.versioned(task, seen))
        start_task(self.control, task_id)

    async def _again(self, task_id: str) -> None:
        control, now = self.control, self.control.clock.now()

        def next_attempt(task: Task) -> Task | None:
            return becomes.again(task, control.cluster.jobs[task.job].generation, control.object_of(task.id), now)

        def given_back(task: Task) -> Batch:
            left = tuple(card for card in control.cluster.ledger.held_by(task.id) if card not in task.cards)
            return (PutAttempt(attempt_of(task)), *((Give(task.id, left),) if left else ()))

        if await amend(control, task_id, next_attempt, given_back):
            start_task(control, task_id)
            control.wake("place", "label")

    async def _removed(self, action: act.Removed) -> None:
        control, now = self.control, self.control.clock.now()

        def told(task: Task) -> Batch:
            name = control.cluster.jobs[task.job].name
            text = f"{name} slot {task.slot} was removed with the engine's own tools: a cancel"
            return (control.note("removed-on-engine", text, actor="engine", job=task.job, task=task.id),)

        if await amend(control, action.task, lambda task: becomes.removed(task, action.running, now), told):
            control.wake("reclaim", "place")

    def _told_silent(self, task: Task) -> Batch:
        text = f"node {task.node} is silent: what task {task.id} does is not known, its cards stay held"
        return (self.control.note("unknown", text, job=task.job, task=task.id, node=task.node),)

    def _told_unplaceable(self, task: Task, action: act.Unplaceable) -> Batch:
        text = f"{task.node} cannot start it ({action.reason}): {action.message}; back to the queue"
        return (self.control.note("unplaceable", text, job=task.job, task=task.id, node=task.node),)

    async def _edited(self, task_id: str, seen: SlotObject) -> None:
        after = await amend(
            self.control, task_id, lambda task: becomes.edited(task, seen), lambda task: self._told_edit(task, seen)
        )
        if after is not None and after.state == "stopping":
            self.control.wake("reconcile")

    def _told_edit(self, task: Task, seen: SlotObject) -> Batch:
        if task.state != "stopping":
            return ()
        text = f"{seen.name} was edited with the engine's own tools; Berth starts it again as it was submitted"
        return (self.control.note("edit-put-back", text, actor="engine", job=task.job, task=task.id),)

    def _stop(self, action: act.Stop) -> None:
        control = self.control

        async def call() -> None:
            if action.remove:
                await control.engine.remove(action.handle)
            else:
                await control.engine.stop(action.handle, action.grace_s)
            await amend(control, action.task, becomes.stop_sent)

        control.calls.run(action.task, call)

    def _sweep(self, key: str, handle: Handle) -> None:
        if self.control.keeper.draining(key) or self.control.calls.busy(key):
            return  # its last output is still being read, or it is being removed already

        async def call() -> None:
            await self.control.engine.remove(handle)

        self.control.calls.run(key, call)

    async def _rescaled(self, action: act.Rescaled) -> None:
        task = self.control.cluster.task(action.task)
        if task is None:
            return
        meant = becomes.replicas_meant(task, action.replicas)
        if meant is not None:
            with contextlib.suppress(Refused):  # cancelled meanwhile: nothing is scaled any more
                await rescale(self.control, task.job, meant, actor="engine")
        if action.replicas > 0:
            await self.control.engine.restore_replicas(action.object)
            self.control.wake("observe")
