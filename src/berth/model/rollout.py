"""An update across a job's slots: how far it is, how each slot fared. core.rollout decides, control/rollout acts."""

from typing import Literal

import msgspec

from berth.model.image import Demand
from berth.model.spec import TaskSpec

Phase = Literal["updating", "paused", "completed", "rolling-back", "rolled-back", "rollback-paused"]
UNDER_WAY: frozenset[Phase] = frozenset({"updating", "rolling-back"})
OVER: frozenset[Phase] = frozenset({"completed", "rolled-back"})


class Earlier(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a job asked for in an earlier generation; a slot may run it still, and a rollback may go back to it."""

    generation: int
    spec: TaskSpec
    replicas: int
    priority: int = 50
    queue: str = "default"
    demands: tuple[Demand, ...] = ()


class SeenUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's own update of a native service. Times are seconds since the epoch."""

    phase: Phase
    message: str = ""
    started_at: float = 0.0
    ended_at: float | None = None


class RolloutState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The latest update of a job towards its `generation`. Times are seconds since the epoch.

    `total` slots had to change when the phase began. `back_to` is the generation that a rollback goes to (0: none),
    the last one that all slots ran; `earlier` holds it and those that slots still run. `newest` is the highest
    generation that was ever used. `message` says how it ended, or why it stands still.
    """

    phase: Phase
    started_at: float
    total: int = 0
    ended_at: float | None = None
    message: str = ""
    back_to: int = 0
    newest: int = 1
    earlier: tuple[Earlier, ...] = ()

    @property
    def under_way(self) -> bool:
        """True while slots are still changed."""
        return self.phase in UNDER_WAY


class Fared(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a slot fared when it was first changed to a generation: up (healthy, where it has a check) or failed at `at`.

    `failed_at` is set when it never came up, or ended within the time for which it is watched.
    """

    generation: int
    at: float
    failed_at: float | None = None
