"""Any order of ends, silences, deployments and time: a rollout takes down no more than it may, and comes to its end."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.core.restart import Outcome, after_end
from berth.core.retarget import begun, gone_back, redirected, resumed, turned
from berth.core.rollout import after_end as fared_after
from berth.core.rollout import came_up, carried, follows, next_step, taken_down
from berth.model.job import Job, Task
from berth.model.lifecycle import LIVE, refill, step
from berth.model.rollout import Fared
from berth.model.spec import Request, Restart, Rollout, TaskSpec
from tests import build

SLOTS = 4
KINDS = ("deploy", "roll", "up", "fail", "stopped", "again", "silent", "return", "requeue", "grant", "pass", "resume")
moves = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, SLOTS)), max_size=60)
rollouts = st.builds(
    Rollout,
    parallelism=st.integers(0, 3),
    delay_s=st.sampled_from((0.0, 7.0)),
    failure_action=st.sampled_from(("pause", "continue", "rollback")),
    monitor_s=st.sampled_from((0.0, 5.0)),
    max_failure_ratio=st.sampled_from((0.0, 0.5)),
)
restarts = st.sampled_from((Restart(), Restart(condition="on-failure", max_attempts=1), Restart(condition="any")))


class World:
    """A job whose slots run, and all that control would do, as plain values; `down` are slots that an update took down
    and that have neither come up nor failed since.
    """

    def __init__(self, rollout: Rollout, restart: Restart) -> None:
        self.rollout, self.restart = rollout, restart
        self.now, self.version = 1000.0, 1
        self.job = build.job(spec=self.spec(), replicas=SLOTS)
        self.tasks = {
            slot: build.task(slot=slot, state="running", generation=1, attempt=1, granted_at=1.0, cards=("c",))
            for slot in range(1, SLOTS + 1)
        }
        self.down: set[int] = set()
        self.ran = {1: self.job.spec}

    def spec(self) -> TaskSpec:
        gpus = 1 + (self.version % 3 == 0)
        return TaskSpec(
            image=f"bb:{self.version}", request=Request(gpus=gpus), restart=self.restart, update=self.rollout,
            rollback=msgspec.structs.replace(self.rollout, failure_action="pause"),
        )  # fmt: skip

    def move(self, kind: str, slot: int) -> None:
        """One thing that happens, if it can."""
        getattr(self, kind if kind not in ("pass", "return") else f"{kind}_")(self.tasks[slot])

    def deploy(self, task: Task) -> None:
        self.version = self.version + 1 if task.slot % 2 else max(1, self.version - 1)
        self.aim(begun(self.job, msgspec.structs.replace(self.job, spec=self.spec()), self.tasks.values(), self.now))

    def aim(self, job: Job) -> None:
        for slot, task in self.tasks.items():
            self.tasks[slot] = redirected(task, self.job, job, self.now) or task
        self.job = job
        assert self.ran.setdefault(job.generation, job.spec).image == job.spec.image

    def resume(self, _: Task) -> None:
        if self.job.rollout is not None and self.job.rollout.phase in ("paused", "rollback-paused"):
            self.job = resumed(self.job, self.tasks.values(), self.now)

    def roll(self, _: Task) -> None:
        found = next_step(self.job, self.tasks.values(), self.now)
        by_id = {task.id: task for task in self.tasks.values()}
        for task_id in found.end:
            task = by_id[task_id]
            assert task.generation != self.job.generation, "a slot that runs the wanted form is touched"
            self.put(taken_down(self.job, task) or task)
            if self.tasks[task.slot].stop_for == "replace":
                self.down.add(task.slot)
        assert len(self.down) <= (self.rollout.parallelism or SLOTS) or not found.end
        for task_id in found.revive:
            self.put(refill(by_id[task_id], self.job.generation))
        if found.phase == "rolling-back":
            self.aim(gone_back(self.job, self.tasks.values(), found.message, self.now))
        elif found.phase:
            self.job = turned(self.job, found.phase, found.message, self.now)

    def put(self, task: Task) -> None:
        self.tasks[task.slot] = task

    def up(self, task: Task) -> None:
        if task.state in ("starting", "running"):
            running = step(task, "start", started_at=self.now) if task.state == "starting" else task
            self.put(msgspec.structs.replace(running, fared=came_up(self.job, running, self.now)))
            self.down.discard(task.slot)

    def fail(self, task: Task) -> None:
        if task.state in ("starting", "running"):
            self.end(task, Outcome(reason="exit", at=self.now, exit_code=task.slot % 2))

    def stopped(self, task: Task) -> None:
        if task.state == "stopping":
            self.end(task, Outcome(reason="exit", at=self.now, exit_code=143))

    def end(self, task: Task, outcome: Outcome) -> None:
        fared = fared_after(self.job, task, outcome)
        seen = msgspec.structs.replace(task, fared=fared)
        then = after_end(self.job.spec_of(task.generation).restart, task, outcome)
        then = follows(self.job, self.tasks.values(), seen, outcome, then)
        over = step(task, then.trigger, reason=then.reason, not_before=then.not_before, stop_for="", fared=fared)
        self.put(over)
        if task.stop_for != "replace" or over.state == "waiting":
            self.down.discard(task.slot)

    def again(self, task: Task) -> None:
        if task.state == "restarting" and task.not_before <= self.now:
            self.roll(task)  # a pass judges before it starts anything
        task = self.tasks[task.slot]
        if task.state == "restarting" and task.not_before <= self.now:
            self.put(
                step(task, "grant", generation=self.job.generation, granted_at=self.now, next_node="", stop_for="")
            )

    def begin(self, task: Task, **fields: object) -> None:
        about = {"generation": self.job.generation, "granted_at": self.now, "stop_for": "", **fields}
        self.put(step(task, "grant", fared=carried(task, self.job.generation), **about))

    def silent(self, task: Task) -> None:
        if task.state in ("starting", "running", "stopping"):
            self.put(step(task, "silent"))

    def return_(self, task: Task) -> None:
        if task.state == "unknown":
            self.put(step(task, "stop") if task.stop_for else step(task, "return"))

    def requeue(self, task: Task) -> None:
        if task.state in ("starting", "running"):
            self.put(step(task, "stop", stop_for="requeue"))

    def grant(self, task: Task) -> None:
        if task.state == "waiting":
            self.begin(task, reason="")
        elif task.wants_replace and task.state == "running":
            fields = {"next_node": "n", "next_cards": ("c", "d"), "wants_replace": False, "stop_for": "replace"}
            self.put(step(task, "stop", **fields))
            self.down.add(task.slot)

    def pass_(self, task: Task) -> None:
        self.now += 2.0 * task.slot

    def calm(self) -> None:
        """From now on all goes well, until nothing is left to do."""
        for _ in range(40 * SLOTS):
            for kind in ("return", "roll", "stopped", "again", "grant", "up", "pass"):
                for slot in self.tasks:
                    self.move(kind, slot)


@settings(max_examples=300, deadline=None)
@given(rollout=rollouts, restart=restarts, story=moves)
def test_any_story_takes_down_no_more_than_it_may_and_ends(
    rollout: Rollout, restart: Restart, story: list[tuple[str, int]]
) -> None:
    world = World(rollout, restart)
    for kind, slot in story:
        world.move(kind, slot)
    world.calm()
    state = world.job.rollout
    assert state is None or not state.under_way
    if state is not None and state.phase in ("completed", "rolled-back"):
        assert state.earlier == ()
        assert {task.generation for task in world.tasks.values() if task.state in LIVE} <= {world.job.generation}
        assert world.job.spec.image == world.ran[world.job.generation].image


@settings(max_examples=100, deadline=None)
@given(parallelism=st.integers(1, SLOTS), failing=st.integers(1, SLOTS), restart=restarts)
def test_a_rollback_ends_with_the_old_form_on_every_slot(parallelism: int, failing: int, restart: Restart) -> None:
    world = World(Rollout(parallelism=parallelism, failure_action="rollback"), restart)
    old = world.job.spec
    world.deploy(world.tasks[1])
    for _ in range(20 * SLOTS):
        for kind in ("roll", "stopped", "again"):
            world.move(kind, failing)
        for slot, task in list(world.tasks.items()):
            new = task.generation == 2 and slot == failing
            world.move("fail" if new and task.state == "starting" else "up", slot)
            world.move("stopped", slot)
            world.move("again", slot)
        world.now += 1.0
    assert world.job.rollout is not None
    assert (world.job.rollout.phase, world.job.spec) == ("rolled-back", old)
    assert [(task.state, task.generation, task.cards) for task in world.tasks.values()] == [
        ("running", 1, ("c",))
    ] * SLOTS
    assert world.tasks[failing].fared == Fared(1, world.tasks[failing].fared.at)  # type: ignore[union-attr]
