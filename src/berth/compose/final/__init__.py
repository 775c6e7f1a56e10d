"""The merged file with its variables filled in, in the long forms that `docker stack config` prints; for stack.

`shapes` brings single values into their long form; the tables here and in `service` have the keys of one kind of
mapping in the docker CLI's order. Keys that only Berth knows come after Docker's.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from berth.compose.fields import Fields
from berth.compose.final.service import Service
from berth.compose.final.shapes import (
    Shape,
    byte_count,
    each,
    extras,
    flag,
    joined,
    pairs,
    pointed,
    rows,
    shaped,
    table,
    text,
    words,
)  # fmt: skip
from berth.compose.goyaml import sorted_keys
from berth.compose.report import Report
from berth.compose.scope import Scope
from berth.compose.tree import Mapping as Table

VERSION = "3.13"
"""What the docker CLI says of a file without a version."""


def final(whole: Table, scope: Scope, directory: str) -> dict[str, Any]:
    """The whole file as plain values. What is wrong with it has been told by then, so nothing is said here."""
    top = Fields(whole, "", Report())
    services = {name: Service(scope, directory).shaped(one) for name, one in _members(top, "services")}
    found: dict[str, Any] = {"version": top.text("version") or VERSION, "services": sorted_keys(services)}
    tables = {"networks": _NETWORK, "volumes": _VOLUME, "secrets": _STORED, "configs": _STORED}
    for section, shapes in tables.items():
        members = {name: _declared(name, one, shapes, directory) for name, one in _members(top, section)}
        if members:
            found[section] = sorted_keys(members)
    return found | sorted_keys(extras(top))


def _members(top: Fields, section: str) -> list[tuple[str, Fields]]:
    node = top.node(section)
    if not isinstance(node, Table):
        return []
    inside = Fields(node, section, top.report)
    return [(name, inside.table(name)) for name in node.entries]


def _declared(name: str, one: Fields, shapes: Mapping[str, Shape], directory: str) -> dict[str, Any]:
    """A network, volume, secret or config, with the name under which an external one is looked up."""
    found = shaped(one, shapes)
    external = one.node("external")
    if isinstance(external, Table) or one.flag("external"):
        old = one.table("external").text("name") if isinstance(external, Table) else ""
        found = {"name": found.get("name") or old or name, **{k: v for k, v in found.items() if k != "name"}}
        return {**found, **extras(one)}
    if shapes is _STORED and not found.keys() & {"driver", "content", "environment"}:
        where = {"name": found.get("name", ""), "file": joined(directory, found.get("file", ""))}
        found = {key: value for key, value in {**where, **found, "file": where["file"]}.items() if value}
    return found | {key: value for key, value in extras(one).items() if key not in found}


def _external(one: Fields, key: str) -> Any:
    return isinstance(one.node(key), Table) or one.flag(key) or None


_SEGMENTS = partial(rows, {"segments": pairs})
_CLUSTER: dict[str, Shape] = {
    "group": text,
    "access_mode": partial(
        pointed,
        {
            **each(text, "scope", "sharing"),
            "mount_volume": partial(pointed, {"fs_type": text, "mount_flags": words}),
            "block_volume": partial(pointed, {}),
        },
    ),
    "accessibility_requirements": partial(pointed, each(_SEGMENTS, "requisite", "preferred")),
    "capacity_range": partial(pointed, each(byte_count, "required_bytes", "limit_bytes")),
    "secrets": partial(rows, each(text, "key", "secret")),
    "availability": text,
}
_NETWORK: dict[str, Shape] = {
    "name": text,
    "driver": text,
    "driver_opts": pairs,
    "ipam": partial(table, {"driver": text, "config": partial(rows, {"subnet": text})}),
    "external": _external,
    "internal": flag,
    "attachable": flag,
    "labels": pairs,
}
_VOLUME: dict[str, Shape] = {
    "name": text, "driver": text, "driver_opts": pairs, "external": _external, "labels": pairs,
    "x-cluster-spec": partial(pointed, _CLUSTER),
}  # fmt: skip
_STORED: dict[str, Shape] = {
    "name": text,
    "file": text,
    "external": _external,
    "labels": pairs,
    "driver": text,
    "driver_opts": pairs,
    "template_driver": text,
    **each(text, "content", "environment"),
}
