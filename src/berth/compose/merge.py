"""Several stack files as one, by the docker CLI's rules; the loader merges trees, so every value keeps its place.

Mappings join and the later file's values win; lists are appended, but secrets and configs go by source, mounts by
target, ports by the published one, environment and labels by name; commands are replaced. A later value that is empty
(false, "", []) leaves the earlier one, except a number that may be 0. Top-level networks, volumes, secrets, configs are
replaced one by one. Unlike Docker's: a health check's test is replaced (Docker appends it to the earlier one), and so
are gpus and devices; two ports without a published one are both kept.
"""

from collections.abc import Callable

from berth.compose.ports import short as short_port
from berth.compose.scalars import plain
from berth.compose.storage import short
from berth.compose.tree import Entry, Items, Mapping, Node, Scalar
from berth.compose.units import nanoseconds
from berth.model.spec import Port

Rule = Callable[[Node, Node], Node]

_EMPTY = (None, False, "", 0)


def merge(trees: list[Mapping]) -> Mapping:
    """One tree of all files, first to last."""
    whole = trees[0]
    for tree in trees[1:]:
        whole = _files(whole, tree)
    return whole


def _files(base: Mapping, over: Mapping) -> Mapping:
    entries = dict(base.entries)
    for name, entry in over.entries.items():
        if name.startswith("x-") and name != "x-berth":
            continue  # only the first file's count; the fragments in it have been used where they are named
        before = entries.get(name)
        if before is None or not isinstance(before.node, Mapping) or not isinstance(entry.node, Mapping):
            entries[name] = entry if not _is_empty(entry.node) or before is None else before
        elif name == "services":
            entries[name] = Entry(before.key, _by_key(before.node, entry.node, _service))
        else:
            entries[name] = Entry(before.key, _by_key(before.node, entry.node, lambda _, later: later))
    return Mapping(base.place, entries)


def _by_key(base: Mapping, over: Mapping, rule: Rule) -> Mapping:
    entries = dict(base.entries)
    for name, entry in over.entries.items():
        before = entries.get(name)
        entries[name] = entry if before is None else Entry(entry.key, rule(before.node, entry.node))
    return Mapping(base.place, entries)


def _service(base: Node, over: Node) -> Node:
    found = _deep(base, over, "")
    if not isinstance(found, Mapping) or not isinstance(over, Mapping):
        return found
    entries = dict(found.entries)
    for name in _SORTED:
        entry = entries.get(name)
        if entry is not None and name not in over.entries:
            entries[name] = Entry(entry.key, _RULES[name](entry.node, Items(entry.node.place, [])))
    return Mapping(found.place, entries)


def _deep(base: Node, over: Node, path: str) -> Node:
    rule = _RULES.get(path)
    if isinstance(over, Scalar) and over.value is None:
        return base
    if rule is not None:
        return rule(base, over)
    if _is_empty(over):
        return base
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        entries = dict(base.entries)
        for name, entry in over.entries.items():
            before = entries.get(name)
            below = f"{path}.{name}" if path else name
            entries[name] = entry if before is None else Entry(entry.key, _deep(before.node, entry.node, below))
        return Mapping(base.place, entries)
    if isinstance(base, Items) and isinstance(over, Items):
        return Items(base.place, [*base.items, *over.items])
    return over


def _is_empty(node: Node) -> bool:
    if isinstance(node, Scalar):
        return node.value in _EMPTY
    return not (node.items if isinstance(node, Items) else node.entries)


def _replace(base: Node, over: Node) -> Node:
    return base if _is_empty(over) else over


def _always(_: Node, over: Node) -> Node:
    return over


def _appended(base: Node, over: Node) -> Node:
    """Texts or lists of texts, one after the other."""
    items = [item for node in (base, over) for item in (node.items if isinstance(node, Items) else [node])]
    return Items(base.place, items)


def _pairs(keep_empty: bool) -> Rule:
    """Environment and labels: by name, whether they stand as a list or as a mapping."""

    def rule(base: Node, over: Node) -> Node:
        first, second = _as_mapping(base), _as_mapping(over)
        if first is None or second is None:
            return over
        entries = dict(first.entries)
        for name, entry in second.entries.items():
            if (
                name not in entries
                or keep_empty
                or not _is_empty_text(entry.node)
                or _is_empty_text(entries[name].node)
            ):
                entries[name] = entry
        return Mapping(base.place, entries)

    return rule


