"""Writes the service that a launch asks for: a slot's own, prepared or started, and a native one as the CLI would."""

from typing import Any

from berth.dockerapi import marking, references, shapes
from berth.model import marks
from berth.model.launch import Launch
from berth.model.spec import Credential, Port, Restart, Rollout, Surroundings, TaskSpec

WAITING = f"node.id=={marks.NOWHERE}"
DOCKERS_RESTART = Restart(condition="any")
BOOKKEEPING_NS = 1
"""How long Swarm watches an update: nothing, so that it writes its last word on the service at once."""

Files = list[dict[str, Any]]


def slot_service(launch: Launch, secrets: Files, configs: Files) -> dict[str, Any]:
    """The service of one slot: one task at most, never restarted by Swarm, on the granted node or on none yet."""
    where = f"node.id=={launch.node.engine_id}" if launch.node else WAITING
    template = _template(launch, secrets, configs)
    if launch.cards:
        dropped = template["ContainerSpec"].get("CapabilityDrop", [])
        template["ContainerSpec"]["CapabilityDrop"] = sorted({*dropped, shapes.NO_DEVICE_NODES})
    template["Placement"] = {"Constraints": [where], "MaxReplicas": 1}
    template["RestartPolicy"] = {"Condition": "none"}
    template["ForceUpdate"] = launch.attempt
    return {
        "Name": launch.name,
        "Labels": marking.object_labels(launch),
        "TaskTemplate": template,
        "Mode": {"Replicated": {"Replicas": 1}},
        "EndpointSpec": _slot_endpoint(launch),
        "UpdateConfig": {
            "Parallelism": 0,
            "Monitor": BOOKKEEPING_NS,
            "FailureAction": "continue",
            "Order": "stop-first",
        },
    }


def native_service(launch: Launch, secrets: Files, configs: Files) -> dict[str, Any]:
    """The service that `docker stack deploy` would create, with Berth's labels and no cards."""
    spec = launch.spec
    template = _template(launch, secrets, configs)
    template["Placement"] = _placement(spec)
    if spec.restart != DOCKERS_RESTART or "restart" in spec.explicit:
        template["RestartPolicy"] = _restart(spec)
    rollouts = {
        "UpdateConfig": _rollout(spec.update, "update.monitor" in spec.explicit),
        "RollbackConfig": _rollout(spec.rollback, "rollback.monitor" in spec.explicit),
    }
    return {
        "Name": launch.name,
        "Labels": marking.object_labels(launch),
        "TaskTemplate": template,
        "Mode": _mode(spec, launch.job.replicas),
        "EndpointSpec": {"Mode": spec.endpoint_mode, "Ports": [_port(port) for port in spec.ports]},
        **{key: rollout for key, rollout in rollouts.items() if rollout is not None},
    }


def _slot_endpoint(launch: Launch) -> dict[str, Any]:
    """By its addresses (dnsrr) a service's name resolves to all its slots, and to none that has ended; an ingress port
    needs a virtual address, which a service of one slot may also ask for. Ports are taken with the start only.
    """
    spec = launch.spec
    wide = any(port.mode == "ingress" for port in spec.ports)
    alone = launch.job.replicas == 1 and spec.endpoint_mode == "vip"
    ports = [_port(port) for port in spec.ports] if launch.node else []
    return shapes.kept({"Mode": "vip" if wide or alone else "dnsrr", "Ports": ports})


def _template(launch: Launch, secrets: Files, configs: Files) -> dict[str, Any]:
    spec = launch.spec
    template: dict[str, Any] = {
        "ContainerSpec": {**_container(launch, configs), "Secrets": secrets, "Configs": configs},
        "Resources": _resources(spec),
        "Networks": [
            shapes.kept({"Target": use.name, "Aliases": shapes.aliases(launch, use), "DriverOpts": use.driver_opts})
            for use in spec.networks
        ],
    }
    if spec.around.logging is not None:
        template["LogDriver"] = {"Name": spec.around.logging.driver, "Options": spec.around.logging.options}
    return template


