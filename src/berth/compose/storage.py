"""Mounts of a service, short form A:B:ro or long, with the file's volumes; guard looks at what they open."""

import difflib
import posixpath
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from berth.compose import keys, remedies, units
from berth.compose.fields import Fields
from berth.compose.guard import Mounted
from berth.compose.report import Report
from berth.compose.text import Place
from berth.compose.tree import Mapping as Table
from berth.compose.tree import Scalar
from berth.model.job import Volume
from berth.model.spec import Mount

MOST_COMPARED = 200
"""How many names are searched for the nearest one."""
PROPAGATIONS = ("private", "rprivate", "shared", "rshared", "slave", "rslave")
_KINDS = ("bind", "volume", "tmpfs", "npipe", "cluster", "image")
_OPTIONS = {
    "bind": "bind",
    "npipe": "bind",
    "volume": "volume",
    "tmpfs": "tmpfs",
    "cluster": "cluster",
    "image": "image",
}
"""Under which key the options of a kind of mount stand."""
_PASSED_OVER = ("z", "Z", "cached", "delegated", "consistent")
"""Options of the short form with which docker stack deploy does nothing."""
_CONSISTENCIES = ("default", "consistent", "cached", "delegated")
_GROUP = "group:"
"""So begins the source of a cluster mount that takes any volume of a group."""


class Short(msgspec.Struct, frozen=True):
    """A mount in one word. A source that begins with `.`, `/` or `~` is a path of the host, any other a volume."""

    source: str
    target: str
    read_only: bool = False
    nocopy: bool = False
    propagation: str = ""
    passed_over: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["bind", "volume"]:
        """bind for a path, volume for a name or none."""
        return "bind" if self.source[:1] in ("/", ".", "~") and self.source else "volume"


class Stacked(msgspec.Struct, frozen=True):
    """Where a stack's mounts stand: the file's volumes by key, and the client's directory ("": not known)."""

    volumes: Mapping[str, Volume]
    directory: str = ""


def short(text: str) -> Short:
    """Read SOURCE:TARGET[:OPTIONS] or TARGET alone. Raises ValueError with what is wrong and what to write."""
    parts = text.split(":")
    hint = "Write /host/path:/path, NAME:/path or /path, and :ro at the end where it is only read."
    if not all(part.strip() for part in parts):
        raise ValueError(f"'{text[:80]}' has an empty part.", hint)
    if len(parts) > 3:
        raise ValueError(f"'{text[:80]}' has too many colons.", hint)
    source, target = ("", parts[0]) if len(parts) == 1 else (parts[0], parts[1])
    options = parts[2].split(",") if len(parts) == 3 else []
    strange = [word for word in options if word not in ("ro", "rw", "nocopy", *_PASSED_OVER, *PROPAGATIONS)]
    if strange:
        raise ValueError(f"'{strange[0][:40]}' is no option of a mount.", "Write ro, rw, nocopy or a propagation.")
    if not target.startswith("/"):
        raise ValueError(f"'{target[:80]}' is not an absolute path in the container.", hint)
    propagation = next((word for word in options if word in PROPAGATIONS), "")
    passed_over = tuple(word for word in options if word in _PASSED_OVER)
    read = Short(source, target, "ro" in options, "nocopy" in options, propagation, passed_over)
    if (read.kind == "bind" and read.nocopy) or (read.kind == "volume" and propagation):
        word = "nocopy" if read.nocopy else propagation
        raise ValueError(f"'{word}' does not go with a mount of {'a host path' if read.nocopy else 'a volume'}.", hint)
    return read


def mounts(service: Fields, stacked: Stacked) -> list[Mounted]:
    """The mounts of a service, as written."""
    found: list[Mounted] = []
    for path, node in service.rows("volumes"):
        if remedies.of_mount(node):
            message = "a space after the colon makes a mapping of it."
            service.report.wrong(node.place, "bad-mount", message, remedies.of_mount(node), path)
        elif isinstance(node, Table):
            found += _long(Fields(node, path, service.report, keys.VOLUME_USE), stacked)
        elif isinstance(node, Scalar):
            found += from_short(str(node.written), node.place, path, stacked, service.report)
        else:
            service.mistyped(node, path, "a mount such as /data:/data")
    _no_target_twice(found, service.report)
    return found


def from_short(text: str, place: Place | None, field: str, stacked: Stacked | None, report: Report) -> list[Mounted]:
    """The mount of a word, or none with a problem noted. Without a stack a name is the volume's own."""
    try:
        word = short(text)
        source = _host_path(word.source, stacked) if word.kind == "bind" else word.source
    except ValueError as error:
        message, hint = error.args
        report.wrong(place, "bad-mount", message, hint, field)
        return []
    mount = Mount(
        kind=word.kind,
        source=source,
        target=word.target,
        read_only=word.read_only,
        propagation=word.propagation,
        nocopy=word.nocopy,
    )
    if word.passed_over:
        message = f"{', '.join(word.passed_over)}: docker stack deploy does nothing with it, and neither does Berth."
        report.warn(place, "key-ignored", message, "Leave it out.", field)
    made = Mounted(mount, place, field, source if word.kind == "bind" else "")
    return _in_volume(made, stacked, report) if stacked is not None and word.kind == "volume" else [made]