def _is_empty_text(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value in (None, "")


def _as_mapping(node: Node) -> Mapping | None:
    if isinstance(node, Mapping):
        return node
    if not isinstance(node, Items) or not all(isinstance(item, Scalar) for item in node.items):
        return None
    entries = {}
    for item in node.items:
        name, equals, value = item.written.partition("=") if isinstance(item, Scalar) else ("", "", "")
        entries[name] = Entry(item.place, Scalar(item.place, value if equals else None, value))
    return Mapping(node.place, entries)


def _networks(base: Node, over: Node) -> Node:
    """By name; the later file's aliases replace the earlier ones, driver_opts stay."""
    first, second = _names(base), _names(over)
    if first is None or second is None:
        return over
    return _by_key(first, second, _network_use)


def _network_use(base: Node, over: Node) -> Node:
    if not isinstance(base, Mapping) or not isinstance(over, Mapping):
        return base if isinstance(over, Scalar) else over
    kept = {name: entry for name, entry in base.entries.items() if name != "aliases"}
    new = {name: entry for name, entry in over.entries.items() if name != "driver_opts" and not _is_empty(entry.node)}
    return Mapping(over.place, kept | new)


def _hosts(base: Node, over: Node) -> Node:
    """Lines one after the other, whichever form they have."""
    return _appended(_lines(base), _lines(over))


def _lines(node: Node) -> Node:
    if not isinstance(node, Mapping):
        return node
    lines = {f"{n}:{one.node.written}": one.key for n, one in node.entries.items() if isinstance(one.node, Scalar)}
    return Items(node.place, [Scalar(lines[line], line, line) for line in sorted(lines)])


def _time(base: Node, over: Node) -> Node:
    """A time of nothing counts as empty."""
    try:
        none = isinstance(over, Scalar) and not nanoseconds(over.written)
    except ValueError:
        none = False
    return base if none else over


def _logging(base: Node, over: Node) -> Node:
    """Options join while the driver is the same or is not said; another driver takes the place of all."""
    first, second = _member(base, "driver"), _member(over, "driver")
    if first and second and first != second:
        return over
    return _deep(base, over, "logging.")


def _ports(base: Node, over: Node) -> Node:
    """By the published port; those that the engine chooses go by the container's. Short forms become long ones."""
    if not isinstance(base, Items) or not isinstance(over, Items):
        return over
    found = {_published(row): row for row in (*_long_ports(base), *_long_ports(over))}
    return Items(base.place, [found[key] for key in sorted(found)])


def _published(row: Node) -> tuple[int, str]:
    outer, inner = _member(row, "published"), _member(row, "target")
    return (int(outer), "") if outer.isdecimal() and int(outer) else (0, inner)


def _long_ports(node: Items) -> list[Node]:
    rows: list[Node] = []
    for item in node.items:
        try:
            short_ones = short_port(item.written).ports if isinstance(item, Scalar) else ()
        except ValueError:
            short_ones = ()
        rows += [_long_port(item, port) for port in short_ones] or [item]
    return rows


def _long_port(item: Node, port: Port) -> Mapping:
    words = {"mode": port.mode, "target": str(port.target), "published": str(port.published), "protocol": port.protocol}
    shown = {name: word for name, word in words.items() if word != "0"}
    return Mapping(item.place, {n: Entry(item.place, Scalar(item.place, plain(w), w)) for n, w in shown.items()})


def _names(node: Node) -> Mapping | None:
    if isinstance(node, Mapping):
        return node
    if not isinstance(node, Items) or not all(isinstance(item, Scalar) for item in node.items):
        return None
    named = {item.written: item for item in node.items if isinstance(item, Scalar)}
    return Mapping(node.place, {name: Entry(item.place, Scalar(item.place, None, "")) for name, item in named.items()})


def _keyed(key: Callable[[Node], str]) -> Rule:
    """Lists whose items have a key: the later file's item replaces the earlier one of the same key; sorted by key."""

    def rule(base: Node, over: Node) -> Node:
        if not isinstance(base, Items) or not isinstance(over, Items):
            return over
        found = {key(item): item for item in (*base.items, *over.items)}
        return Items(base.place, [found[name] for name in sorted(found)])

    return rule


def _member(node: Node, name: str) -> str:
    entry = node.entries.get(name) if isinstance(node, Mapping) else None
    return entry.node.written if entry is not None and isinstance(entry.node, Scalar) else ""


def _source(node: Node) -> str:
    return node.written if isinstance(node, Scalar) else _member(node, "source")


def _target(node: Node) -> str:
    if not isinstance(node, Scalar):
        return _member(node, "target")
    try:
        return short(node.written).target
    except ValueError:
        return node.written


_TIMES = (
    "stop_grace_period",
    *(f"healthcheck.{key}" for key in ("interval", "timeout", "start_period", "start_interval")),
    *(f"deploy.restart_policy.{key}" for key in ("delay", "window")),
    *(f"deploy.{key}.{time}" for key in ("update_config", "rollback_config") for time in ("delay", "monitor")),
)
_SORTED = ("ports", "secrets", "configs", "volumes")
"""Of a service in two files these are sorted even where the later one says nothing of them."""
_RULES: dict[str, Rule] = {
    "environment": _pairs(keep_empty=False),
    "labels": _pairs(keep_empty=True),
    "deploy.labels": _pairs(keep_empty=True),
    "sysctls": _pairs(keep_empty=True),
    "extra_hosts": _hosts,
    **dict.fromkeys(_TIMES, _time),
    **dict.fromkeys(("env_file", "dns", "dns_search", "tmpfs"), _appended),
    "command": _replace,
    "entrypoint": _replace,
    "healthcheck.test": _replace,
    "gpus": _replace,
    "deploy.resources.reservations.devices": _replace,
    "networks": _networks,
    "secrets": _keyed(_source),
    "configs": _keyed(_source),
    "volumes": _keyed(_target),
    "ports": _ports,
    "logging": _logging,
    "deploy.replicas": _always,
    "deploy.update_config.parallelism": _always,
    "deploy.rollback_config.parallelism": _always,
    "deploy.restart_policy.max_attempts": _always,
    "healthcheck.retries": _always,
}
