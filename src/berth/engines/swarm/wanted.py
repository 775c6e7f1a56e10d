"""Writes the service that a launch asks for: a slot's own, prepared or started, and a native one as the CLI would."""

from typing import Any

from berth.dockerapi import marks, shapes
from berth.model.launch import Launch
from berth.model.spec import Restart, TaskSpec

NOWHERE = "berth-waiting"
WAITING = f"node.id=={NOWHERE}"
DOCKERS_RESTART = Restart(condition="any")
BOOKKEEPING_NS = 1
"""How long Swarm watches an update: nothing, so that it writes its last word on the service at once."""

Files = list[dict[str, Any]]


def slot_service(launch: Launch, secrets: Files, configs: Files) -> dict[str, Any]:
    """The service of one slot: one task at most, never restarted by Swarm, on the granted node or on none yet."""
    where = f"node.id=={launch.node.engine_id}" if launch.node else WAITING
    template = _template(launch, secrets, configs)
    template["ContainerSpec"]["CapabilityDrop"] = shapes.NO_DEVICE_NODES if launch.cards else []
    template["Placement"] = {"Constraints": [where], "MaxReplicas": 1}
    template["RestartPolicy"] = {"Condition": "none"}
    template["ForceUpdate"] = launch.attempt
    return {
        "Name": launch.name,
        "Labels": marks.object_labels(launch),
        "TaskTemplate": template,
        "Mode": {"Replicated": {"Replicas": 1}},
        "EndpointSpec": {"Mode": "dnsrr"},
        "UpdateConfig": {
            "Parallelism": 0,
            "Monitor": BOOKKEEPING_NS,
            "FailureAction": "continue",
            "Order": "stop-first",
        },
    }


def native_service(launch: Launch, secrets: Files, configs: Files) -> dict[str, Any]:
    """The service that `docker stack deploy` would create, with Berth's labels and no cards."""
    template = _template(launch, secrets, configs)
    template["ContainerSpec"]["Privileges"] = {"NoNewPrivileges": False}
    template["Placement"] = shapes.kept({"Constraints": list(launch.spec.request.constraints)})
    if launch.spec.restart != DOCKERS_RESTART:
        template["RestartPolicy"] = _restart(launch.spec.restart)
    labels = marks.object_labels(launch)
    if launch.job.stack:
        labels["com.docker.stack.image"] = launch.spec.image
    return {
        "Name": launch.name,
        "Labels": labels,
        "TaskTemplate": template,
        "Mode": {"Replicated": {"Replicas": launch.job.replicas}},
        "EndpointSpec": {},
    }


def _template(launch: Launch, secrets: Files, configs: Files) -> dict[str, Any]:
    return {
        "ContainerSpec": {**_container(launch), "Secrets": secrets, "Configs": configs},
        "Resources": _resources(launch.spec),
        "Networks": [
            {"Target": use.name, "Aliases": shapes.aliases(launch, use.aliases)} for use in launch.spec.networks
        ],
    }


def _container(launch: Launch) -> dict[str, Any]:
    spec = launch.spec
    mounts = shapes.mounts(spec)
    if spec.shm_bytes:
        mounts.append({"Type": "tmpfs", "Target": "/dev/shm", "TmpfsOptions": {"SizeBytes": spec.shm_bytes}})  # noqa: S108
    document = {
        "Image": spec.image,
        "Command": list(spec.command or ()),
        "Args": list(spec.args or ()),
        "Env": shapes.environment(launch),
        "Labels": marks.container_labels(launch),
        "User": spec.user,
        "Groups": shapes.groups(launch),
        "Dir": spec.workdir,
        "Hostname": spec.hostname,
        "Mounts": mounts,
        "Healthcheck": shapes.healthcheck(spec.healthcheck) if spec.healthcheck else None,
        "StopSignal": spec.stop_signal,
        "TTY": spec.tty,
        "OpenStdin": spec.stdin_open,
        "ReadOnly": spec.read_only,
    }
    exact = {"Init": spec.init, "StopGracePeriod": _nanoseconds(spec.stop_grace_s)}
    return shapes.kept(document) | {key: value for key, value in exact.items() if value is not None}


def _resources(spec: TaskSpec) -> dict[str, Any]:
    limits = {"NanoCPUs": spec.limits.cpu_nano, "MemoryBytes": spec.limits.memory_bytes, "Pids": spec.limits.pids}
    generic = [
        {"DiscreteResourceSpec": {"Kind": kind, "Value": value}} for kind, value in sorted(spec.request.generic.items())
    ]
    reserved = {
        "NanoCPUs": spec.request.cpu_nano,
        "MemoryBytes": spec.request.memory_bytes,
        "GenericResources": generic,
    }
    return shapes.kept({"Limits": shapes.kept(limits), "Reservations": shapes.kept(reserved)})


def _restart(restart: Restart) -> dict[str, Any]:
    document: dict[str, Any] = {"Condition": restart.condition, "Delay": _nanoseconds(restart.delay_s)}
    if restart.max_attempts is not None:
        document["MaxAttempts"] = restart.max_attempts
    if restart.window_s:
        document["Window"] = _nanoseconds(restart.window_s)
    return document


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)
