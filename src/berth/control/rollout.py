"""Rollouts: what core.rollout says of each job whose slots are being changed, as one guarded commit; reconcile runs it
before it looks at anything, so that no attempt begins on a judgement that is out of date.
"""

from collections.abc import Iterable

import msgspec

from berth.control.amend import commit_whole
from berth.control.context import Control
from berth.control.rescale import slots_of
from berth.core import retarget
from berth.core.rollout import Step, members, next_step, settings, taken_down
from berth.model.change import Batch, Give, Note, PutJob, PutTask
from berth.model.draft import Draft
from berth.model.errors import Problem
from berth.model.job import Job, Task
from berth.model.lifecycle import OCCUPYING, refill, revise

MOST_ROUNDS = 12
"""Rounds that a plan lists."""
STANDS_STILL = ("paused", "rollback-paused")
KINDS = {
    "paused": "update-paused", "rolling-back": "rolling-back", "rollback-paused": "rollback-paused",
    "completed": "update-completed", "rolled-back": "rolled-back",
}  # fmt: skip


class Roller:
    """Moves every rollout that is under way; `due` is when to ask each again though nothing happens (job id ->
    seconds since the epoch).
    """

    def __init__(self, control: Control) -> None:
        self.control = control
        self._due: dict[str, float] = {}

    async def run(self) -> None:
        """One pass over the jobs whose slots are being changed."""
        rolling = list(self.control.cluster.work.rolling)
        self._due = {job_id: at for job_id, at in self._due.items() if job_id in rolling}
        for job_id in rolling:
            await self._advance(job_id)

    def next_due(self) -> float | None:
        """When the first of them is due."""
        return min(self._due.values(), default=None)

    async def _advance(self, job_id: str) -> None:
        control, before = self.control, self._due.pop(job_id, None)

        def moved() -> Batch:
            job = control.cluster.jobs[job_id]
            found = next_step(job, control.cluster.tasks_of(job_id), control.clock.now())
            if found.look_at is not None:
                self._due[job_id] = found.look_at
            return _changes(control, job, found)

        if await commit_whole(control, moved):
            control.wake("place", "reclaim")
        if self._due.get(job_id) != before:
            control.wake("alarm")


def towards(control: Control, before: Job, job: Job) -> Job | None:
    """`job`, the known job with what a deployment asks for, on its way there; None when nothing is to be done.

    A deployment of the same form lets a paused update go on.
    """
    tasks, now = control.cluster.tasks_of(job.id), control.clock.now()
    asks = (job.spec, job.replicas, job.priority, job.queue)
    same = asks == (before.spec, before.replicas, before.priority, before.queue)
    still = before.rollout is not None and before.rollout.phase in STANDS_STILL
    seen = control.cluster.sight.updates.get(job.id)
    if job.native:  # Swarm's own update that came to nothing is begun again, as docker stack deploy does
        still = seen is not None and seen.phase in (*STANDS_STILL, "rolled-back")
    if same and not still:
        return None
    if job.native:
        return msgspec.structs.replace(job, generation=before.generation + 1)
    if not retarget.alike(before.spec, job.spec):
        return retarget.begun(before, job, tasks, now)
    return retarget.resumed(job, tasks, now) if still else job


def aimed(control: Control, before: Job, job: Job) -> Batch:
    """The changes of a job's slots that go with another form or number of them."""
    tasks = control.cluster.tasks_of(job.id)
    resized = slots_of(control, job, tasks) if job.replicas != before.replicas else ()
    settled = {change.task.id for change in resized if isinstance(change, PutTask)}
    left = [task for task in tasks if task.id not in settled] if job.generation != before.generation else []
    found = [(task, retarget.redirected(task, before, job, control.clock.now())) for task in left]
    moved = tuple(change for task, new in found if new is not None for change in _moved(control, task, new))
    return (*resized, *moved)


def told(job: Job) -> str:
    """What an update that begins will do, in words."""
    plan, total = settings(job), job.rollout.total if job.rollout is not None else 0
    if not total:
        return f"{job.name}: no slot runs that would have to change"
    at_once = total if not plan.parallelism else min(plan.parallelism, total)
    slots = "1 slot changes" if total == 1 else f"{total} slots change, {at_once} at a time"
    first = " (start-first is done as stop-first)" if plan.order == "start-first" else ""
    return f"{job.name}: {slots}{first}; on failure: {plan.failure_action}"


