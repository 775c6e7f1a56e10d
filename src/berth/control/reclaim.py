"""Reclaim: give cards back to the ledger once the engine shows that nothing is left of the task (core.expire)."""

import asyncio
import contextlib
from functools import partial

import msgspec

from berth.control.amend import amend
from berth.control.context import Control
from berth.control.files import store_of
from berth.control.native import apply_native, remove_native
from berth.core.expire import Held, expire
from berth.core.status import job_status
from berth.model.change import Batch, DropStack, Give, PutJob, PutStack, Stale
from berth.model.job import Job, Task
from berth.model.lifecycle import FINISHED, QUEUED, is_clear, is_settled, revise


class Reclaimer:
    """Releases each task's cards exactly once and closes jobs whose tasks have all ended."""

    def __init__(self, control: Control) -> None:
        self.control = control

    async def run(self) -> None:
        """One pass over the tasks that are over or back in the queue."""
        look, cluster = self.control.look, self.control.cluster
        if look is None:
            return
        held = Held(
            observed=look,
            granted=frozenset(cluster.ledger.grants),
            settled=self.control.calls.settled,
            cluster=self.control.settings.cluster_id,
            fenced_nodes=frozenset(name for name, node in cluster.nodes.items() if node.fence),
        )
        over = list(expire((task for _, task in cluster.work.in_play()), held))
        await asyncio.gather(*(self._release(release.task) for release in over))
        await self._close_jobs()
        await self._drop_stacks()

    async def _release(self, task_id: str) -> None:
        control = self.control
        held = control.cluster.ledger.grants.get(task_id)

        def free(task: Task) -> Task | None:
            if task.state not in FINISHED | QUEUED or is_clear(task, control.cluster.ledger.grants):
                return None
            cards = () if task.state in QUEUED else task.cards
            return revise(task, gone=True, cards=cards, node="" if task.state in QUEUED else task.node)

        def give(task: Task) -> Batch:
            names = ", ".join(held or ())
            note = control.note("released", f"free again: {names}", job=task.job, task=task.id, node=task.node)
            return (Give(task.id), *((note,) if held else ()))

        if await amend(control, task_id, free, give):
            control.wake("place", "label", "reconcile")

    async def _close_jobs(self) -> None:
        cluster = self.control.cluster
        over = [job for job in map(cluster.jobs.get, list(cluster.work.unsettled)) if job and self._is_over(job)]
        cluster.work.unsettled.clear()
        cluster.work.unsettled.update((job.id, None) for job in over)  # asked again should the commit fail
        await asyncio.gather(*(self._close(job, cluster.tasks_of(job.id)) for job in over))
        for job in [cluster.jobs[job_id] for job_id in cluster.work.live]:
            if job.native:
                await self._native(job)

    def _is_over(self, job: Job) -> bool:
        """True when all its tasks are; a job that is scaled to nothing waits to be scaled up again."""
        if job.ended_at is not None or job.native:
            return False
        cluster = self.control.cluster
        tasks = cluster.tasks_of(job.id)
        settled = all(is_settled(task, cluster.ledger.grants) for task in tasks)
        return settled and (job.cancelled or bool(tasks and job.replicas > 0))

    async def _native(self, job: Job) -> None:
        """A native service that is gone from the engine: cancelled here, or removed by a person (a cancel).

        One that the engine was never told of in its present form, since the server died over it, is told again.
        """
        control, look = self.control, self.control.look
        if look is None or look.began <= control.calls.settled.get(job.id, 0.0):
            return
        if job.applied < job.generation and not job.cancelled:
            if not control.cluster.name_held(job, 1):
                control.calls.run(job.id, lambda: apply_native(control, job))
            return
        if any(seen.native and seen.job == job.id for seen in look.objects):
            if job.cancelled:
                control.calls.run(job.id, lambda: remove_native(control, job))
            return
        gone = msgspec.structs.replace(job, cancelled=True)
        await self._close(gone, ())

    async def _drop_stacks(self) -> None:
        """Networks go once no slot is left; a stack whose services a person removed is removed whole."""
        control, look = self.control, self.control.look
        for stack in list(control.cluster.stacks.values()):
            jobs = control.cluster.work.services.of(stack.name)
            if not stack.removing and jobs and all(job.ended_at is not None and _removed(control, job) for job in jobs):
                await control.writer.commit((PutStack(msgspec.structs.replace(stack, removing=True)),))
            ids = {job.id for job in jobs}
            left = look is None or bool(ids & {*(o.job for o in look.objects), *(life.job for life in look.lives)})
            if stack.removing and not left and all(job.ended_at is not None for job in jobs):
                control.calls.run(f"stack {stack.name}", partial(self.drop, stack.name))

    async def drop(self, name: str) -> None:
        """Remove the stack's networks, secrets and configs, unless it was deployed again meanwhile: that needs them."""
        async with self.control.deploying(name):
            stack = self.control.cluster.stacks.get(name)
            jobs = self.control.cluster.work.services.of(name)
            if stack is None or not stack.removing or any(job.ended_at is None for job in jobs):
                return
            await self.control.engine.remove_stack(stack)
            await store_of(self.control).remove_stack(name)
            await self.control.writer.commit((DropStack(name),))

    async def _close(self, job: Job, tasks: tuple[Task, ...]) -> None:
        at = max((task.ended_at for task in tasks if task.ended_at is not None), default=self.control.clock.now())
        closed = msgspec.structs.replace(job, ended_at=at, version=job.version + 1)
        state = job_status(closed, tasks, {}).state
        note = self.control.note("job-ended", f"{job.name} {state}", job=job.id)
        with contextlib.suppress(Stale):
            await self.control.writer.commit((PutJob(closed, was=job.version), note))
            self.control.credentials.pop(job.id, None)


def _removed(control: Control, job: Job) -> bool:
    """True when a person took the job's services away with the engine's own tools, also after it had ended."""
    tasks = control.cluster.tasks_of(job.id)
    return job.cancelled or (bool(tasks) and all(_taken_away(control, task) for task in tasks))


def _taken_away(control: Control, task: Task) -> bool:
    if task.reason in ("removed-on-engine", "cancelled"):
        return True
    look, settled = control.look, control.calls.settled.get(task.id, 0.0)
    had_one = control.engine.capabilities.slot_objects and task.object_id
    return bool(had_one and look and look.began > settled and control.object_of(task.id) is None)
