"""The parts of a request that services and containers have in common, made from a launch for the two engines."""

from typing import Any

from berth.model.launch import Launch
from berth.model.spec import Healthcheck, Mount, TaskSpec

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
SWARM_RESOURCE = "DOCKER_RESOURCE_"
NO_DEVICE_NODES = ["CAP_MKNOD"]


def environment(launch: Launch) -> list[str]:
    """NAME=value lines; NAME alone unsets. The cards' own variables stand over what the user wrote.

    Without NVIDIA cards the container sees none, whatever its image says ("void").
    """
    cards = {VISIBLE: "void", **launch.mount.env}
    kept = [
        name if value is None else f"{name}={value}"
        for name, value in launch.spec.env
        if name not in cards and not name.startswith(SWARM_RESOURCE)
    ]
    return kept + [f"{name}={value}" for name, value in cards.items()]


def mounts(spec: TaskSpec) -> list[dict[str, Any]]:
    """Mounts as both kinds of object take them."""
    return [_mount(mount) for mount in spec.mounts]


def healthcheck(check: Healthcheck) -> dict[str, Any]:
    """A health check; what is 0 stays the image's."""
    times = {
        "Interval": check.interval_ns,
        "Timeout": check.timeout_ns,
        "StartPeriod": check.start_period_ns,
        "StartInterval": check.start_interval_ns,
        "Retries": check.retries,
    }
    return kept({"Test": list(check.test), **times})


def groups(launch: Launch) -> list[str]:
    """Supplementary groups: the node's number where it is known, else the name, for the image to resolve."""
    return [str(launch.group_ids.get(name, name)) for name in launch.spec.groups]


def aliases(launch: Launch, given: tuple[str, ...]) -> list[str]:
    """DNS names in a network: those of the file and the service's own, so that it resolves to all slots."""
    return list(dict.fromkeys([*given, *([launch.job.service] if launch.job.service else [])]))


def kept(document: dict[str, Any]) -> dict[str, Any]:
    """The document without empty values: the engine's defaults stay in force."""
    return {key: value for key, value in document.items() if value not in (None, "", 0, [], {})}


def _mount(mount: Mount) -> dict[str, Any]:
    document: dict[str, Any] = {"Type": mount.kind, "Source": mount.source, "Target": mount.target}
    document["ReadOnly"] = mount.read_only
    if mount.kind == "bind":
        document["BindOptions"] = kept({"Propagation": mount.propagation})
    if mount.kind == "volume":
        driver = kept({"Name": mount.driver, "Options": mount.driver_opts})
        document["VolumeOptions"] = kept({"NoCopy": mount.nocopy, "Labels": mount.labels, "DriverConfig": driver})
    if mount.kind == "tmpfs":
        document["TmpfsOptions"] = kept({"SizeBytes": mount.tmpfs_bytes})
    return kept(document)
