"""Which keys of a stack file are carried, which come later, and which Docker itself passes over: three tables.

A key in none of them is a mistake: `unknown` finds the nearest known one. `fields` reads what is carried.
"""

from collections.abc import Mapping as Dict

import msgspec

NEXT = "It comes with a later version; leave it out, or deploy this file with docker stack deploy."
_MEMORY = "Write deploy.resources.limits.memory"
_CPUS = "Write deploy.resources.limits.cpus"


class Section(msgspec.Struct, frozen=True):
    """The keys of one kind of mapping. `later` maps to what to do instead, `ignored` to why nothing happens."""

    name: str
    carried: frozenset[str]
    later: Dict[str, str] = {}
    ignored: Dict[str, str] = {}
    extras: bool = False

    def known(self) -> list[str]:
        """Every key that means something, for the search of the nearest."""
        return sorted({*self.carried, *self.later, *self.ignored})


def _later(*names: str, **hints: str) -> dict[str, str]:
    return {**dict.fromkeys(names, NEXT), **hints}


def _ignored(*names: str, why: str = "docker stack deploy ignores it, and so does Berth.") -> dict[str, str]:
    return dict.fromkeys(names, why)


TOP = Section(
    "the file",
    frozenset(("version", "services", "networks", "volumes", "secrets", "configs", "x-berth")),
    _later(
        "include",
        "models",
        name="Remove it: the stack's name is given to berth stack deploy.",
    ),
    extras=True,
)
SERVICE = Section(
    "a service",
    frozenset(
        (
            "image", "command", "entrypoint", "environment", "env_file", "user", "group_add", "secrets", "configs",
            "networks", "volumes", "healthcheck", "hostname", "working_dir", "labels", "stop_grace_period",
            "stop_signal", "init", "tty", "stdin_open", "read_only", "shm_size", "deploy", "runtime", "gpus",
            "restart", "privileged", "devices", "x-berth", "ports", "cap_add", "cap_drop", "sysctls", "ulimits", "dns",
            "dns_search", "dns_opt", "tmpfs", "ipc", "extra_hosts", "logging", "credential_spec", "isolation",
            "oom_score_adj",
        )
    ),
    _later(
        "annotations", "attach", "blkio_config", "cgroup", "device_cgroup_rules", "label_file", "oom_kill_disable",
        "platform",
        "post_start", "pre_stop", "provider", "pull_policy", "storage_opt", "use_api_socket", "uts", "volumes_from",
        "models", "develop", "profiles",
        extends="Write the other service's keys out, or use an anchor: <<: *name",
        mem_limit=_MEMORY, memswap_limit=_MEMORY, mem_swappiness=_MEMORY, mem_reservation=_MEMORY.replace(
            "limits", "reservations"), cpus=_CPUS, cpu_count=_CPUS, cpu_percent=_CPUS, cpu_period=_CPUS,
        cpu_quota=_CPUS, cpu_shares=_CPUS, cpuset=_CPUS, cpu_rt_period=_CPUS, cpu_rt_runtime=_CPUS,
        pids_limit="Write deploy.resources.limits.pids", scale="Write deploy.replicas",
        volume_driver="Write driver: under the volume in the file's volumes",
    ),
    {
        **_ignored(
            "build", "cgroup_parent", "cgroupns_mode", "domainname", "external_links", "links", "mac_address",
            "network_mode", "pid", "security_opt", "userns_mode",
        ),
        "container_name": "Docker names containers of a stack itself; docker stack deploy ignores it, too.",
        "expose": "services on one network reach each other on every port; docker stack deploy ignores it, too.",
        "depends_on": "docker stack deploy starts services in any order; let the program wait for what it needs.",
    },
    extras=True,
)  # fmt: skip
DEPLOY = Section(
    "deploy",
    frozenset(
        (
            "mode", "replicas", "labels", "placement", "resources", "restart_policy", "endpoint_mode", "update_config",
            "rollback_config",
        )
    ),
)  # fmt: skip
PLACEMENT = Section("placement", frozenset(("constraints", "preferences", "max_replicas_per_node")))
PREFERENCE = Section("a preference", frozenset(("spread",)))
ROLLOUT = Section(
    "a rollout", frozenset(("parallelism", "delay", "failure_action", "monitor", "max_failure_ratio", "order"))
)
PORT = Section(
    "a port",
    frozenset(("target", "published", "protocol", "mode")),
    _later("host_ip"),
    _ignored("name", "app_protocol", why="it names the port for other tools."),
)
ULIMIT = Section("a ulimit", frozenset(("soft", "hard")))
LOGGING = Section("logging", frozenset(("driver", "options")))
CREDENTIAL = Section("credential_spec", frozenset(("config", "file", "registry")))
RESOURCES = Section("resources", frozenset(("limits", "reservations")))
LIMITS = Section("limits", frozenset(("cpus", "memory", "pids")))
RESERVATIONS = Section(
    "reservations",
    frozenset(("cpus", "memory", "devices", "generic_resources")),
    {"pids": "Write it under deploy.resources.limits"},
)
RESERVATIONS_OF_JOB = Section("reservations", frozenset(("cpus", "memory")), {"devices": "Write gpus: N"})
DEVICE = Section("a device", frozenset(("driver", "count", "device_ids", "capabilities")), _later("options"))
GENERIC = Section("a generic resource", frozenset(("discrete_resource_spec",)), _later("named_resource_spec"))
DISCRETE = Section("discrete_resource_spec", frozenset(("kind", "value")))
RESTART = Section("restart_policy", frozenset(("condition", "delay", "max_attempts", "window")))
HEALTH = Section(
    "healthcheck",
    frozenset(("test", "interval", "timeout", "retries", "start_period", "start_interval", "disable")),
)
NETWORK_USE = Section(
    "a service's network",
    frozenset(("aliases", "driver_opts")),
    _later("link_local_ips", "mac_address", "priority", "gw_priority"),
    _ignored("ipv4_address", "ipv6_address", why="a service's tasks get addresses of their own; Docker ignores it."),
)
_MOUNT_IGNORED = "docker stack deploy takes it and does nothing with it; so does Berth."
VOLUME_USE = Section(
    "a mount",
    frozenset(("type", "source", "target", "read_only", "bind", "volume", "tmpfs", "image", "cluster", "consistency")),
)
BIND = Section(
    "bind",
    frozenset(("propagation",)),
    {},
    _ignored("create_host_path", "selinux", "recursive", why=_MOUNT_IGNORED),
)
VOLUME_OPTIONS = Section("volume", frozenset(("nocopy", "subpath")), {}, _ignored("labels", why=_MOUNT_IGNORED))
IMAGE_OPTIONS = Section("image", frozenset(("subpath",)))
CLUSTER_OPTIONS = Section("cluster", frozenset())
TMPFS = Section("tmpfs", frozenset(("size",)), {}, _ignored("mode", why=_MOUNT_IGNORED))
FILE_USE = Section("a secret or config", frozenset(("source", "target", "uid", "gid", "mode")))
_DOCKER_REFUSES = "Leave it out: docker stack deploy refuses it, too."
NETWORK = Section(
    "a network",
    frozenset(("name", "driver", "driver_opts", "ipam", "external", "internal", "attachable", "labels")),
    dict.fromkeys(("enable_ipv4", "enable_ipv6"), _DOCKER_REFUSES),
    extras=True,
)
IPAM = Section("ipam", frozenset(("driver", "config")), {"options": _DOCKER_REFUSES})
IPAM_CONFIG = Section(
    "ipam.config", frozenset(("subnet",)), dict.fromkeys(("gateway", "ip_range", "aux_addresses"), _DOCKER_REFUSES)
)
EXTERNAL = Section("external", frozenset(("name",)))
VOLUME = Section(
    "a volume",
    frozenset(("name", "driver", "driver_opts", "external", "labels")),
    {},
    {"x-cluster-spec": "docker stack deploy creates no cluster volume from it; docker volume create does."},
    extras=True,
)
SECRET = Section(
    "a secret",
    frozenset(("name", "external", "file", "environment", "driver", "driver_opts", "template_driver", "labels")),
    {"content": "Put it into a file and write file: PATH, so that it does not stand in the stack file."},
    extras=True,
)
CONFIG = Section(
    "a config",
    frozenset(("name", "external", "file", "content", "environment", "template_driver", "labels")),
    extras=True,
)
_SETTINGS = (
    "queue", "priority", "strategy", "preemptible", "class", "grace", "share", "tolerations", "affinity", "fallback",
    "else", "on-lost", "on_lost", "elastic", "urgency", "deadline", "gang_timeout", "movable", "array", "after",
    "roles", "model", "gpus", "overuse",
)  # fmt: skip
_WAIT = "It comes with a later version; leave it out."
BERTH = Section("x-berth", frozenset(("time", "lint")), dict.fromkeys(_SETTINGS, _WAIT))
JOB = Section(
    "a job",
    frozenset(
        (
            "name", "image", "command", "gpus", "model", "constraints", "env", "volumes", "secrets", "user",
            "resources", "restart", "time", "queue", "priority", "shm_size",
        )
    ),
    dict.fromkeys(
        ("array", "after", "roles", "fallback", "strategy", "preemptible", "class", "grace", "share", "tolerations",
         "affinity", "on_lost", "else"), _WAIT,
    ),
)  # fmt: skip
