"""Writes the container that a launch asks for, and how its cards get in on this daemon."""

from typing import Any

from berth.dockerapi import marks, shapes
from berth.engines.docker.records import Info
from berth.model.launch import CardMount, Launch
from berth.model.spec import NetworkUse, TaskSpec

SHARED_NETWORKS = ("bridge", "host", "none", "default")
"""Networks of the daemon's own, in which there are no aliases."""


def container_name(launch: Launch) -> str:
    """The slot's name for the first attempt, `NAME.aN` for each later one: a repeat of a create is a conflict."""
    return launch.name if launch.attempt <= 1 else f"{launch.name}.a{launch.attempt}"


def container(launch: Launch, daemon: Info) -> dict[str, Any]:
    """The body of `POST /containers/create`."""
    spec = launch.spec
    document: dict[str, Any] = {
        "Image": spec.image,
        "Entrypoint": list(spec.command or ()),
        "Cmd": list(spec.args or ()),
        "Env": shapes.environment(launch),
        "Labels": {**marks.container_labels(launch), marks.SPEC: marks.spec_label(launch.job.spec)},
        "User": spec.user,
        "WorkingDir": spec.workdir,
        "Hostname": spec.hostname,
        "Healthcheck": shapes.healthcheck(spec.healthcheck) if spec.healthcheck else None,
        "StopSignal": spec.stop_signal,
        "Tty": spec.tty,
        "OpenStdin": spec.stdin_open,
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
    return {} if use.name in SHARED_NETWORKS else {"Aliases": shapes.aliases(launch, use.aliases)}


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
        "CapDrop": ["MKNOD"] if launch.cards else [],
        "GroupAdd": shapes.groups(launch),
        "Mounts": shapes.mounts(spec),
        "NetworkMode": first.name if first else "",
        "ReadonlyRootfs": spec.read_only,
        "ShmSize": spec.shm_bytes,
        **_limits(spec),
        **(cards(launch.mount, daemon) if launch.cards else {}),
    }
    exact = {"Init": spec.init, "RestartPolicy": {"Name": "no"}}
    return shapes.kept(document) | {key: value for key, value in exact.items() if value is not None}


def _limits(spec: TaskSpec) -> dict[str, int]:
    return {
        "NanoCpus": spec.limits.cpu_nano,
        "Memory": spec.limits.memory_bytes,
        "MemoryReservation": spec.request.memory_bytes,
        "PidsLimit": spec.limits.pids,
    }
