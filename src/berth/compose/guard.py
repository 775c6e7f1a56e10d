"""What would give a card, or the host, past the ledger: refused with the reason, or taken out with a warning."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from berth.compose.cards import VISIBLE
from berth.compose.fields import Fields, Var
from berth.compose.report import Report
from berth.compose.text import Place
from berth.model import marks, templated
from berth.model.spec import Mount

_SOCKETS = tuple(
    f"{run}/{name}"
    for run in ("/run", "/var/run")
    for name in (
        "docker.sock", "containerd/containerd.sock", "docker/containerd/containerd.sock", "podman/podman.sock",
        "crio/crio.sock",
    )
)  # fmt: skip
_DETOUR = re.compile(r"\A(?:/proc/[^/]+(?:/task/[^/]+)?/(?:root|cwd))+(?=/|$)")
"""A process's own root or folder: the daemon, which opens the path, goes through it to the host's files."""
_CARD_NODES = re.compile(r"/dev|/dev/(?:nvidia.*|kfd|dri)(?:/.*)?|/proc/driver/nvidia(?:/.*)?")
_LISTS = ("/var/run/nvidia-container-devices", "/run/nvidia-container-devices")
_TAKEN_OUT = re.compile(r"DOCKER_RESOURCE_.*|AMD_VISIBLE_DEVICES|NVIDIA_MIG_(?:CONFIG|MONITOR)_DEVICES")
_SLASHLESS = dict.fromkeys(
    (
        "Node.ID", "Node.Hostname", "Node.Platform.OS", "Node.Platform.Architecture", "Service.ID", "Service.Name",
        "Task.ID", "Task.Name", "Task.Slot",
    ),
    "x",
)  # fmt: skip
"""Placeholders whose values hold no slash; one that is not known could spell a path or a name past this guard."""
_ASK = (
    "Ask for a number of cards (a stack file: deploy.resources.reservations.devices, a job: gpus); Berth puts them in."
)


class Mounted(NamedTuple):
    """A mount with its place; `host` is the host path that it opens, also that of a volume's driver_opts."""

    mount: Mount
    place: Place | None
    field: str
    host: str = ""


def environment(env: Mapping[str, Var], report: Report) -> dict[str, str | None]:
    """The environment without what a container runtime would read as a request for cards, sorted by name."""
    kept = {}
    for name in sorted(env):
        _no_hidden_text(name, env[name].place, env[name].field, report)
        if _TAKEN_OUT.fullmatch(name):
            message = f"{name} is taken out: only Berth says which cards a container sees."
            report.warn(env[name].place, "gpu-variable", message, _ASK, env[name].field)
        elif name != VISIBLE:
            kept[name] = env[name].value
    return kept


def labels(pairs: Mapping[str, Var], report: Report) -> dict[str, str]:
    """The labels; those that speak to a container runtime or are Berth's own are refused."""
    for name, var in pairs.items():
        if name.lower().startswith("cdi.k8s.io/"):
            message = f"the label {name[:80]} asks a runtime for devices past Berth's ledger."
            report.refuse(var.place, "card-by-annotation", message, _ASK, var.field)
        elif name.startswith(marks.PREFIX):
            message = f"the label {name[:80]} is one that Berth writes."
            report.wrong(var.place, "label-reserved", message, "Give it another name.", var.field)
    return {name: var.value or "" for name, var in pairs.items()}


