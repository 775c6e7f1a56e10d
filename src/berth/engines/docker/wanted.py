"""Writes the container that a launch asks for, and how its cards get in on this daemon."""

from typing import Any

from berth.dockerapi import marking, shapes
from berth.engines.docker import placing
from berth.engines.docker.records import Info
from berth.model import marks
from berth.model.launch import CardMount, Launch
from berth.model.spec import NetworkUse, Port, Surroundings, TaskSpec


def container_name(launch: Launch) -> str:
    """The slot's name for the first attempt, `NAME.aN` for each later one: a repeat of a create is a conflict."""
    return launch.name if launch.attempt <= 1 else f"{launch.name}.a{launch.attempt}"


def container(launch: Launch, daemon: Info) -> dict[str, Any]:
    """The body of `POST /containers/create`."""
    spec, fill = launch.spec, _filler(launch)
    document: dict[str, Any] = {
        "Image": spec.image,
        "Entrypoint": list(spec.command or ()),
        "Cmd": list(spec.args or ()),
        "Env": shapes.environment(launch, fill),
        "Labels": {
            **marking.container_labels(launch),
            **placing.labels(launch),
            marks.SPEC: marking.spec_label(launch.spec),
        },
        "User": spec.user,
        "WorkingDir": spec.workdir,
        "Hostname": fill(spec.hostname),
        "Healthcheck": shapes.healthcheck(spec.healthcheck) if spec.healthcheck else None,
        "StopSignal": spec.stop_signal,
        "Tty": spec.tty,
        "OpenStdin": spec.stdin_open,
        "ExposedPorts": {_inner(port): {} for port in spec.ports},
    }
    if spec.stop_grace_s is not None:
        document["StopTimeout"] = round(spec.stop_grace_s)
    first = spec.networks[0] if spec.networks else None
    return shapes.kept(document) | {
        "HostConfig": _host(launch, daemon, first),
        "NetworkingConfig": {"EndpointsConfig": {first.name: endpoint(launch, first)} if first else {}},
    }


def endpoint(launch: Launch, use: NetworkUse) -> dict[str, Any]:
    """How the container sits in a network: under its service's name, shared by all slots."""
    aliases = list(dict.fromkeys(shapes.aliases(launch, use)))
    return (
        {} if use.name in shapes.SHARED_NETWORKS else shapes.kept({"Aliases": aliases, "DriverOpts": use.driver_opts})
    )


def cards(mount: CardMount, daemon: Info) -> dict[str, Any]:
    """Host settings for the cards: the vendor's runtime where the daemon has it, else CDI, else a device request."""
    document: dict[str, Any] = {}
    if mount.devices:
        document["Devices"] = [
            {"PathOnHost": path, "PathInContainer": path, "CgroupPermissions": "rwm"} for path in mount.devices
        ]
    if mount.runtime and mount.runtime in (daemon.runtimes or {}):
        document["Runtime"] = mount.runtime
    elif mount.device_ids and mount.cdi_kind and _offers(daemon, mount.cdi_kind):
        names = [f"{mount.cdi_kind}={device}" for device in mount.device_ids]
        document["DeviceRequests"] = [{"Driver": "cdi", "DeviceIDs": names}]
    elif mount.device_ids:
        request = {"Driver": mount.driver, "DeviceIDs": list(mount.device_ids), "Capabilities": [["gpu"]]}
        document["DeviceRequests"] = [request]
    return document


def _offers(daemon: Info, kind: str) -> bool:
    return any(device.source == "cdi" and device.id.startswith(f"{kind}=") for device in daemon.devices or ())


def _host(launch: Launch, daemon: Info, first: NetworkUse | None) -> dict[str, Any]:
    spec = launch.spec
    document = {
        **_around(spec.around),
        "CapDrop": sorted({*spec.around.cap_drop, *([shapes.NO_DEVICE_NODES] if launch.cards else [])}),
        "GroupAdd": shapes.groups(launch),
        "Mounts": [*shapes.mounts(spec, _filler(launch)), *placing.mounts(launch)],
        "NetworkMode": first.name if first else "",
        "PortBindings": _bindings(spec),
        "ReadonlyRootfs": spec.read_only,
        "ShmSize": spec.shm_bytes,
        **_limits(spec),
        **(cards(launch.mount, daemon) if launch.cards else {}),
    }
    exact = {"Init": spec.init, "RestartPolicy": {"Name": "no"}}
    return shapes.kept(document) | {key: value for key, value in exact.items() if value is not None}


def _bindings(spec: TaskSpec) -> dict[str, list[dict[str, str]]]:
    """Published ports: on a host each is the host's own; without a number the daemon chooses a free one."""
    found: dict[str, list[dict[str, str]]] = {}
    for port in spec.ports:
        found.setdefault(_inner(port), []).append({"HostPort": str(port.published or "")})
    return found


def _inner(port: Port) -> str:
    return f"{port.target}/{port.protocol}"


def _filler(launch: Launch) -> shapes.Fill:
    """All placeholders: a daemon knows none of them."""
    node = launch.node
    known = {"Service.ID": launch.job.id, "Task.ID": f"{launch.task}.{launch.attempt}"}
    if node is not None:
        known |= {
            "Node.ID": node.engine_id,
            "Node.Hostname": node.hostname,
            "Node.Platform.OS": node.os,
            "Node.Platform.Architecture": node.arch,
        }
    return shapes.filler(launch, known)


def _around(around: Surroundings) -> dict[str, Any]:
    logging = around.logging
    return {
        "CapAdd": list(around.cap_add),
        "Sysctls": around.sysctls,
        "Ulimits": shapes.ulimits(around),
        "Dns": list(around.dns),
        "DnsSearch": list(around.dns_search),
        "DnsOptions": list(around.dns_options),
        "ExtraHosts": [f"{name}:{address}" for name, address in around.hosts],
        "LogConfig": {"Type": logging.driver, "Config": logging.options} if logging and logging.driver else None,
        "Isolation": around.isolation,
        "OomScoreAdj": around.oom_score_adj,
        "Tmpfs": dict(text.partition(":")[::2] for text in around.tmpfs),
        "IpcMode": around.ipc,
    }


def _limits(spec: TaskSpec) -> dict[str, int]:
    return {
        "NanoCpus": spec.limits.cpu_nano,
        "Memory": spec.limits.memory_bytes,
        "MemoryReservation": spec.request.memory_bytes,
        "PidsLimit": spec.limits.pids,
    }
