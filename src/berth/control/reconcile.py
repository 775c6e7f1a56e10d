"""Reconcile: the last look at the engine beside what is wanted (core.diff), then each action as one guarded commit."""

import asyncio
import contextlib

from berth.control.admit import MOST_SLOTS
from berth.control.amend import amend
from berth.control.bind import prepare_task, start_task
from berth.control.context import Control
from berth.control.ends import attempt_of, end_attempt
from berth.control.rescale import rescale
from berth.core import actions as act
from berth.core.diff import Facts, diff
from berth.model.change import Batch, Give, PutAttempt
from berth.model.errors import Refused
from berth.model.job import Job, StopFor, Task
from berth.model.launch import Handle
from berth.model.lifecycle import FINISHED, LIVE, ask_stop, begin, returned, revise, step
from berth.model.seen import SlotObject


class Reconciler:
    """Applies what `diff` asks for after each look."""

    def __init__(self, control: Control) -> None:
        self.control = control

    async def run(self) -> None:
        """One pass over everything that is in play or still seen on the engine."""
        look = self.control.look
        if look is None:
            return
        facts = Facts(
            observed=look,
            capabilities=self.control.engine.capabilities,
            nodes=self.control.cluster.nodes,
            settled=self.control.calls.settled,
            cluster=self.control.settings.cluster_id,
            stacks=frozenset(name for name, stack in self.control.cluster.stacks.items() if not stack.removing),
            superseded=self.control.cluster.work.services.superseded(),
            now=self.control.clock.now(),
            killed=self.control.killed,
        )
        actions = diff(self._wanted(), facts)
        await asyncio.gather(*(self._apply(action) for action in actions if not self._at_once(action)))

    def _wanted(self) -> list[tuple[Job, Task]]:
        cluster, look = self.control.cluster, self.control.look
        wanted = {task.id: (job, task) for job, task in cluster.work.in_play()}
        assert look is not None
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
            case act.Stop(task=task, handle=handle):
                self._stop(task, handle)
            case act.Sweep(handle=handle, task=task):
                self._sweep(task or handle.object_id or handle.engine_id, handle)
            case _:
                return False
        return True

    async def _apply(self, action: act.Action) -> None:
        control = self.control
        match action:
            case act.Prepared(task=task, object=seen):
                await amend(control, task, lambda now: _prepared(now, seen))
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
                await self._silent(task)
            case act.Returned(task=task):
                await amend(control, task, lambda now: returned(now) if now.state == "unknown" else None)
            case act.Unplaceable():
                await self._unplaceable(action)
            case act.Overdue(task=task):
                await self._ask_stop(task, "time-limit")
            case act.Edited(task=task, object=seen):
                await self._edited(task, seen)
            case act.Rescaled():
                await self._rescaled(action)
            case act.Release():
                pass  # reclaim's own

    async def _started(self, action: act.Started) -> None:
        control, life = self.control, action.life

        def running(task: Task) -> Task | None:
            if task.state != "starting" or task.attempt != life.attempt:
                return None
            at = min(life.started_at or control.clock.now(), control.clock.now())
            object_id = life.object_id or task.object_id
            return step(task, "start", started_at=at, engine_id=life.engine_id, object_id=object_id)

        def told(task: Task) -> Batch:
            job = control.cluster.jobs[task.job]
            return (
                PutAttempt(attempt_of(task)),
                control.note("running", f"{job.name} slot {task.slot} runs on {task.node}", job=job.id, task=task.id),
            )

        if await amend(control, action.task, running, told):
            control.keeper.follow(action.task)
            control.wake("alarm")

    async def _start(self, task_id: str) -> None:
        """Start with the object's version as it is now, committed first, so that a late call still fails."""
        seen = self.control.object_of(task_id)
        if seen is not None:
            await amend(self.control, task_id, lambda now: _versioned(now, seen))
        start_task(self.control, task_id)

    async def _again(self, task_id: str) -> None:
        control = self.control

        def again(task: Task) -> Task | None:
            if task.state != "restarting":
                return None
            job = control.cluster.jobs[task.job]
            node, cards = (task.next_node, task.next_cards) if task.next_node else (task.node, task.cards)
            seen = control.object_of(task.id)
            version = seen.version if seen else task.object_version
            return begin(
                task, control.clock.now(), job.generation, node, cards, restarts=task.restarts + 1, next_node="",
                next_cards=(), object_version=version,
            )  # fmt: skip

        def extra(task: Task) -> Batch:
            held = control.cluster.ledger.held_by(task.id)
            left = tuple(card for card in held if card not in task.cards)
            return (PutAttempt(attempt_of(task)), *((Give(task.id, left),) if left else ()))

        if await amend(control, task_id, again, extra):
            start_task(control, task_id)
            control.wake("place", "label")

    async def _removed(self, action: act.Removed) -> None:
        control = self.control

        def removed(task: Task) -> Task | None:
            if task.state in FINISHED or task.stop_for in ("cancelled", "removed-on-engine"):
                return None
            if action.running and task.state in LIVE:
                return ask_stop(task, "removed-on-engine", stop_sent=True)
            return step(task, "finish", reason="removed-on-engine", ended_at=control.clock.now(), stop_for="")

        def told(task: Task) -> Batch:
            job = control.cluster.jobs[task.job]
            text = f"{job.name} slot {task.slot} was removed with the engine's own tools: a cancel"
            return (control.note("removed-on-engine", text, actor="engine", job=job.id, task=task.id),)

        if await amend(control, action.task, removed, told):
            control.wake("reclaim", "place")

    async def _silent(self, task_id: str) -> None:
        control = self.control

        def silent(task: Task) -> Task | None:
            return step(task, "silent") if task.state in ("starting", "running", "stopping") else None

        def told(task: Task) -> Batch:
            text = f"node {task.node} is silent: what task {task.id} does is not known, its cards stay held"
            return (control.note("unknown", text, job=task.job, task=task.id, node=task.node),)

        await amend(control, task_id, silent, told)

    async def _unplaceable(self, action: act.Unplaceable) -> None:
        control = self.control

        def back(task: Task) -> Task | None:
            return ask_stop(task, "requeue") if task.state == "starting" else None

        def told(task: Task) -> Batch:
            text = f"{task.node} cannot start it ({action.reason}): {action.message}; back to the queue"
            return (control.note("unplaceable", text, job=task.job, task=task.id, node=task.node),)

        await amend(control, action.task, back, told)

    async def _ask_stop(self, task_id: str, why: StopFor) -> None:
        await amend(self.control, task_id, lambda now: ask_stop(now, why) if now.state == "running" else None)
        self.control.wake("reconcile")

    def _stop(self, task_id: str, handle: Handle) -> None:
        control = self.control
        task = control.cluster.task(task_id)
        grace = self._grace(task) if task is not None else None
        final = task is not None and task.stop_for in ("cancelled", "scale", "removed-on-engine")

        async def call() -> None:
            if final and control.engine.capabilities.slot_objects:
                await control.engine.remove(handle)
            else:
                await control.engine.stop(handle, grace)
            await amend(control, task_id, lambda now: revise(now, stop_sent=True) if now.state == "stopping" else None)

        control.calls.run(task_id, call)

    def _grace(self, task: Task) -> float | None:
        """Seconds between TERM and KILL; none for cards that are somebody else's, a drain's own where it gave one."""
        node = self.control.cluster.nodes.get(task.node)
        if task.stop_for == "wrong-cards":
            return 0.0
        if task.stop_for == "move" and node is not None and node.drain_grace_s is not None:
            return node.drain_grace_s
        return self.control.cluster.jobs[task.job].spec.stop_grace_s

    def _sweep(self, key: str, handle: Handle) -> None:
        if self.control.keeper.draining(key) or self.control.calls.busy(key):
            return  # its last output is still being read, or it is being removed already

        async def call() -> None:
            await self.control.engine.remove(handle)

        self.control.calls.run(key, call)

    async def _edited(self, task_id: str, seen: SlotObject) -> None:
        """The first look at a new attempt remembers what its object asks for; a later difference is put back."""
        control = self.control
        task = control.cluster.task(task_id)
        if task is None or not task.digest or task.state != "running":
            await amend(control, task_id, lambda now: revise(now, digest=seen.digest))
            return
        text = f"{seen.name} was edited with the engine's own tools; Berth starts it again as it was submitted"
        note = control.note("edit-put-back", text, actor="engine", job=task.job, task=task_id)
        await amend(control, task_id, _replaced, lambda _: (note,))
        control.wake("reconcile")

    async def _rescaled(self, action: act.Rescaled) -> None:
        task = self.control.cluster.task(action.task)
        if task is None:
            return
        with contextlib.suppress(Refused):  # cancelled meanwhile: nothing is scaled any more
            if task.slot == 1 and 0 < action.replicas <= MOST_SLOTS:
                await rescale(self.control, task.job, action.replicas, actor="engine")
            elif action.replicas == 0:
                await rescale(self.control, task.job, task.slot - 1, actor="engine")
        if action.replicas > 0:
            await self.control.engine.restore_replicas(action.object)
            self.control.wake("observe")


def _prepared(task: Task, seen: SlotObject) -> Task | None:
    return step(task, "prepare", object_id=seen.id, object_version=seen.version) if task.state == "waiting" else None


def _versioned(task: Task, seen: SlotObject) -> Task | None:
    if task.state != "starting" or (task.object_id, task.object_version) == (seen.id, seen.version):
        return None
    return revise(task, object_id=seen.id, object_version=seen.version)


def _replaced(task: Task) -> Task | None:
    return ask_stop(task, "replace") if task.state == "running" else None
