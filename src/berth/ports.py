"""The whole seam on one page: what the loop needs from engines, vendors, stores and the clock."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from berth.model.capabilities import Capabilities as Capabilities
from berth.model.card import Card, Room, Share
from berth.model.card import Use as Use
from berth.model.change import Batch
from berth.model.errors import Problem
from berth.model.event import Event
from berth.model.image import RegistryAnswer
from berth.model.job import Attempt, Job, Network, Stack, Task
from berth.model.launch import CardMount, Handle, Launch
from berth.model.node import Node
from berth.model.seen import Observed, SlotObject
from berth.model.spec import Pinned, TaskSpec
from berth.model.stored import Content, FileKind, KeptFile, NewFile, SeenFile
from berth.model.token import Token
from berth.model.wire import Down, Up


class Clock(Protocol):
    """Time for control; the simulator hands in a virtual one."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Loaded(msgspec.Struct, kw_only=True):
    """All that the server keeps in memory, as the store holds it at the start."""

    jobs: list[Job] = []
    tasks: list[Task] = []
    nodes: list[Node] = []
    cards: list[tuple[Card, Room]] = []
    grants: list[tuple[str, Share]] = []
    stacks: list[Stack] = []
    tokens: list[Token] = []
    files: list[KeptFile] = []
    last_event: int = 0


class Store(Protocol):
    """The truth after a crash. Not safe for use by several threads at once: one writer owns it.

    `open` raises StoreTooNew for a newer schema and StoreInUse when another server holds it. Every call raises
    StoreBroken when the database itself fails.
    """

    def open(self) -> None:
        """Open or create the database, bring its schema up to date, take the lock, raise the epoch."""
        ...

    def close(self) -> None:
        """Close; nothing that was committed is lost."""
        ...

    def load(self) -> Loaded:
        """Everything that is live: jobs not ended (and the newest ended ones), their tasks, the ledger.

        Ended jobs come first, oldest end first, then live ones in the order of their submission. An ended job is
        there however old it is while one of its tasks is unfinished or holds cards, or while its stack exists.
        """
        ...

    def commit(self, batches: Sequence[Batch]) -> list[Exception | None]:
        """Make each batch a unit, all in one transaction with one flush to disk.

        A batch that fails (Stale, DoubleGrant) is undone alone and its exception returned in its place; its
        neighbours are kept. Raises Superseded, or what the database raised: then nothing of any is kept.
        """
        ...

    def events(self, after: int, limit: int, job: str = "") -> list[Event]:
        """Stored events with seq > `after`, oldest first, at most `limit`; of one job when named."""
        ...

    def attempts(self, job: str) -> list[Attempt]:
        """All attempts of all slots of a job, by slot, then attempt."""
        ...

    def job(self, key: str) -> tuple[Job, list[Task]] | None:
        """A job by id with its tasks, ended ones included."""
        ...

    def ended_jobs(self, before: float, limit: int) -> list[tuple[Job, list[Task]]]:
        """Ended jobs, newest end first, that ended before `before` (seconds)."""
        ...

    def find_ended(self, name: str, limit: int = 20) -> list[Job]:
        """The newest ended jobs of this name."""
        ...

    def remembered(self, key: str) -> tuple[str, bytes] | None:
        """Body hash and response kept for an idempotency key."""
        ...

    def meta(self, key: str) -> str | None:
        """A small fact about the cluster (cluster id, epoch, schema)."""
        ...

    def set_meta(self, key: str, value: str) -> None:
        """Keep such a fact."""
        ...

    def prune(self, events_before: float, jobs_before: float, remembered_before: float) -> list[str]:
        """Forget events, ended jobs and idempotency keys older than these times (seconds); the ids of those jobs.

        The newest event is kept, so that numbers never start again; so is a job that `load` must bring.
        """
        ...


class StoreTooNew(Exception):
    """The database was written by a newer Berth."""


class StoreInUse(Exception):
    """Another server has this database open."""


