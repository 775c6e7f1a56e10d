"""What `diff` and `expire` may ask for: each is one guarded commit or one engine call that control makes."""

from typing import TypeAlias

import msgspec

from berth.core.restart import Outcome
from berth.model.launch import Handle
from berth.model.seen import Life, SlotObject


class Prepare(msgspec.Struct, frozen=True):
    """Create the slot's object on the engine; it cannot run yet."""

    task: str


class Prepared(msgspec.Struct, frozen=True):
    """The slot's object exists: remember it."""

    task: str
    object: SlotObject


class Start(msgspec.Struct, frozen=True):
    """The grant is committed and the engine shows nothing of the attempt: call it (again)."""

    task: str


class Started(msgspec.Struct, frozen=True):
    """The attempt was seen running."""

    task: str
    life: Life


class Ended(msgspec.Struct, frozen=True):
    """The attempt is over."""

    task: str
    outcome: Outcome


class Again(msgspec.Struct, frozen=True):
    """The restart delay is over: the next attempt on the same cards."""

    task: str


class Removed(msgspec.Struct, frozen=True):
    """A person removed the slot's object with the engine's own tools: a cancel. `running`: a container remains."""

    task: str
    running: bool


class Silent(msgspec.Struct, frozen=True):
    """The node of the attempt does not answer."""

    task: str


class Returned(msgspec.Struct, frozen=True):
    """The node answers again and the attempt still runs."""

    task: str


class Up(msgspec.Struct, frozen=True):
    """The attempt that runs is up: healthy, where it has a check."""

    task: str


class Unhealthy(msgspec.Struct, frozen=True):
    """The attempt's health check has failed."""

    task: str
    error: str


class Unplaceable(msgspec.Struct, frozen=True):
    """The engine cannot start what was granted (somebody took the room): back to the queue."""

    task: str
    reason: str
    message: str


class Overdue(msgspec.Struct, frozen=True):
    """The attempt has run for its time limit."""

    task: str


class Stop(msgspec.Struct, frozen=True):
    """Ask the engine to end the attempt: TERM, `grace_s` (None: the engine's own), KILL; with `remove` the slot's
    object goes, too.
    """

    task: str
    handle: Handle
    grace_s: float | None = None
    remove: bool = False


class Edited(msgspec.Struct, frozen=True):
    """The slot's object does not ask for what was last remembered: remember it, or put an edit by hand back."""

    task: str
    object: SlotObject


class Rescaled(msgspec.Struct, frozen=True):
    """A person set the number of replicas of a slot's object: they mean the job."""

    task: str
    replicas: int
    object: SlotObject


class Sweep(msgspec.Struct, frozen=True):
    """Remove what is left on the engine of a slot that is over, or that Berth does not know."""

    handle: Handle
    what: str
    task: str = ""


class Release(msgspec.Struct, frozen=True):
    """Nothing of the finished or queued task is left on the engine: its cards are free."""

    task: str


Action: TypeAlias = (
    Prepare
    | Prepared
    | Start
    | Started
    | Ended
    | Again
    | Removed
    | Silent
    | Returned
    | Up
    | Unhealthy
    | Unplaceable
    | Overdue
    | Stop
    | Edited
    | Rescaled
    | Sweep
    | Release
)
