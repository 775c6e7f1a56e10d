"""What to write instead of a value of the wrong kind: the line itself where it can be guessed; fields asks here."""

from berth.compose import keys
from berth.compose.tree import Mapping, Node, Scalar

LONGEST = 80
_PAIRS = ("environment", "labels", "env", "sysctls", "extra_hosts", "driver_opts", "options")
_INNER = {
    "restart_policy": "condition", "healthcheck": "test", "logging": "driver", "update_config": "parallelism",
    "rollback_config": "parallelism", "deploy": "replicas", "placement": "constraints", "limits": "memory",
    "reservations": "memory", "resources": "limits", "x-berth": "time", "build": "context",
}  # fmt: skip
"""The key that is meant most often where a single word stands in place of a mapping."""


def of_kind(key: str, node: Node, wanted: str) -> str:
    """For a value under a key; `wanted` says in words what it should be."""
    written = node.written[:LONGEST] if isinstance(node, Scalar) else ""
    if wanted == "text" and written:
        return f'Quote it: {key}: "{written}"'
    if wanted == "a list":
        return f"Write {key}: [{written}]" if written else f"Begin each entry with '- ', or write {key}: [...]"
    if wanted == "a whole number":
        return f"Write a whole number: {key}: 1"
    if wanted == "true or false":
        return f"Write {key}: true, or {key}: false"
    if wanted.startswith("a mapping") and key in _INNER:
        return f"Write {key}: {{{_INNER[key]}: {written or '...'}}}"
    return f"Write {wanted}."


def of_member(name: str, node: Node) -> str:
    """For a member of a section that is no mapping: often a key of a service that is indented too little."""
    if name in keys.SERVICE.carried:
        return f"{name} is a key of a service: indent it further, below the service's name."
    return of_kind(name, node, "a mapping of keys to values")


def of_item(key: str, item: Node) -> str:
    """For an entry of a list of texts that is none: often `- A: b` in place of `- A=b`."""
    if isinstance(item, Scalar):
        return f'Quote it: "{item.written[:LONGEST]}"'
    if not isinstance(item, Mapping) or len(item.entries) != 1:
        return "Write text."
    ((name, entry),) = item.entries.items()
    if key in _PAIRS:
        return f"Write {name[:LONGEST]}=VALUE, or leave out the '- ' before it."
    if isinstance(entry.node, Scalar):
        return f'Quote it: "{name[:LONGEST]}: ..."'
    return f"Leave out the '- ': {key}: {{{name[:LONGEST]}: {{...}}}}"


def of_mount(node: Node) -> str:
    """For a mount that YAML took for a mapping since a space stands after its colon; "" for a real one."""
    if not isinstance(node, Mapping) or len(node.entries) != 1:
        return ""
    ((name, entry),) = node.entries.items()
    if not isinstance(entry.node, Scalar) or name in keys.VOLUME_USE.known():
        return ""
    return f"Leave out the space: {name}:{entry.node.written}"[:200]
