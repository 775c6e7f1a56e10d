"""The parts of a request that services and containers have in common, made from a launch for the two engines."""

from collections.abc import Callable, Mapping
from typing import Any

from berth.dockerapi import marking
from berth.dockerapi.holders import VISIBLE
from berth.model import templated
from berth.model.launch import Launch
from berth.model.spec import Healthcheck, Mount, NetworkUse, Surroundings, TaskSpec

SWARM_RESOURCE = "DOCKER_RESOURCE_"
Fill = Callable[[str], str]
NO_DEVICE_NODES = "CAP_MKNOD"
SHARED_NETWORKS = ("bridge", "host", "none", "default")
"""Networks of the daemon's own, in which there are no aliases."""


def environment(launch: Launch, fill: Fill) -> list[str]:
    """NAME=value lines; NAME alone unsets. The cards' own variables stand over what the user wrote.

    Without NVIDIA cards the container sees none, whatever its image says ("void").
    """
    cards = {VISIBLE: "void", **launch.mount.env}
    kept = [
        name if value is None else f"{name}={fill(value)}"
        for name, value in launch.spec.env
        if name not in cards and not name.startswith(SWARM_RESOURCE)
    ]
    return kept + [f"{name}={value}" for name, value in cards.items()]


def filler(launch: Launch, known: Mapping[str, str] | None = None) -> Fill:
    """Fills in the placeholders of slot and service where Berth places the service, and those that are `known`.

    To the engine each slot is a service of its own, and the engine would name that one. What speaks of the node, or of
    the engine's own ids, is left to an engine that knows the language.
    """
    name = launch.job.engine_name
    values = {
        "Service.Name": name,
        "Task.Slot": str(launch.slot),
        "Task.Name": f"{name}.{launch.slot}.{(known or {}).get('Task.ID', templated.TASK_ID)}",
        **templated.label_values({**launch.spec.labels, **marking.stack_labels(launch)}),
        **(known or {}),
    }
    return lambda text: text if launch.job.native else templated.expand(text, values)


def mounts(spec: TaskSpec, fill: Fill) -> list[dict[str, Any]]:
    """Mounts as both kinds of object take them."""
    return [_mount(mount, fill) for mount in spec.mounts]


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


def ulimits(around: Surroundings) -> list[dict[str, Any]]:
    """Limits of the kernel as both kinds of object take them."""
    return [{"Name": limit.name, "Soft": limit.soft, "Hard": limit.hard} for limit in around.ulimits]


def groups(launch: Launch) -> list[str]:
    """Supplementary groups: the node's number where it is known, else the name, for the image to resolve."""
    return [str(launch.group_ids.get(name, name)) for name in launch.spec.groups]


def aliases(launch: Launch, use: NetworkUse) -> list[str]:
    """DNS names in a network: those of the file and the service's own, so that each resolves to all slots.

    To a service that Swarm places it gives the full name itself. Networks of the daemon's own have none.
    """
    job = launch.job
    if use.name in SHARED_NETWORKS or not job.service:
        return list(use.aliases)
    return [*use.aliases, job.service, *([] if job.native else [job.engine_name])]


def kept(document: dict[str, Any]) -> dict[str, Any]:
    """The document without empty values: the engine's defaults stay in force."""
    return {key: value for key, value in document.items() if value not in (None, "", 0, [], {})}


def _mount(mount: Mount, fill: Fill) -> dict[str, Any]:
    document: dict[str, Any] = kept(
        {
            "Type": mount.kind,
            "Source": fill(mount.source),
            "Target": fill(mount.target),
            "ReadOnly": mount.read_only or None,
            "Consistency": mount.consistency,
        }
    )
    options = _options(mount, fill)
    return document if options is None else {**document, **options}


def _options(mount: Mount, fill: Fill) -> dict[str, Any] | None:
    """Options of the mount's kind; None where the engine is to be told of none."""
    if mount.kind in ("bind", "npipe") and mount.propagation:
        return {"BindOptions": {"Propagation": mount.propagation}}
    if mount.kind == "volume" and mount.source:
        return {"VolumeOptions": _volume(mount, fill)}
    if mount.kind == "tmpfs" and (mount.tmpfs_bytes or mount.bare):
        return {"TmpfsOptions": kept({"SizeBytes": mount.tmpfs_bytes})}
    if mount.kind == "image" and mount.subpath:
        return {"ImageOptions": {"Subpath": mount.subpath}}
    return {"ClusterOptions": {}} if mount.kind == "cluster" else None


def _volume(mount: Mount, fill: Fill) -> dict[str, Any]:
    options = {key: fill(value) for key, value in mount.driver_opts.items()}
    labels = {key: fill(value) for key, value in mount.labels.items()}
    driver = kept({"Name": mount.driver, "Options": options})
    return kept({"NoCopy": mount.nocopy or None, "Subpath": mount.subpath, "Labels": labels, "DriverConfig": driver})