def _long(row: Fields, stacked: Stacked) -> list[Mounted]:
    kind, source = row.text("type"), row.text("source")
    host = _checked_source(row, kind, stacked)
    right = _checked_kind(row, kind)
    if not row.text("target").startswith("/") and kind != "npipe":
        row.wrong("target", "bad-mount", "target must be an absolute path in the container.", "Write target: /path")
        right = False
    if not right or host is None:
        return []
    made = Mounted(_mount(row, host or source), row.mapping.place, row.path, host)
    named = kind == "volume" or (kind == "cluster" and not source.startswith(_GROUP))
    return _in_volume(made, stacked, row.report) if named else [made]


def _checked_kind(row: Fields, kind: str) -> bool:
    """True for a type that is carried; options of other types are noted."""
    if kind not in _KINDS:
        message = f"type: {kind[:40]} is not carried." if kind else "the type of the mount is missing."
        row.wrong("type", "bad-mount", message, f"Write one of: {', '.join(_KINDS)}")
        return False
    for other in dict.fromkeys(_OPTIONS.values()):
        if other != _OPTIONS[kind] and row.node(other) is not None:
            row.wrong(other, "bad-mount", f"{other}: does not go with type: {kind}.", f"Remove {other}:")
    return True


def _checked_source(row: Fields, kind: str, stacked: Stacked) -> str | None:
    """The host's path of a bind, "" for other types; None, and noted, where the source is wrong or missing."""
    source = row.text("source")
    if kind in _KINDS and (kind != "tmpfs") != bool(source) and kind != "volume":
        message = "a tmpfs has no source." if kind == "tmpfs" else f"a mount of type {kind} needs a source."
        row.wrong("source", "bad-mount", message, "Remove source:" if kind == "tmpfs" else "Write source: /host/path")
        return None
    try:
        return _host_path(source, stacked) if kind == "bind" else ""
    except ValueError as error:
        row.wrong("source", "bad-mount", *error.args)
        return None


def _mount(row: Fields, source: str) -> Mount:
    tables = {"bind": keys.BIND, "volume": keys.VOLUME_OPTIONS, "tmpfs": keys.TMPFS, "image": keys.IMAGE_OPTIONS}
    bind, volume, tmpfs, image = (row.table(key, section) for key, section in tables.items())
    row.table("cluster", keys.CLUSTER_OPTIONS)
    propagation, consistency = bind.text("propagation"), row.text("consistency").lower()
    if propagation and propagation not in PROPAGATIONS:
        bind.wrong("propagation", "bad-mount", f"{propagation[:40]} is no propagation.", f"Known: {PROPAGATIONS}")
    if consistency and consistency not in _CONSISTENCIES:
        message = f"consistency: {consistency[:40]} does not exist."
        row.wrong("consistency", "bad-mount", message, f"Write one of: {', '.join(_CONSISTENCIES)}")
    kind, size = row.text("type"), tmpfs.measured("size", units.size) or 0
    return Mount(
        kind=kind,  # type: ignore[arg-type]  # one of _KINDS, checked by the caller
        source=source,
        target=row.text("target"),
        read_only=row.flag("read_only") or False,
        propagation=propagation,
        nocopy=volume.flag("nocopy") or False,
        tmpfs_bytes=size,
        subpath=volume.text("subpath") or image.text("subpath"),
        consistency=consistency,
        bare=kind == "tmpfs" and row.node("tmpfs") is not None and not size,
    )


def _host_path(source: str, stacked: Stacked | None) -> str:
    """The absolute path of a bind. Raises ValueError where the client's place would have to be known."""
    if source.startswith("/"):
        return source
    if source.startswith("~"):
        raise ValueError(f"'{source[:80]}' is in somebody's home, which nodes do not share.", "Write the whole path.")
    directory = stacked.directory if stacked is not None else ""
    if not directory.startswith("/"):
        hint = "Write the whole path as it is on the nodes."
        raise ValueError(f"'{source[:80]}' is relative to a directory that is not known here.", hint)
    return posixpath.normpath(posixpath.join(directory, source))


def _undefined(made: Mounted, stacked: Stacked, report: Report) -> None:
    """Note a volume that the file does not declare."""
    if report.full:
        return
    name = made.mount.source[:80]
    near = difflib.get_close_matches(name, list(stacked.volumes)[:MOST_COMPARED], 1, 0.6)
    hint = f"Write {near[0]}" if near else f"Add at the end: volumes: {{{name}: }}"
    message = f"the volume {name} is not among the file's volumes."
    report.wrong(made.place, "undefined-volume", message, hint, made.field)


def _in_volume(made: Mounted, stacked: Stacked, report: Report) -> list[Mounted]:
    """The mount with its volume's name on the engine, driver and labels."""
    mount = made.mount
    if not mount.source:
        if mount.nocopy or mount.subpath:
            message = "options of a volume without a name: docker stack deploy drops them, and so does Berth."
            report.warn(made.place, "key-ignored", message, "Give the volume a name: source: NAME", made.field)
        return [made._replace(mount=msgspec.structs.replace(mount, nocopy=False, subpath=""))]
    volume = stacked.volumes.get(mount.source)
    if volume is None:
        _undefined(made, stacked, report)
        return []
    full = msgspec.structs.replace(
        mount,
        source=volume.name,
        driver=volume.driver,
        driver_opts=volume.driver_opts,
        labels=volume.labels,
    )
    return [Mounted(full, made.place, made.field, volume.driver_opts.get("device", ""))]


def _no_target_twice(found: Iterable[Mounted], report: Report) -> None:
    seen: set[str] = set()
    for one in found:
        target = posixpath.normpath(one.mount.target)
        if target in seen:
            report.wrong(one.place, "bad-mount", f"two mounts at {target[:80]}.", "Remove one of them.", one.field)
        seen.add(target)