def _container(launch: Launch, configs: Files) -> dict[str, Any]:
    spec, fill = launch.spec, shapes.filler(launch)
    mounts = shapes.mounts(spec, fill)
    if spec.shm_bytes:
        mounts.append({"Type": "tmpfs", "Target": "/dev/shm", "TmpfsOptions": {"SizeBytes": spec.shm_bytes}})  # noqa: S108
    document = {
        "Image": spec.pinned.image or references.familiar(spec.image),
        "Command": list(spec.command or ()),
        "Args": list(spec.args or ()),
        "Env": shapes.environment(launch, fill),
        "Labels": marking.container_labels(launch),
        "User": spec.user,
        "Groups": shapes.groups(launch),
        "Dir": spec.workdir,
        "Hostname": fill(spec.hostname),
        "Mounts": mounts,
        "StopSignal": spec.stop_signal,
        "TTY": spec.tty,
        "OpenStdin": spec.stdin_open,
        "ReadOnly": spec.read_only,
        **_around(spec.around),
    }
    exact = {
        "Init": spec.init,
        "StopGracePeriod": _nanoseconds(spec.stop_grace_s),
        "Healthcheck": shapes.healthcheck(spec.healthcheck) if spec.healthcheck else None,
        "Privileges": {"CredentialSpec": _credential(spec.around.credential, configs), "NoNewPrivileges": False},
    }
    return shapes.kept(document) | {key: value for key, value in exact.items() if value is not None}


def _around(around: Surroundings) -> dict[str, Any]:
    names = {"Nameservers": list(around.dns), "Search": list(around.dns_search), "Options": list(around.dns_options)}
    return {
        "Hosts": [f"{address} {name}" for name, address in around.hosts],
        "DNSConfig": shapes.kept(names),
        "Isolation": around.isolation,
        "Sysctls": around.sysctls,
        "CapabilityAdd": list(around.cap_add),
        "CapabilityDrop": list(around.cap_drop),
        "Ulimits": shapes.ulimits(around),
        "OomScoreAdj": around.oom_score_adj,
    }


def _credential(credential: Credential | None, configs: Files) -> dict[str, str] | None:
    """A config is named by its id, which stands among the service's configs."""
    if credential is None:
        return None
    ids = {ref["ConfigName"]: ref["ConfigID"] for ref in configs}
    config = ids.get(credential.config, credential.config)
    return {"Config": config, "File": credential.file, "Registry": credential.registry}


def _placement(spec: TaskSpec) -> dict[str, Any]:
    over = [{"Spread": {"SpreadDescriptor": label}} for label in spec.spread.over]
    return shapes.kept(
        {
            "Constraints": list(spec.request.constraints),
            "Preferences": over,
            "MaxReplicas": spec.spread.max_per_node,
            "Platforms": [{"OS": system, "Architecture": processor} for system, processor in spec.pinned.platforms],
        }
    )


def _mode(spec: TaskSpec, replicas: int) -> dict[str, Any]:
    match spec.mode:
        case "global":
            return {"Global": {}}
        case "global-job":
            return {"GlobalJob": {}}
        case "replicated-job":
            return {"ReplicatedJob": {"MaxConcurrent": replicas, "TotalCompletions": replicas}}
        case "replicated":
            return {"Replicated": {"Replicas": replicas}}


def _port(port: Port) -> dict[str, Any]:
    return {
        "Protocol": port.protocol,
        "TargetPort": port.target,
        "PublishedPort": port.published,
        "PublishMode": port.mode,
    }


def _rollout(rollout: Rollout | None, monitored: bool) -> dict[str, Any] | None:
    if rollout is None:
        return None
    document = {
        "Parallelism": rollout.parallelism,
        "Delay": _nanoseconds(rollout.delay_s),
        "FailureAction": rollout.failure_action,
        "MaxFailureRatio": rollout.max_failure_ratio,
        "Order": rollout.order,
    }
    if monitored or rollout.monitor_s != Rollout().monitor_s:
        document["Monitor"] = _nanoseconds(rollout.monitor_s)
    return document


def _resources(spec: TaskSpec) -> dict[str, Any]:
    limits = {"NanoCPUs": spec.limits.cpu_nano, "MemoryBytes": spec.limits.memory_bytes, "Pids": spec.limits.pids}
    generic = [{"DiscreteResourceSpec": {"Kind": kind, "Value": value}} for kind, value in spec.request.generic.items()]
    reserved = {
        "NanoCPUs": spec.request.cpu_nano,
        "MemoryBytes": spec.request.memory_bytes,
        "GenericResources": generic,
    }
    both = {"Limits": shapes.kept(limits), "Reservations": shapes.kept(reserved)}
    return {key: values for key, values in both.items() if values or key.lower() in spec.explicit}


def _restart(spec: TaskSpec) -> dict[str, Any]:
    restart = spec.restart
    document: dict[str, Any] = {"Condition": restart.condition}
    if restart.delay_s != DOCKERS_RESTART.delay_s or "restart.delay" in spec.explicit:
        document["Delay"] = _nanoseconds(restart.delay_s)
    if restart.max_attempts is not None:
        document["MaxAttempts"] = restart.max_attempts
    if restart.window_s or "restart.window" in spec.explicit:
        document["Window"] = _nanoseconds(restart.window_s)
    return document


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)
