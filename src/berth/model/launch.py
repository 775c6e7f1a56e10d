"""Everything that an engine needs to prepare or start one attempt of one task."""

import msgspec

from berth.model import marks
from berth.model.card import Card
from berth.model.job import Job
from berth.model.node import Node
from berth.model.spec import TaskSpec
from berth.model.stored import PlacedFile


class CardMount(msgspec.Struct, frozen=True, kw_only=True):
    """How granted cards get into a container, as data: M vendors and N engines stay strangers.

    `env` is set over whatever the user wrote. `device_ids` with `driver` make a device request or, with
    `cdi_kind`, CDI names. `devices` are host device nodes (AMD). All empty: nothing to mount (simulated).
    """

    env: dict[str, str] = {}
    driver: str = ""
    cdi_kind: str = ""
    device_ids: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    runtime: str = ""


class Handle(msgspec.Struct, frozen=True, kw_only=True):
    """What names an attempt on the engine: its slot's object (with the version to send next) and its own id."""

    object_id: str = ""
    object_version: int = 0
    engine_id: str = ""
    node: str = ""
    name: str = ""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to prepare or start. `name` is the slot's engine name (STACK_SERVICE or STACK_SERVICE-N).

    `node` is None while only preparing. `handle` names the slot's object when it exists, with the version that was
    committed with the grant, so that a late or repeated call fails harmlessly. `group_ids` are the node's gids
    of group names. `registry_auth` is the X-Registry-Auth value or "" (never logged, never in labels). `files` are the
    secrets and configs to mount, where the engine has no store of its own.
    """

    cluster: str
    job: Job
    task: str
    slot: int
    attempt: int
    name: str
    spec: TaskSpec
    node: Node | None = None
    cards: tuple[Card, ...] = ()
    mount: CardMount = CardMount()
    handle: Handle | None = None
    group_ids: dict[str, int] = {}
    registry_auth: str = ""
    files: tuple[PlacedFile, ...] = ()

    def labels(self) -> dict[str, str]:
        """The labels by which service and container are found again; `berth.spec` is added by the engine."""
        found = {
            marks.CLUSTER: self.cluster,
            marks.VERSION: "1",
            marks.JOB: self.job.id,
            marks.NAME: self.job.name,
            marks.SLOT: str(self.slot),
            marks.QUEUE: self.job.queue,
            marks.USER: self.job.user,
        }
        if self.job.stack:
            found |= {
                marks.NAMESPACE: self.job.stack,
                marks.STACK: self.job.stack,
                marks.SERVICE: self.job.service,
            }
        if self.job.native:
            return found
        return found | {
            marks.TASK: self.task,
            marks.ATTEMPT: str(self.attempt),
            marks.CARDS: ",".join(card.uuid for card in self.cards),
        }
