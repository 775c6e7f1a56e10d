"""Several stack files as one, by the docker CLI's rules; the loader merges trees, so every value keeps its place.

Mappings join and the later file's values win; lists are appended, but secrets and configs go by source, mounts by
target, environment and labels by name; commands are replaced. A later value that is empty (false, "", []) leaves the
earlier one, except a number that may be 0. Top-level networks, volumes, secrets, configs are replaced one by one.
Unlike Docker's: a health check's test is replaced (Docker appends it to the earlier one), and so are gpus and devices.
"""

from collections.abc import Callable

from berth.compose.storage import short
from berth.compose.tree import Entry, Items, Mapping, Node, Scalar

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
    return _deep(base, over, "")


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
    """Texts or lists of texts, one after the other (env_file)."""
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
            if name not in entries or keep_empty or not _is_empty_text(entry.node):
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
    """By name; the later file's aliases replace the earlier ones."""
    first, second = _names(base), _names(over)
    if first is None or second is None:
        return over
    return _by_key(first, second, lambda before, later: before if _is_empty(later) else later)


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


_RULES: dict[str, Rule] = {
    "environment": _pairs(keep_empty=False),
    "labels": _pairs(keep_empty=True),
    "deploy.labels": _pairs(keep_empty=True),
    "env_file": _appended,
    "command": _replace,
    "entrypoint": _replace,
    "healthcheck.test": _replace,
    "gpus": _replace,
    "deploy.resources.reservations.devices": _replace,
    "networks": _networks,
    "secrets": _keyed(_source),
    "configs": _keyed(_source),
    "volumes": _keyed(_target),
    "deploy.replicas": _always,
    "deploy.restart_policy.max_attempts": _always,
    "healthcheck.retries": _always,
}
