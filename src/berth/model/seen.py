"""What an engine shows at one moment: nodes, the lives of attempts, the objects of slots, and what others run."""

from typing import Literal

import msgspec

from berth.model import marks
from berth.model.rollout import SeenUpdate
from berth.model.spec import TaskSpec

Health = Literal["", "starting", "healthy", "unhealthy"]
LifeState = Literal["pending", "starting", "running", "exited", "unknown"]


class SeenNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the engine reports it. `version` is for compare-and-swap; capacities in 1e-9 CPUs and bytes."""

    engine_id: str
    hostname: str
    version: int = 0
    ip: str = ""
    role: str = ""
    os: str = "linux"
    arch: str = ""
    labels: dict[str, str] = {}
    engine_labels: dict[str, str] = {}
    cpu_nano: int = 0
    memory_bytes: int = 0
    up: bool = True
    available: bool = True


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One life of one attempt: a container (or an engine's task) from creation until nothing of it is left.

    `node` is the engine's node id. `pending`: nothing holds a card yet. `unknown`: its node is silent.
    `exited`: the processes are gone. `killed` says that a person ended it with the engine's tools.
    `labels` are the container's; `object_id` is the slot's object ("" where the engine has none).
    `health` is what its check says of it ("": it has none, or the engine shows it running only once it is healthy).
    `spec` is what its job runs, read back from the engine where containers carry it (for a rebuild).
    """

    task: str
    job: str
    attempt: int
    node: str
    state: LifeState
    engine_id: str
    container_id: str = ""
    object_id: str = ""
    cards: tuple[str, ...] = ()
    exit_code: int | None = None
    oom: bool = False
    killed: bool = False
    error: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    labels: dict[str, str] = {}
    spec: TaskSpec | None = None
    health: Health = ""

    @property
    def healthy(self) -> bool:
        """True when it runs and no health check says otherwise, or has still to say."""
        return self.state == "running" and self.health in ("", "healthy")

    @property
    def alive(self) -> bool:
        """True when it may use its cards now: it is not over, and not only pending."""
        return self.state in ("running", "starting", "unknown")

    @property
    def runs(self) -> bool:
        """True when it is seen to be alive, since its node answers."""
        return self.state in ("running", "starting")

    @property
    def native(self) -> bool:
        """True for a task of a native service, whose lives the engine makes by itself."""
        return marks.TASK not in self.labels


class SlotObject(msgspec.Struct, frozen=True, kw_only=True):
    """The engine's object of one slot (a Swarm service). `attempt` 0: prepared, no run granted yet.

    `replicas` is what it asks for now; `constraints` are shown so that edits by hand are found. `digest` changes only
    with what the object asks for (`version` also changes with the engine's own notes on it: send it, but do not
    take a new one for an edit). `spec` is what the job runs, read back from the engine (for a rebuild). `update` is
    the engine's own latest update of a native service.
    """

    id: str
    name: str
    version: int
    task: str
    job: str
    attempt: int
    replicas: int = 1
    labels: dict[str, str] = {}
    constraints: tuple[str, ...] = ()
    native: bool = False
    created_at: float = 0.0
    digest: str = ""
    spec: TaskSpec | None = None
    update: SeenUpdate | None = None


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """Something that Berth did not start: a service, a container. `nodes` are engine node ids where it runs.

    `constraints` in the engine's words (for the guard before a label write); reservations are per running task.
    `stack` is the stack of a service that is there, `replicas` how many tasks it wants (None: not a plain number), and
    `tasks` are the engine's ids of its running ones, one for each of `nodes`, in the order of their numbers.
    `cards` are the values by which it names cards; `takes_cards` is True when it uses cards at all (an empty
    `cards` then means: which ones is not known).
    """

    id: str
    name: str
    kind: Literal["service", "container"]
    nodes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    cpu_nano: int = 0
    memory_bytes: int = 0
    takes_cards: bool = False
    cards: tuple[str, ...] = ()
    image: str = ""
    user: str = ""
    stack: str = ""
    replicas: int | None = None
    tasks: tuple[str, ...] = ()


class SeenPort(msgspec.Struct, frozen=True, kw_only=True):
    """A published port ("8080/tcp") of something that Berth did not place; `node` is the engine's id of the node where
    it is taken, "" for all of them. `holder` is the engine's id of what has it, `who` says it in words.
    """

    port: str
    node: str
    holder: str
    who: str


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One whole look at the engine. It began at `began` and ended at `ended` (the server's monotonic seconds):
    what Berth did to the engine after `began` may be missing from it.
    """

    began: float
    ended: float
    nodes: tuple[SeenNode, ...] = ()
    lives: tuple[Life, ...] = ()
    objects: tuple[SlotObject, ...] = ()
    others: tuple[Other, ...] = ()
    ports: tuple[SeenPort, ...] = ()
