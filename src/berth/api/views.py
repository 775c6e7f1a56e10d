"""The objects of the API as JSON: what INTERFACE.md names, and a little more; `show` makes them from the cluster.

Times are RFC 3339 in UTC. What there is nothing of is null where it names something (an id, a reason, a time) and ""
where it is a sentence.
"""

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

import msgspec

from berth.model.card import CardState
from berth.model.job import JobState, TaskState
from berth.model.node import NodeState
from berth.model.rollout import Phase
from berth.model.token import Role

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list; `next` is the cursor of the following page, or null."""

    items: list[T]
    next: str | None = None


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """One wrong thing: what, where, and what to type instead. `berth explain CODE` tells more.

    `excerpt` is the line, without its first `cut` characters where it is long; values of secrets in it are stars.
    """

    code: str
    message: str
    field: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None
    excerpt: str = ""
    cut: int | None = None
    hint: str = ""


class Errors(msgspec.Struct, frozen=True):
    """Every answer that is a no. `exit_code` is the one with which the command line ends."""

    errors: list[Error]
    exit_code: int


class Holder(msgspec.Struct, frozen=True):
    """What one task holds of a card: thousandths of it, and MiB of its memory."""

    job: str
    task: str
    milli: int
    mib: int


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A card. `share` is the booked fraction; `job`, `job_name` and `task` are those of the first holder."""

    uuid: str
    node: str
    index: int
    vendor: str
    model: str
    memory_mib: int
    driver: str
    cuda: str
    state: CardState
    reason: str
    job: str | None
    job_name: str | None
    task: str | None
    share: float
    holders: list[Holder]
    declared: bool
    numa: int | None
    nvlink: tuple[str, ...]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node. `cards` counts its cards, `free` those that are wholly free; `agent` is the agent's version or null."""

    name: str
    engine: str
    state: NodeState
    reason: str
    labels: dict[str, str]
    taints: list[str]
    cards: int
    free: int
    agent: str | None
    agent_up: bool
    flag: str
    hostname: str
    role: str
    os: str
    arch: str
    cpus: float
    memory_mib: int
    withheld: tuple[str, ...]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One slot of a job. While it waits, `reason`, `message`, `position` say why; after its end, `reason` says how."""

    id: str
    job: str
    service: str | None
    slot: int
    attempt: int
    node: str | None
    cards: tuple[str, ...]
    state: TaskState
    engine_id: str | None
    exit_code: int | None
    error: str
    reason: str | None
    message: str
    position: int | None
    started_at: datetime | None
    ended_at: datetime | None


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """The latest update of a job across its slots; of a service that Swarm places, Swarm's own.

    `done` of `total` slots run the form that it goes to. `message` says how it goes, or why it stands still.
    """

    state: Phase
    message: str
    done: int
    total: int
    parallelism: int
    failure_action: str
    started_at: datetime | None
    ended_at: datetime | None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job: a stack's service or a `berth run`. `gpus` is what each task asks for (-1: every matching card)."""

    id: str
    name: str
    stack: str | None
    service: str | None
    queue: str
    user: str
    priority: int
    state: JobState
    reason: str | None
    message: str
    position: int | None
    expected_start: datetime | None
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    restarts: int
    taking: bool
    held: bool
    replicas: int
    gpus: int
    image: str
    warnings: tuple[str, ...]
    rollout: Rollout | None
    tasks: list[Task]


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a task, as `history` shows it."""

    job: str
    task: str
    slot: int
    attempt: int
    node: str | None
    cards: tuple[str, ...]
    engine_id: str | None
    granted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    reason: str | None
    error: str


class Refusal(msgspec.Struct, frozen=True):
    """One rule by which a node cannot take the job now, in words."""

    rule: str
    message: str


class NodeRefusals(msgspec.Struct, frozen=True):
    """All that stands against one node; nothing: it could take the job now."""

    node: str
    refusals: list[Refusal]


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job is as it is. `never`: no node that is known could ever take it; `would_start`: what starts instead."""

    job: str
    reason: str | None
    message: str
    position: int | None
    expected_start: datetime | None
    never: bool
    nodes: list[NodeRefusals]
    would_start: tuple[str, ...]


class TaskPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What one task would do now."""

    service: str
    slot: int
    node: str | None
    cards: tuple[str, ...]
    starts: Literal["now", "waits", "never"]
    why: str


class JobPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done to one job."""

    name: str
    change: Literal["create", "update", "keep", "remove"]
    tasks: list[TaskPlan]
    note: str


class Plan(msgspec.Struct, frozen=True):
    """What a submit or deploy would do now; nothing was created."""

    jobs: list[JobPlan]
    warnings: list[Error]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened; `seq` numbers them without a gap."""

    seq: int
    time: datetime | None
    kind: str
    actor: str
    job: str | None
    task: str | None
    node: str | None
    card: str | None
    message: str


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What there is of one model of card. `free`: can be given now; `used`: held by work; `waiting`: cards asked for by
    waiting tasks that this model could serve; `nodes`: how many nodes have it.
    """

    model: str
    memory_mib: int
    total: int
    free: int
    used: int
    waiting: int
    nodes: int


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """A deployed stack in numbers."""

    name: str
    user: str
    services: int
    tasks: int
    running: int
    waiting: int
    deployed_at: datetime | None


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret."""

    id: str
    role: Role
    name: str
    node: str | None
    created_at: datetime | None
    expires_at: datetime | None


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """A secret without its content. `used_by` names jobs that have not ended, and services of the engine."""

    name: str
    user: str | None
    stack: str | None
    created_at: datetime | None
    used_by: tuple[str, ...]


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token with its secret, which is shown this once."""

    id: str
    role: Role
    name: str
    node: str | None
    token: str
    warnings: list[Error]


class LogLine(msgspec.Struct, frozen=True):
    """One piece of output, with its line end."""

    time: datetime
    stream: str
    text: str
    task: str
    attempt: int


class Needs(msgspec.Struct, frozen=True):
    """Files (paths as the stack file writes them) and shell variables that the server must see, too; `contents` are
    files that become secrets and configs.
    """

    files: tuple[str, ...]
    variables: tuple[str, ...]
    contents: tuple[str, ...] = ()


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """A deployed stack: its jobs, what was done to each (by job name), and warnings. `needs` is null."""

    name: str
    jobs: list[Job]
    changes: dict[str, str]
    warnings: list[Error]
    needs: None = None


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """A merged stack file, as plain values (`config`) and as YAML (`text`). `needs` is null."""

    config: dict[str, Any]
    text: str
    warnings: list[Error]
    needs: None = None


class Unready(msgspec.Struct, frozen=True):
    """The stack was not deployed: send the bundle again with what is named here."""

    needs: Needs


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """What this server is."""

    version: str
    engine: str
    cluster: str
    api: str


class Ready(msgspec.Struct, frozen=True):
    """The server can take work. `ready` is false, and the status 503, while store or engine do not work."""

    ready: bool
    problems: list[str]
