"""A service in its long form: Docker's keys in Docker's order, then Berth's own, then those that begin with x-."""

from functools import partial
from typing import Any

from berth.compose import container, ports, storage, surroundings
from berth.compose.fields import Fields
from berth.compose.final.shapes import (
    Kept,
    Shape,
    byte_count,
    command,
    each,
    extras,
    flag,
    given_flag,
    given_number,
    joined,
    number,
    pairs,
    plain,
    pointed,
    ratio,
    raw,
    rows,
    shaped,
    size,
    some_time,
    table,
    text,
    time,
    words,
)
from berth.compose.goyaml import sorted_keys
from berth.compose.scope import Scope
from berth.compose.tree import Mapping as Table
from berth.compose.tree import Scalar


class Service:
    """A service's shapes need the variables, and the directory in which binds start."""

    def __init__(self, scope: Scope, directory: str) -> None:
        self._scope = scope
        self._directory = directory

    def shaped(self, one: Fields) -> dict[str, Any]:
        """A service: Docker's keys in Docker's order, Berth's own, then those that begin with x-."""
        special = {"environment": self._environment, "volumes": self._volumes}
        return shaped(one, {**_SERVICE, **special, **_BERTH_SERVICE}) | sorted_keys(extras(one))

    def _environment(self, one: Fields, _: str) -> Any:
        return sorted_keys({name: var.value for name, var in container.environment(one, self._scope).items()})

    def _volumes(self, one: Fields, key: str) -> Any:
        found = []
        for path, node in one.rows(key):
            row = shaped(Fields(node, path, one.report), _MOUNT) if isinstance(node, Table) else _short(str(raw(node)))
            if row.get("type") == "bind" and not row.get("source", "~").startswith("~"):
                row["source"] = joined(self._directory, row["source"])
            found.append(row)
        return found


def _short(text: str) -> dict[str, Any]:
    """SOURCE:TARGET:OPTIONS as it stands, whether a mount can be made of it or not."""
    source, target, *rest = text.split(":") if ":" in text else ("", text)
    options = rest[0].split(",") if rest else []
    propagation = next((word for word in options if word in storage.PROPAGATIONS), "")
    row = {
        "type": "bind" if source[:1] in tuple("./~") and source else "volume",
        "source": source,
        "target": target,
        "read_only": "ro" in options,
        "bind": {"propagation": propagation} if propagation else None,
        "volume": {"nocopy": True} if "nocopy" in options else None,
    }
    return {key: value for key, value in row.items() if value}


def _file_uses(one: Fields, key: str) -> Any:
    found = []
    for path, node in one.rows(key):
        row = Fields(node, path, one.report) if isinstance(node, Table) else None
        found.append(shaped(row, _FILE_USE) if row is not None else {"source": str(raw(node))})
    return found


def _mode(one: Fields, key: str) -> Any:
    node = one.node(key)
    if node is None:
        return None
    written = str(node.value) if isinstance(node, Scalar) else ""
    octal = isinstance(node, Scalar) and isinstance(node.value, str) and written.startswith("0")
    return Kept(int(written, 8) if octal else one.whole(key))


def _ports(one: Fields, key: str) -> Any:
    """Long forms of all; a short form has every field, a long one only those that are written."""
    found: list[dict[str, Any]] = []
    for path, node in one.rows(key):
        if isinstance(node, Table):
            found.append(shaped(Fields(node, path, one.report), _PORT))
            continue
        for port in ports.short(str(raw(node))).ports:
            row = {"mode": "ingress", "target": port.target, "published": port.published, "protocol": port.protocol}
            found.append({name: value for name, value in row.items() if value})
    return found


def _networks(one: Fields, key: str) -> Any:
    node = one.node(key)
    if not isinstance(node, Table):
        return sorted_keys(dict.fromkeys(words(one, key)))
    uses = one.table(key)
    return sorted_keys(
        {name: shaped(uses.table(name), _NETWORK_USE) if uses.node(name) is not None else None for name in node.entries}
    )


def _health_test(one: Fields, key: str) -> Any:
    found = words(one, key)
    return ["CMD-SHELL", *found] if one.is_word(key) else found


def _ulimits(one: Fields, key: str) -> Any:
    node, limits = one.node(key), one.table(key)
    names = node.entries if isinstance(node, Table) else ()
    return sorted_keys({n: (limits.is_word(n) and plain(limits, n)) or shaped(limits.table(n), _ULIMIT) for n in names})


def _hosts(one: Fields, key: str) -> Any:
    return [f"{name}:{address}" for name, address in surroundings.hosts(one)] if one.node(key) is not None else []