class StoreBroken(Exception):
    """The database failed (disk full, damaged, locked, gone): says what and what to do; nothing of the call is kept.

    `unknown`: a connection broke while committing, so it may have been kept; only a fresh `load` can tell.
    """

    def __init__(self, message: str, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown


class LogLine(msgspec.Struct, frozen=True):
    """A piece of output: time (seconds since the epoch), "stdout" or "stderr", and text with its line end."""

    time: float
    stream: str
    text: str


class LogStore(Protocol):
    """Keeps the newest 10 MB of each attempt's output."""

    def append(self, task: str, attempt: int, lines: Sequence[LogLine]) -> None:
        """Add lines."""
        ...

    def read(self, task: str, attempt: int, since: float = 0.0, tail: int | None = None) -> list[LogLine]:
        """Lines newer than `since`, only the last `tail` of them when given."""
        ...

    def last_time(self, task: str, attempt: int) -> float:
        """Time of the newest line kept; 0.0 when there is none."""
        ...

    def drop(self, job: str) -> None:
        """Forget all output of a job."""
        ...


class EngineIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Which engine this is: `id` is the Swarm's or daemon's own id; `warnings` are sentences for a person."""

    id: str
    version: str
    warnings: tuple[str, ...] = ()


class FileStore(Protocol):
    """Secrets and configs by name. Calls raise EngineError (nothing done) or EngineUnknown, as those of an engine."""

    async def all(self, kind: FileKind) -> tuple[SeenFile, ...]:
        """What is there, by name."""
        ...

    async def changed(self, files: tuple[NewFile, ...]) -> tuple[Problem, ...]:
        """Of the files that are there already, those that cannot become what they shall be: nothing is written."""
        ...

    async def ensure(self, files: tuple[NewFile, ...], stack: str, user: str) -> None:
        """Create what is missing and bring the labels of the rest up to date, as the engine's own CLI would.

        Raises BadInput for one whose content the engine will not change.
        """
        ...

    async def create(self, new: NewFile, user: str) -> None:
        """Create one by hand. Raises BadInput when the name is taken."""
        ...

    async def remove(self, kind: FileKind, name: str) -> None:
        """Remove one. Raises EngineError while it is in use; what is gone already is not an error."""
        ...

    async def remove_stack(self, stack: str) -> tuple[str, ...]:
        """Remove all that a stack created; the names of what stays since others use it."""
        ...


class Vault(Protocol):
    """Encrypts what Berth keeps, and tells contents apart by a keyed hash."""

    def seal(self, content: Content, name: str) -> bytes:
        """The content, encrypted for this name."""
        ...

    def unseal(self, sealed: bytes, name: str) -> Content:
        """The content again. Raises Refused when the key is another one."""
        ...

    def digest(self, content: Content) -> str:
        """A short keyed hash of the content, KEY-HASH: digests of different keys say nothing of each other."""
        ...


class Engine(Protocol):
    """What runs containers. Every call raises EngineError (a definite no, nothing done), its child StaleVersion,
    or EngineUnknown (it may have happened: only `observe` can tell).
    """

    name: str
    capabilities: Capabilities

    @property
    def files(self) -> FileStore | None:
        """Its store of secrets and configs; None: it has none, and Berth keeps them (`Launch.files` brings them)."""
        ...

    async def open(self) -> EngineIdentity:
        """Connect, negotiate the version, refuse what cannot work (rootless Docker, not a manager)."""
        ...

    async def close(self) -> None:
        """Leave; what runs goes on."""
        ...

    async def claim(self, cluster: str, now: float) -> str:
        """Hold the engine for this cluster, again every 20 s; "" or the id of another Berth that holds it.

        `now` (seconds since the epoch) of 0 gives it up. An engine that one data folder guards has nothing to claim.
        """
        ...

    async def observe(self) -> Observed:
        """One whole, consistent look: every life and object that carries Berth's labels of any cluster."""
        ...

    def changes(self) -> AsyncIterator[str]:
        """Say that something changed, for as long as the engine is open; survives reconnects. A hint, not truth."""
        ...

    async def problems(self, spec: TaskSpec, networks: tuple[Network, ...]) -> tuple[Problem, ...]:
        """What the spec names and the engine lacks: secrets, configs, external networks, runtimes."""
        ...

    async def pin(self, image: str, auth: str) -> Pinned:
        """The image by the digest that its registry has now; nothing where it is not told, or the engine needs none.

        `auth` is the X-Registry-Auth value, or "".
        """
        ...

    async def image(self, name: str, auth: str) -> RegistryAnswer:
        """What the image's registry says of it, asked as the engine's hosts would; `auth` is an X-Registry-Auth value.

        A registry that does not answer is an answer ("unreachable"); verdict "" where the engine has no registries.
        """
        ...

    async def ensure_stack(self, stack: Stack) -> None:
        """Create the stack's networks (and volumes where the engine needs it); what exists stays."""
        ...

    async def remove_stack(self, stack: Stack) -> None:
        """Remove the stack's networks once no slot of it is left; what is gone already is not an error."""
        ...

    async def prepare(self, launch: Launch) -> Handle:
        """Create the slot's object in a form that cannot run yet. A repeat returns the object that exists."""
        ...

    async def start(self, launch: Launch) -> Handle:
        """Start the attempt on its node with its cards: by the name of slot and attempt, so a repeat is harmless."""
        ...

    async def stop(self, handle: Handle, grace_s: float | None) -> None:
        """TERM, grace (None: the spec's or the engine's own), KILL; keeps the slot's object. Returns once asked."""
        ...

    async def remove(self, handle: Handle) -> None:
        """Remove what is left of the slot: object and container. What is gone already is not an error."""
        ...

    async def apply_native(self, launch: Launch) -> Handle:
        """Create or update the native service of a job (its replicas included), as the engine's own CLI would."""
        ...

    async def unlike(self, launch: Launch, service: str) -> tuple[str, ...]:
        """In which fields a service of the docker CLI's differs from what a native job asks for; empty: in none."""
        ...

    async def take_over_native(self, launch: Launch, service: str) -> Handle:
        """Put a native job's marks on a service that the docker CLI made; its tasks go on. A repeat is harmless."""
        ...

    async def resize(self, service: str, replicas: int) -> None:
        """Let a service that is being taken over have so many tasks; the engine chooses which of them end."""
        ...

    async def restore_replicas(self, seen: SlotObject) -> None:
        """A person scaled a slot's object: set it back to one replica (the job is scaled instead)."""
        ...

    def logs(self, handle: Handle, since: float, follow: bool) -> AsyncIterator[LogLine]:
        """Output of an attempt from `since` (seconds) on; ends when it ends, or at once without `follow`."""
        ...

    async def write_labels(self, node: Node, put: dict[str, str], drop: tuple[str, ...]) -> int:
        """Change node labels by compare-and-swap on `node.engine_version`; the new version. StaleVersion when late."""
        ...


class Vendor(Protocol):
    """A kind of card, three verbs (as Nomad's device plugins: fingerprint, reserve, stats).

    The server uses `mount` alone; the agent on the node uses the other two.
    """

    name: str

    @property
    def faults(self) -> tuple[Problem, ...]:
        """What the latest `discover` had to leave out; empty when all is well."""
        ...

    def discover(self) -> tuple[Card, ...]:
        """The cards of this host. Raises VendorAbsent when there is no such driver; blocking: use a thread."""
        ...

    def usage(self) -> tuple[Use, ...]:
        """What the cards do now; blocking."""
        ...

    def mount(self, cards: tuple[Card, ...]) -> CardMount:
        """How these cards get into a container, as data; needs no driver."""
        ...


class VendorAbsent(Exception):
    """The vendor's driver is not on this host, or does not work: says which and what to do."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.message} {problem.hint}".strip())
        self.problem = problem


class AgentPeer(Protocol):
    """One connected agent as the server sees it; the WebSocket and the agent in the server's own process look alike."""

    async def receive(self) -> Up | None:
        """The next message that this version understands; None once the agent is gone."""
        ...

    async def send(self, message: Down) -> None:
        """Say something to it; nothing happens when it is gone."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...