def planned(control: Control, before: Job, asked: Job) -> str:
    """What a deployment of `asked` would do to the slots of the known job, in rounds; "" where it changes none."""
    if asked.native or retarget.alike(before.spec, asked.spec):
        return ""
    tasks, now = control.cluster.tasks_of(before.id), control.clock.now()
    job = retarget.begun(before, msgspec.structs.replace(asked, id=before.id), tasks, now)
    slots = [task.slot for task in members(tasks) if task.generation != job.generation and task.state in OCCUPYING]
    if not slots:
        return ""
    size = settings(job).parallelism or len(slots)
    rounds = [", ".join(map(str, slots[at : at + size])) for at in range(0, len(slots), size)]
    shown = "; ".join(rounds[:MOST_ROUNDS]) + ("; ..." if len(rounds) > MOST_ROUNDS else "")
    plan = settings(job)
    many = f"{len(slots)} slots change" if len(slots) > 1 else "1 slot changes"
    turns = f"{len(rounds)} rounds" if len(rounds) > 1 else "1 round"
    return f"{many} in {turns} ({shown}), stop-first, on failure: {plan.failure_action}"


def order_warnings(control: Control, drafts: Iterable[Draft]) -> tuple[Problem, ...]:
    """Warnings for services whose updates are to be start-first where Berth places them."""
    placed = (draft for draft in drafts if not (draft.native and control.engine.capabilities.native))
    return tuple(warning for draft in placed if (warning := _order_warning(draft)) is not None)


def _order_warning(draft: Draft) -> Problem | None:
    plans = (("update_config", draft.spec.update), ("rollback_config", draft.spec.rollback))
    keys = [key for key, plan in plans if plan is not None and plan.order == "start-first"]
    if not keys:
        return None
    field = f"deploy.{keys[0]}.order"
    where = draft.where.get(field, Problem(code="", message="", field=field))
    return msgspec.structs.replace(
        where,
        code="start-first",
        message=f"{' and '.join(keys)} of {draft.name}: start-first is done as stop-first; a slot has one container at "
        "a time, and its cards are free only after that one has ended.",
        hint="With more replicas and parallelism: 1 the others go on while one slot changes",
    )


def _moved(control: Control, task: Task, new: Task) -> Batch:
    """A slot on its new way; cards that it was granted for a form that is given up go back at once."""
    held = control.cluster.ledger.held_by(task.id)
    more = tuple(card for card in held if card not in task.cards)
    dropped = bool(task.next_node) and not new.next_node and new.state != "waiting"
    return (PutTask(new, was=task.version), *((Give(task.id, more),) if dropped and more else ()))


def _changes(control: Control, job: Job, found: Step) -> Batch:
    now, tasks = control.clock.now(), {task.id: task for task in control.cluster.tasks_of(job.id)}
    if found.phase == "rolling-back":
        back = retarget.gone_back(job, tasks.values(), found.message, now)
        return (PutJob(back, was=job.version), _note(control, back, found), *aimed(control, job, back))
    if found.phase:
        turned = retarget.turned(job, found.phase, found.message, now)
        asked = (task for task in tasks.values() if task.wants_replace and found.phase in STANDS_STILL)
        kept = (PutTask(revise(task, wants_replace=False), was=task.version) for task in asked)
        return (PutJob(turned, was=job.version), _note(control, turned, found), *kept)
    ended = [(tasks[one], taken_down(job, tasks[one])) for one in found.end]
    revived = [(tasks[one], refill(tasks[one], job.generation)) for one in found.revive]
    puts = tuple(PutTask(new, was=task.version) for task, new in (*ended, *revived) if new is not None)
    if not puts:
        return ()
    slots = ", ".join(str(tasks[one].slot) for one in (*found.end, *found.revive))
    note = control.note("update-step", f"{job.name}: slot {slots} changes to the new form", job=job.id)
    guard = PutJob(msgspec.structs.replace(job, version=job.version + 1), was=job.version)
    return (guard, note, *puts)


def _note(control: Control, job: Job, found: Step) -> Note:
    said = {
        "paused": "the update stands still", "rolling-back": "the update failed and is rolled back",
        "rollback-paused": "the rollback stands still", "completed": "all slots are updated",
        "rolled-back": "all slots run the earlier form again",
    }[found.phase]  # fmt: skip
    text = f"{job.name}: {said}" + (f": {found.message}" if found.message else "")
    return control.note(KINDS[found.phase], text, job=job.id)
