"""Reclaim: give cards back to the ledger once nothing is left of a task (core.expire), and close what is over
(core.closing).
"""

import asyncio
import contextlib
from functools import partial

import msgspec

from berth.control.amend import amend
from berth.control.context import Control
from berth.control.files import store_of
from berth.control.native import apply_native, remove_native
from berth.control.situation import situation_of
from berth.control.takeover import move_on
from berth.core.closing import NativeDuty, Services, closed, is_over, native_duty, stack_duties, stack_over
from berth.core.expire import expire, released
from berth.core.situation import Situation
from berth.core.status import job_status
from berth.model.change import Batch, DropStack, Give, PutJob, PutStack, Stale
from berth.model.job import Job, Task


class Reclaimer:
    """Releases each task's cards exactly once and closes jobs whose tasks have all ended."""

    def __init__(self, control: Control) -> None:
        self.control = control

    async def run(self) -> None:
        """One pass over what is over or back in the queue."""
        look, cluster = self.control.look, self.control.cluster
        if look is None:
            return
        await move_on(self.control)
        situation = situation_of(self.control, look)
        tasks = (task for _, task in cluster.work.in_play())
        over = list(expire(tasks, frozenset(cluster.ledger.grants), situation))
        await asyncio.gather(*(self._release(release.task) for release in over))
        await self._close_jobs()
        await self._natives(situation)
        await self._stacks(situation)

    async def _release(self, task_id: str) -> None:
        control, granted = self.control, self.control.cluster.ledger.grants
        held = granted.get(task_id)

        def give(task: Task) -> Batch:
            names = ", ".join(held or ())
            note = control.note("released", f"free again: {names}", job=task.job, task=task.id, node=task.node)
            return (Give(task.id), *((note,) if held else ()))

        if await amend(control, task_id, lambda task: released(task, granted), give):
            control.wake("place", "label", "reconcile")

    async def _close_jobs(self) -> None:
        cluster, work = self.control.cluster, self.control.cluster.work
        changed = [job for job in map(cluster.jobs.get, list(work.unsettled)) if job is not None]
        over = [job for job in changed if is_over(job, cluster.tasks_of(job.id), cluster.ledger.grants)]
        work.unsettled.clear()
        work.unsettled.update((job.id, None) for job in over)  # asked again should the commit fail
        await asyncio.gather(*(self._close(job, cluster.tasks_of(job.id)) for job in over))

    async def _close(self, job: Job, tasks: tuple[Task, ...]) -> None:
        after = closed(job, tasks, self.control.clock.now())
        note = self.control.note("job-ended", f"{job.name} {job_status(after, tasks, {}).state}", job=job.id)
        with contextlib.suppress(Stale):
            await self.control.writer.commit((PutJob(after, was=job.version), note))
            self.control.credentials.pop(job.id, None)

    async def _natives(self, situation: Situation) -> None:
        cluster = self.control.cluster
        for job in [cluster.jobs[job_id] for job_id in cluster.work.live]:
            if job.native:
                await self._native(job, native_duty(job, cluster.name_held(job, 1), situation))

    async def _native(self, job: Job, duty: NativeDuty) -> None:
        control = self.control
        match duty:
            case "tell":
                control.calls.run(job.id, lambda: apply_native(control, job))
            case "remove":
                control.calls.run(job.id, lambda: remove_native(control, job))
            case "close":
                await self._close(msgspec.structs.replace(job, cancelled=True), ())

    async def _stacks(self, situation: Situation) -> None:
        stacks = self.control.cluster.stacks
        services = {name: self._services(name) for name in stacks}
        duties = stack_duties(stacks, services, situation)
        for name in [name for name, duty in duties.items() if duty == "drop"]:
            self.control.calls.run(f"stack {name}", partial(self.drop, name))
        marked = [stacks[name] for name, duty in duties.items() if duty == "mark"]
        await self.control.writer.commit(
            tuple(PutStack(msgspec.structs.replace(stack, removing=True)) for stack in marked)
        )

    def _services(self, stack: str) -> Services:
        cluster = self.control.cluster
        return [(job, cluster.tasks_of(job.id)) for job in cluster.work.services.of(stack)]

    async def drop(self, name: str) -> None:
        """Remove the stack's networks, secrets and configs, unless it was deployed again meanwhile: that needs them."""
        async with self.control.deploying(name):
            stack = self.control.cluster.stacks.get(name)
            if stack is None or not stack.removing or not stack_over(self._services(name)):
                return
            await self.control.engine.remove_stack(stack)
            left = await store_of(self.control).remove_stack(name)
            notes = [self.control.note("left-in-use", f"{name}: the {one} stays, since others use it") for one in left]
            await self.control.writer.commit((DropStack(name), *notes))
