"""The loop: one small controller per duty, each run when its bell rings; order and pace of the whole server."""

import asyncio
import contextlib
import traceback
from collections.abc import Awaitable, Callable

from berth.control.context import Control
from berth.control.label import Labeller
from berth.control.nodes import sync_nodes
from berth.control.place import Placer
from berth.control.rebuild import rebuild
from berth.control.reclaim import Reclaimer
from berth.control.reconcile import Reconciler
from berth.control.tidy import keep_tidy
from berth.core.handover import waits_for_name
from berth.model.change import Superseded
from berth.model.errors import BerthError, EngineError, EngineUnknown, Refused

BUSY_S = 0.2
"""Between two looks while something starts, stops, or runs while others wait, on an engine that gives no hints."""
CALM_S = 1.0
IDLE_S = 3.0
CLAIM_S = 20.0
AWAY_S = 0.5
"""After an engine that did not answer."""
FAULT_S = 1.0
"""After a fault of Berth's own."""
LABEL_PACE_S = 0.1
PACE_S = 0.01
"""The least pause after a pass: what comes meanwhile is done together. A first change is never waited with."""
LONGEST_PAUSE_S = 0.25


class Loop:
    """Owns the controllers and their tasks; `begin` does the first full round before any grant."""

    def __init__(self, control: Control, log: Callable[[str], None]) -> None:
        self.control = control
        self.placer = Placer(control)
        self.reconciler = Reconciler(control)
        self.reclaimer = Reclaimer(control)
        self.labeller = Labeller(control)
        self.superseded = asyncio.Event()
        self._log = log
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Look, bring nodes and tasks in line, then start all controllers. Raises EngineError when it cannot look."""
        await self._claim()
        for _, task in self.control.cluster.work.in_play():
            if task.stop_sent:  # an earlier server's stop: its grace is counted from now
                self.control.calls.settled[task.id] = self.control.clock.monotonic()
        await self.look()
        assert self.control.look is not None
        await rebuild(self.control, self.control.look)
        await self.reconciler.run()
        await self.reclaimer.run()
        for job, task in self.control.cluster.work.unfinished():
            if task.state in ("running", "stopping") and not job.native:
                self.control.keeper.follow(task.id)
        duties = {
            "reconcile": (self.reconciler.run, PACE_S),
            "reclaim": (self.reclaimer.run, PACE_S),
            "place": (self.placer.run, PACE_S),
            "label": (self.labeller.run, LABEL_PACE_S),
        }
        for name, (duty, pace) in duties.items():
            self._tasks.append(asyncio.create_task(self._on_bell(name, duty, pace), name=name))
        self._tasks += [
            asyncio.create_task(self._on_bell("observe", self._observe, PACE_S, self._pace), name="observe"),
            asyncio.create_task(self._hints(), name="hints"),
            asyncio.create_task(self._claiming(), name="claim"),
            asyncio.create_task(keep_tidy(self.control), name="tidy"),
            asyncio.create_task(self._alarm(), name="alarm"),
        ]
        self.control.wake("place", "label", "reclaim")

    async def end(self) -> None:
        """Stop all controllers; what runs on the engine goes on."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(BerthError):
            await self.control.engine.claim(self.control.settings.cluster_id, 0.0)
        await self.control.images.close()
        await self.control.calls.close()
        await self.control.keeper.close()

    async def look(self) -> None:
        """One look at the engine, and nodes and cards brought in line with it."""
        control = self.control
        look = await control.engine.observe()
        control.engine_trouble = ""
        await sync_nodes(control, look)
        control.look = look
        freed = control.cluster.sight.take(look, control.engine.capabilities.slot_objects)
        if control.views.for_names and freed:
            control.wake("place")
        control.looked.set()

    async def _claim(self) -> None:
        """Hold the engine for this cluster. Raises Refused when another Berth holds it."""
        other = await self.control.engine.claim(self.control.settings.cluster_id, self.control.clock.now())
        if other:
            raise Refused.of(
                "engine-taken",
                f"another Berth ({other}) manages this {self.control.engine.name}: two would give its cards twice.",
                "Stop that one (a minute after it was killed its claim is void), or use its data folder: --data DIR",
            )

    async def _claiming(self) -> None:
        while True:
            await self.control.clock.sleep(CLAIM_S)
            try:
                await self._claim()
            except Refused as error:
                self._log(str(error))
                self.superseded.set()
                return
            except EngineError as error:
                self.control.trouble(str(error))

    async def _observe(self) -> None:
        with contextlib.suppress(TimeoutError):  # many services are made: each rings, and a look at all takes its time
            async with asyncio.timeout(LONGEST_PAUSE_S):
                await self.control.calls.idle.wait()
        try:
            await self.look()
        except (EngineError, EngineUnknown) as error:
            self.control.trouble(str(error))
            await self.control.clock.sleep(AWAY_S)
            return
        self.control.wake("reconcile", "reclaim")

    async def _rest(self, began: float, pace: float) -> None:
        """Leave time for others: the longer a pass took, the longer the pause."""
        took = self.control.clock.monotonic() - began
        await self.control.clock.sleep(max(pace, min(took / 2, LONGEST_PAUSE_S)))

    def _pace(self) -> float:
        """How long to wait for a hint before looking unasked."""
        states = {task.state for task in self.control.cluster.work.active.values()}
        moving = bool(states & {"starting", "stopping", "restarting"})
        if self.control.engine.capabilities.hints_all:
            return CALM_S if moving else IDLE_S
        contended = "running" in states and bool(self.control.cluster.work.waiting)
        return BUSY_S if moving or contended else (CALM_S if self.control.cluster.work.open else IDLE_S)

    async def _on_bell(
        self, name: str, duty: Callable[[], Awaitable[None]], pace: float, patience: Callable[[], float] | None = None
    ) -> None:
        """Do the duty each time its bell rings, and where it has `patience` after so many seconds without that, too."""
        bell = self.control.bell(name)
        while not self.superseded.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience() if patience else None):
                    await bell.wait()
            bell.clear()
            began = self.control.clock.monotonic()
            await self._once(name, duty)
            await self._rest(began, pace)

    async def _once(self, name: str, duty: Callable[[], Awaitable[None]]) -> None:
        try:
            await duty()
        except (EngineError, EngineUnknown) as error:
            self.control.trouble(str(error))
        except Superseded:
            self.superseded.set()
        except Exception:  # noqa: BLE001 - a fault in one pass must not end the loop; it is told whole
            self._log(traceback.format_exc())
            await self.control.clock.sleep(FAULT_S)
            self.control.wake(name)

    async def _hints(self) -> None:
        async for _ in self.control.engine.changes():
            self.control.wake("observe")

    async def _alarm(self) -> None:
        """Run reconcile when a restart delay, a time limit or a rollout is due."""
        bell = self.control.bell("alarm")
        while True:
            due = self._next_due()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if due is None else max(0.0, due - self.control.clock.now())):
                    await bell.wait()
            bell.clear()
            due = self._next_due()
            if due is not None and due <= self.control.clock.now():
                self.control.wake("reconcile", "place")
                await self.control.clock.sleep(0.05)

    def _next_due(self) -> float | None:
        times = []
        for job, task in self.control.cluster.work.in_play():
            if task.state == "restarting" and not (task.takes_over or waits_for_name(job, task.slot)):
                times.append(task.not_before)
            elif task.state == "running" and job.spec.time_limit_s is not None and task.started_at is not None:
                times.append(task.started_at + job.spec.time_limit_s)
        rollouts = self.reconciler.roller.next_due()
        return min(times if rollouts is None else [*times, rollouts], default=None)