def mounts(
    found: Iterable[Mounted], cards: bool, admin: bool, report: Report, labels: Mapping[str, str] | None = None
) -> None:
    """Note mounts that give cards (always), or the engine's socket (with cards, or to anybody but an admin).

    `labels` are the service's own, which placeholders can name.
    """
    values = {**_SLASHLESS, **templated.label_values(labels or {})}
    for one in found:
        for text in (one.mount.source, one.mount.target, *one.mount.driver_opts.values()):
            _no_hidden_text(templated.expand(text, values), one.place, one.field, report)
        opened = templated.expand(one.host, values)
        target = _clean(templated.expand(one.mount.target, values))
        host = _clean(_DETOUR.sub("/", _clean(opened), 1)) if opened else ""
        if any(_inside(target, root) for root in _LISTS):
            message = f"a mount at {target[:80]} asks NVIDIA's runtime for cards past Berth's ledger."
            report.refuse(one.place, "mount-of-cards", message, _ASK, one.field)
        elif host and _CARD_NODES.fullmatch(host):
            message = f"the mount of {host[:80]} gives device nodes of cards past Berth's ledger."
            report.refuse(one.place, "mount-of-cards", message, _ASK, one.field)
        elif host and opens_engine(host) and (cards or not admin):
            who = "in a service with cards" if admin else "for anybody but an admin"
            message = f"the mount of {host[:80]} gives the engine's socket, and with it every card, {who}."
            report.refuse(
                one.place, "mount-of-socket", message, "Mount only the paths that the program needs.", one.field
            )


def target(path: str, place: Place | None, field: str, report: Report) -> bool:
    """True for a path of the container that a file or tmpfs may have; one that asks NVIDIA's runtime for cards is
    refused.
    """
    if not any(_inside(_clean(path), root) for root in _LISTS):
        return True
    message = f"a file at {path[:80]} asks NVIDIA's runtime for cards past Berth's ledger."
    report.refuse(place, "mount-of-cards", message, _ASK, field)
    return False


def templates(service: Fields, env: Mapping[str, Var], found: Iterable[Mounted], labels: Mapping[str, str]) -> None:
    """Note placeholders that Berth cannot fill in, in services that it places: each slot is a service of its own there.

    What speaks of nodes alone is left to Swarm.
    """
    values = {**_SLASHLESS, **templated.label_values(labels)}
    hostname = Var(service.text("hostname"), service.at("hostname"), service.field("hostname"))
    mounted = [Var(one.mount.source, one.place, one.field) for one in found]
    for var in (hostname, *env.values(), *mounted):
        strange = templated.left(templated.expand(var.value or "", values))
        if ".Task" in strange or ".Service" in strange:
            message = f"the placeholder {strange[:80]} cannot be filled in for a service that Berth places."
            hint = "Write {{.Task.Slot}}, {{.Service.Name}} or a label that the service has, or write the value out."
            service.report.wrong(var.place, "template-not-carried", message, hint, var.field)


def privileges(service: Fields, cards: bool) -> None:
    """`privileged` and `devices`: refused with cards (or where they name cards), else ignored as Docker does."""
    report = service.report
    if service.flag("privileged"):
        place, field = service.at("privileged"), service.field("privileged")
        if cards:
            message = "privileged opens every card of the node, not only the granted ones."
            report.refuse(place, "privileged-with-cards", message, "Remove privileged: true", field)
        else:
            report.warn(
                place, "key-ignored", "privileged: docker stack deploy ignores it, and so does Berth.", "", field
            )
    for text, place in service.strings("devices"):
        host, field = _clean(text.partition(":")[0]), service.field("devices")
        if cards or _CARD_NODES.fullmatch(host) or "=" in text:
            message = f"the device {text[:80]} goes past Berth's ledger."
            report.refuse(place, "device-by-hand", message, _ASK, field)
        else:
            report.warn(place, "key-ignored", "devices: docker stack deploy ignores it, and so does Berth.", "", field)


def _no_hidden_text(text: str, place: Place | None, field: str, report: Report) -> None:
    """Refuse what Swarm would turn into other text than was looked at here."""
    if "{{" in text:
        message = f"'{text[:80]}' holds a template that could stand for any path or name."
        report.wrong(place, "template-not-carried", message, "Write the value out.", field)


def _clean(path: str) -> str:
    """The path without detours; one that is relative is opened from the root, where the daemon runs."""
    return "/" + posixpath.normpath(f"/{path}").lstrip("/")


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def opens_engine(host: str) -> bool:
    """True when a mount of this host path gives the engine's socket, or the folder that it is in."""
    return host == "/" or any(_inside(socket, host) for socket in _SOCKETS)
