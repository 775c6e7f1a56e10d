"""Jobs, their tasks (one per slot) and the attempts of a task: what is wanted and what became of it."""

from typing import Literal

import msgspec

from berth.model.image import Demand
from berth.model.rollout import Earlier, Fared, RolloutState
from berth.model.spec import Request, TaskSpec
from berth.model.stored import FileObject

JobState = Literal["waiting", "starting", "running", "stopping", "succeeded", "failed", "cancelled"]
TaskState = Literal[
    "waiting", "prepared", "starting", "running", "stopping", "restarting", "unknown", "ended", "failed"
]
EndReason = Literal[
    "", "exit", "oom", "killed", "cancelled", "removed-on-engine", "start-failed", "wrong-cards", "lost-cards",
    "node-lost", "time-limit", "max-attempts", "dependency", "preempted", "unhealthy", "replaced",
]  # fmt: skip
StopFor = Literal[
    "", "cancelled", "removed-on-engine", "requeue", "move", "replace", "scale", "time-limit", "wrong-cards",
    "unhealthy",
]  # fmt: skip
MOST_SLOTS = 10_000
"""The most replicas that a job may have."""


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One job: a stack's service or a `berth run`. `spec` is what its tasks run, `generation` counts its changes.

    `native` services (no cards, only the engine's own constraints) are placed by the engine itself; `applied` is the
    generation of such a service that the engine was last told.
    `demands` are what the image was found to demand of its cards; they are no part of the spec, so that a registry that
    is away for once changes no service.
    `stack` and `service` are "" for a job of its own. `engine_name` is slot 1's name on the engine.
    `rollout` is its latest update across slots, where Berth places them (None: there was none).
    `taking` is the engine's id of the service that the docker CLI made and that this job takes over, as long as that is
    there; `retiring`: nothing of that service is needed any more, it is to be removed.
    Times are seconds since the epoch. `seq` orders jobs that were submitted in the same instant.
    """

    id: str
    name: str
    spec: TaskSpec
    engine_name: str
    stack: str = ""
    service: str = ""
    queue: str = "default"
    user: str = ""
    priority: int = 50
    replicas: int = 1
    native: bool = False
    generation: int = 1
    applied: int = 0
    submitted_at: float = 0.0
    seq: int = 0
    held: bool = False
    cancelled: bool = False
    ended_at: float | None = None
    taking: str = ""
    retiring: bool = False
    warnings: tuple[str, ...] = ()
    demands: tuple[Demand, ...] = ()
    rollout: RolloutState | None = None
    version: int = 1

    @property
    def submission(self) -> tuple[float, int, str]:
        """Sorts jobs in the order of their submission."""
        return (self.submitted_at, self.seq, self.id)

    @property
    def request(self) -> Request:
        """What each task asks of a node, its image's demands included."""
        return asked(self.spec, self.demands)

    def spec_of(self, generation: int) -> TaskSpec:
        """What a slot runs that was started in this generation; the present spec when nothing else is known of it."""
        earlier = self._earlier(generation)
        return self.spec if earlier is None else earlier.spec

    def request_of(self, generation: int) -> Request:
        """What a slot of this generation asked for, its image's demands included."""
        earlier = self._earlier(generation)
        return self.request if earlier is None else asked(earlier.spec, earlier.demands)

    def _earlier(self, generation: int) -> Earlier | None:
        found = self.rollout.earlier if self.rollout is not None else ()
        return next((one for one in found if one.generation == generation), None)


def asked(spec: TaskSpec, demands: tuple[Demand, ...]) -> Request:
    """A spec's request with what its image demands."""
    return msgspec.structs.replace(spec.request, image=demands) if demands else spec.request


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One slot of a job through all its attempts. `id` is `JOB.SLOT`; a grant in the ledger belongs to this id.

    `attempt` numbers the current or latest run (0: none yet). `cards` are the cards of that attempt.
    `object_id` and `object_version` name the engine's object of the slot (a Swarm service) where there is one;
    `engine_id` is the container or engine task of the attempt. `stop_for` says why it is being stopped.
    `not_before` (seconds) is the end of a restart delay. `failed_at` holds the times of the ends that count
    against `max_attempts`. `reason`, `exit_code`, `error` describe the last end.
    `wants_replace`: it runs an older generation until another grant (`next_node`, `next_cards`) is committed.
    `fared` tells how it took the latest update. `digest` stands for what the slot's object asked for when the attempt
    began.
    `for_node` is the node that the slot is for, where its service has one on each (`mode: global`).
    `takes_over` is the engine's id of a task that Berth did not start and that still runs on the cards of this slot.
    `gone` is set once the engine no longer has anything of the latest attempt. `version` guards every write.
    """

    id: str
    job: str
    slot: int
    state: TaskState = "waiting"
    attempt: int = 0
    generation: int = 0
    node: str = ""
    cards: tuple[str, ...] = ()
    object_id: str = ""
    object_version: int = 0
    engine_id: str = ""
    stop_for: StopFor = ""
    stop_sent: bool = False
    not_before: float = 0.0
    failed_at: tuple[float, ...] = ()
    restarts: int = 0
    reason: EndReason = ""
    exit_code: int | None = None
    error: str = ""
    gone: bool = True
    granted_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    wants_replace: bool = False
    digest: str = ""
    next_node: str = ""
    next_cards: tuple[str, ...] = ()
    takes_over: str = ""
    for_node: str = ""
    fared: Fared | None = None
    version: int = 1


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The record of one run of a task, kept for `history` and `logs`; times are seconds since the epoch."""

    task: str
    attempt: int
    node: str
    cards: tuple[str, ...]
    engine_id: str = ""
    granted_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    reason: EndReason = ""
    error: str = ""


class Stack(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A deployed stack: its networks, volumes, and secrets and configs (`files`, without their content).

    `removing`: they go once no slot of it is left; volumes stay.
    """

    name: str
    user: str = ""
    networks: tuple["Network", ...] = ()
    volumes: tuple["Volume", ...] = ()
    files: tuple[FileObject, ...] = ()
    deployed_at: float = 0.0
    removing: bool = False


class Network(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A network of a stack, by its full name on the engine; an external one is only looked up."""

    name: str
    external: bool = False
    driver: str = ""
    driver_opts: dict[str, str] = {}
    attachable: bool = False
    internal: bool = False
    labels: dict[str, str] = {}
    ipam_driver: str = ""
    subnets: tuple[str, ...] = ()


class Volume(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named volume of a stack, by its full name on the engine; an external one must exist already."""

    name: str
    external: bool = False
    driver: str = ""
    driver_opts: dict[str, str] = {}
    labels: dict[str, str] = {}
