"""What one task is to run and what it needs, free of any engine's or file format's words."""

from typing import Literal

import msgspec

from berth.model.image import Demand

RestartCondition = Literal["none", "on-failure", "any"]
ServiceMode = Literal["replicated", "global", "replicated-job", "global-job"]
Protocol = Literal["tcp", "udp", "sctp"]


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a task asks of a node. Tasks with equal requests are one shape for the scheduler.

    `gpus` is a number of whole cards of one node; `all_matching` means every matching card of one node.
    `named` are indices ("0") or full UUIDs or NODE/INDEX: exactly these cards (static). `constraints` are the
    texts of the constraint language, ANDed. `cpu_nano` (1e-9 CPUs) and `memory_bytes` are reservations.
    `pinned_node` ties the task to one node by name (a node-local volume). `ports` are the host ports that the task
    needs on its node for itself, as "8080/tcp", sorted; `ingress` those that it needs on the whole engine: admission
    derives both from `TaskSpec.ports`. `image` is what the image demands of each card: admission knows it, no file
    says it (see `Job.request`).
    """

    gpus: int = 0
    all_matching: bool = False
    named: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    cpu_nano: int = 0
    memory_bytes: int = 0
    pinned_node: str = ""
    generic: dict[str, int] = {}
    ports: tuple[str, ...] = ()
    ingress: tuple[str, ...] = ()
    image: tuple[Demand, ...] = ()

    @property
    def wants_cards(self) -> bool:
        """True when at least one card must be granted before the start."""
        return self.gpus > 0 or self.all_matching or bool(self.named)


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Ceilings that the engine enforces: 1e-9 CPUs, bytes, number of processes (-1: any number); 0 = not said."""

    cpu_nano: int = 0
    memory_bytes: int = 0
    pids: int = 0