def _build(one: Fields, key: str) -> Any:
    return {"context": one.text(key)} if one.is_word(key) else table(_BUILD, one, key)


def _arguments(one: Fields, key: str) -> Any:
    return sorted_keys({name: var.value for name, var in one.pairs(key).items()})


_BUILD: dict[str, Shape] = {
    **each(text, "context", "dockerfile"),
    "args": _arguments,
    "labels": pairs,
    "cache_from": words,
    "extra_hosts": _hosts,
    **each(text, "network", "target"),
}
_FILE_USE: dict[str, Shape] = {**each(text, "source", "target", "uid", "gid"), "mode": _mode}
_PORT: dict[str, Shape] = {"mode": text, "target": number, "published": number, "protocol": text}
_NETWORK_USE: dict[str, Shape] = {
    "aliases": words, "driver_opts": pairs, "ipv4_address": text, "ipv6_address": text
}  # fmt: skip
_ULIMIT: dict[str, Shape] = {"soft": number, "hard": number}
_MOUNT: dict[str, Shape] = {
    **each(text, "type", "source", "target"),
    "read_only": flag,
    "consistency": text,
    "bind": partial(pointed, {"propagation": text}),
    "volume": partial(pointed, {"nocopy": flag, "subpath": text}),
    "image": partial(pointed, {"subpath": text}),
    "tmpfs": partial(pointed, {"size": size}),
    "cluster": partial(pointed, {}),
}
_HEALTH: dict[str, Shape] = {
    "test": _health_test, "timeout": time, "interval": time, "retries": given_number, "start_period": time,
    "start_interval": time, "disable": flag,
}  # fmt: skip
_ROLLOUT: dict[str, Shape] = {
    "parallelism": given_number, "delay": some_time, "failure_action": text, "monitor": some_time,
    "max_failure_ratio": ratio, "order": text,
}  # fmt: skip
_GENERIC: dict[str, Shape] = {
    "discrete_resource_spec": partial(pointed, {"kind": text, "value": given_number}),
}
_RESOURCES: dict[str, Shape] = {
    "limits": partial(pointed, {"cpus": text, "memory": byte_count, "pids": number}),
    "reservations": partial(
        pointed, {"cpus": text, "memory": byte_count, "generic_resources": partial(rows, _GENERIC), "devices": plain}
    ),
}
_DEPLOY: dict[str, Shape] = {
    "mode": text,
    "replicas": given_number,
    "labels": pairs,
    "update_config": partial(pointed, _ROLLOUT),
    "rollback_config": partial(pointed, _ROLLOUT),
    "resources": partial(table, _RESOURCES),
    "restart_policy": partial(
        pointed, {"condition": text, "delay": time, "max_attempts": given_number, "window": time}
    ),
    "placement": partial(
        table,
        {
            "constraints": words,
            "preferences": partial(rows, {"spread": text}),
            "max_replicas_per_node": number,
        },
    ),
    "endpoint_mode": text,
}
_SERVICE: dict[str, Shape] = {
    "build": _build,
    **each(words, "cap_add", "cap_drop"),
    **each(text, "cgroupns_mode", "cgroup_parent"),
    "command": command,
    "configs": _file_uses,
    "container_name": text,
    "credential_spec": partial(table, each(text, "config", "file", "registry")),
    "depends_on": plain,
    "deploy": partial(table, _DEPLOY),
    **each(words, "devices", "dns", "dns_search"),
    "domainname": text,
    "entrypoint": command,
    "environment": plain,
    **each(words, "env_file", "expose", "external_links"),
    "extra_hosts": _hosts,
    "hostname": text,
    "healthcheck": partial(pointed, _HEALTH),
    "image": text,
    "init": given_flag,
    **each(text, "ipc", "isolation"),
    "labels": pairs,
    "links": words,
    "logging": partial(pointed, {"driver": text, "options": pairs}),
    **each(text, "mac_address", "network_mode"),
    "networks": _networks,
    "pid": text,
    "ports": _ports,
    **each(flag, "privileged", "read_only"),
    "restart": text,
    "secrets": _file_uses,
    "security_opt": words,
    "shm_size": text,
    "stdin_open": flag,
    "stop_grace_period": time,
    "stop_signal": text,
    "sysctls": pairs,
    "tmpfs": words,
    "tty": flag,
    "ulimits": _ulimits,
    "user": text,
    "userns_mode": text,
    "volumes": plain,
    "working_dir": text,
}
_BERTH_SERVICE: dict[str, Shape] = each(plain, "dns_opt", "gpus", "group_add", "oom_score_adj", "runtime")