class Restart(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a task runs again. `max_attempts` counts restarts (None: no limit); times are seconds."""

    condition: RestartCondition = "none"
    delay_s: float = 5.0
    max_attempts: int | None = None
    window_s: float = 0.0


class Mount(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A volume, bind, tmpfs or image. `source` is a volume's engine name, a host path, an image or a volume group; ""
    for anonymous and tmpfs. `bare`: the file gives options of a tmpfs that are all empty.
    """

    kind: Literal["bind", "volume", "tmpfs", "npipe", "cluster", "image"]
    source: str = ""
    target: str
    read_only: bool = False
    propagation: str = ""
    nocopy: bool = False
    driver: str = ""
    driver_opts: dict[str, str] = {}
    labels: dict[str, str] = {}
    tmpfs_bytes: int = 0
    subpath: str = ""
    consistency: str = ""
    bare: bool = False


class FileRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A secret or config that is mounted as a file. `source` is its name in the engine's store.

    `digest` is that of the content which the stack's own file had, so that another content is another spec.
    """

    source: str
    target: str
    uid: str = "0"
    gid: str = "0"
    mode: int = 0o444
    runtime: bool = False
    digest: str = ""


class NetworkUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """A network that the task joins, by its name on the engine, with the DNS aliases it gets there."""

    name: str
    aliases: tuple[str, ...] = ()
    driver_opts: dict[str, str] = {}


class Port(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A published port. `published` 0 lets the engine choose; "ingress" is the whole Swarm's, "host" the node's own."""

    target: int
    published: int = 0
    protocol: Protocol = "tcp"
    mode: Literal["ingress", "host"] = "ingress"


class Rollout(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How slots change to another generation (`update_config`, `rollback_config`), as Docker's fields and defaults.

    `parallelism` 0 means all at once; `delay_s` lies between two rounds; a slot is watched for `monitor_s` after its
    start; the rollout has failed when more than `max_failure_ratio` (0 to 1) of its slots did.
    """

    parallelism: int = 1
    delay_s: float = 0.0
    failure_action: Literal["pause", "continue", "rollback"] = "pause"
    monitor_s: float = 5.0
    max_failure_ratio: float = 0.0
    order: Literal["stop-first", "start-first"] = "stop-first"


class Healthcheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """`test` as Docker takes it (("NONE",) disables); times in nanoseconds, 0 = the image's."""

    test: tuple[str, ...] = ()
    interval_ns: int = 0
    timeout_ns: int = 0
    start_period_ns: int = 0
    start_interval_ns: int = 0
    retries: int = 0


class Ulimit(msgspec.Struct, frozen=True):
    """A limit of the kernel by its name ("nofile"); -1 means none."""

    name: str
    soft: int
    hard: int


class Logging(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the output goes: a log driver ("": the daemon's own) with its options."""

    driver: str = ""
    options: dict[str, str] = {}


class Credential(msgspec.Struct, frozen=True, omit_defaults=True):
    """A Windows credential spec: one of a config (its name in the engine's store), a file, a registry key."""

    config: str = ""
    file: str = ""
    registry: str = ""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the daemon puts around the processes of a container.

    Capabilities are spelled CAP_X (or ALL) and sorted; `hosts` are (name, address) lines of /etc/hosts; `tmpfs` are
    PATH or PATH:OPTIONS, and `ipc` a mode, both for engines whose containers can have them.
    """

    cap_add: tuple[str, ...] = ()
    cap_drop: tuple[str, ...] = ()
    sysctls: dict[str, str] = {}
    ulimits: tuple[Ulimit, ...] = ()
    dns: tuple[str, ...] = ()
    dns_search: tuple[str, ...] = ()
    dns_options: tuple[str, ...] = ()
    hosts: tuple[tuple[str, str], ...] = ()
    logging: Logging | None = None
    credential: Credential | None = None
    isolation: str = ""
    oom_score_adj: int = 0
    tmpfs: tuple[str, ...] = ()
    ipc: str = ""


class Spread(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an engine that places a service itself shares it out: over the values of these labels, in this order;
    `max_per_node` 0 means no ceiling.
    """

    over: tuple[str, ...] = ()
    max_per_node: int = 0


class Pinned(msgspec.Struct, frozen=True, omit_defaults=True):
    """An image as its registry had it when a stack was deployed: its name with the digest ("": not known), and the
    (operating system, architecture) pairs that it is made for, with "" where any will do.
    """

    image: str = ""
    platforms: tuple[tuple[str, str], ...] = ()


class TaskSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What each task of a job runs. `command` replaces the image's entrypoint, `args` its command (None: keep).

    `env` are (name, value) pairs in order; a value of None unsets. `labels` go to the engine's service,
    `container_labels` to the container. `time_limit_s` is per attempt. `shm_bytes` 0 = the engine's default.
    `update` and `rollback` None: the file says nothing of them. `explicit` names what
    the file gives with the value that counts anyway ("limits", "restart.delay"), for engines that show the difference.
    `pinned` is the
    image that is to run, where that is told from `image`, which is as the file writes it.
    """

    image: str
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[tuple[str, str | None], ...] = ()
    user: str = ""
    groups: tuple[str, ...] = ()
    workdir: str = ""
    hostname: str = ""
    labels: dict[str, str] = {}
    container_labels: dict[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    networks: tuple[NetworkUse, ...] = ()
    secrets: tuple[FileRef, ...] = ()
    configs: tuple[FileRef, ...] = ()
    healthcheck: Healthcheck | None = None
    stop_signal: str = ""
    stop_grace_s: float | None = None
    init: bool | None = None
    tty: bool = False
    stdin_open: bool = False
    read_only: bool = False
    shm_bytes: int = 0
    request: Request = Request()
    limits: Limits = Limits()
    restart: Restart = Restart()
    time_limit_s: float | None = None
    mode: ServiceMode = "replicated"
    ports: tuple[Port, ...] = ()
    endpoint_mode: Literal["", "vip", "dnsrr"] = ""
    update: Rollout | None = None
    rollback: Rollout | None = None
    around: Surroundings = Surroundings()
    spread: Spread = Spread()
    explicit: tuple[str, ...] = ()
    pinned: Pinned = Pinned()

    @property
    def restart_in_force(self) -> Restart:
        """When a task runs again: that of a job (`mode: replicated-job`, `global-job`) never after a success."""
        ends = self.mode in ("replicated-job", "global-job") and self.restart.condition == "any"
        return msgspec.structs.replace(self.restart, condition="on-failure") if ends else self.restart
