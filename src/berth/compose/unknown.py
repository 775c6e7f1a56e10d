"""Finds the keys of a mapping that are not carried: later ones, ignored ones, and mistakes with what to write instead.

`keys` has the tables; fields and the loaders of stacks and jobs ask here.
"""

import difflib
from collections.abc import Collection
from collections.abc import Mapping as Dict

from berth.compose import keys
from berth.compose.report import Report
from berth.compose.tree import Mapping, Node

_SYNONYMS = {
    "env": ("environment",),
    "environment": ("env",),
    "envs": ("environment", "env"),
    "variables": ("environment", "env"),
    "cmd": ("command",),
    "args": ("command",),
    "run": ("command",),
    "script": ("command",),
    "gpu": ("gpus",),
    "cards": ("gpus",),
    "mounts": ("volumes",),
    "replica": ("replicas",),
    "instances": ("replicas",),
    "timeout": ("time",),
    "time_limit": ("time",),
    "constraint": ("constraints",),
    "shm": ("shm_size",),
}
"""Words that other tools use, and what they are called here."""
KUBERNETES = "This is a manifest of Kubernetes. A stack file begins with services: {NAME: {image: IMAGE}}"


def check(section: keys.Section, mapping: Mapping, path: str, report: Report) -> None:
    """Note every key of the mapping that is not carried: later ones, ignored ones, and mistakes with the right key."""
    if section is keys.TOP and {"apiVersion", "kind"} <= mapping.entries.keys():
        at = mapping.entries["apiVersion"].key
        report.wrong(at, "unknown-key", sentence(section, "apiVersion"), KUBERNETES, "apiVersion")
        return
    if section is keys.TOP and "image" in mapping.entries and "services" not in mapping.entries:
        at, message = mapping.entries["image"].key, "this is a job file, or a service without its name."
        hint = "Type: berth submit FILE, or write services: {NAME: {image: ...}}"
        report.wrong(at, "unknown-key", message, hint, "image")
        return
    for name, entry in mapping.entries.items():
        if name in section.carried or (section.extras and _is_extra(section, name)):
            continue
        field = f"{path}.{name[:80]}" if path else name[:80]
        if name in section.ignored:
            report.warn(entry.key, "key-ignored", f"{name}: {section.ignored[name]}", "", field)
        elif name in section.later:
            report.wrong(entry.key, "key-not-carried", f"{name} is not carried yet.", section.later[name], field)
        elif not report.full:
            report.wrong(entry.key, "unknown-key", sentence(section, name), nearest(section, name, entry.node), field)


def _is_extra(section: keys.Section, name: str) -> bool:
    return name.startswith("x-") and name not in section.later and name not in section.ignored


def sentence(section: keys.Section, name: str) -> str:
    """The sentence for a key that nobody knows."""
    return f"{section.name} has no key {name[:80]}."


def nearest(section: keys.Section, name: str, node: Node | None = None) -> str:
    """What to write instead of an unknown key. `node` is what stands under it."""
    if name.startswith("x-"):
        return "Keys that begin with x- stand at the top of the file, or directly in a service, network or volume."
    if section is keys.TOP and isinstance(node, Mapping) and not {"image", "build"}.isdisjoint(node.entries):
        return f"Write it below services: services: {{{name[:80]}: ...}}"
    found = instead(name, section.known(), _HOMES.get(section.name, {}))
    return found or f"Known keys: {', '.join(sorted(section.carried))}"


def instead(name: str, known: Collection[str], homes: Dict[str, str]) -> str:
    """What to write for an unknown key; "" where nothing is near. `known` are the keys of its own section, `homes` maps
    the keys of others to a sentence or path where they belong.
    """
    folded = name.lower().replace("-", "_").replace(" ", "_")
    if folded in known:
        return f"Write {folded}"
    for word in (folded, *_SYNONYMS.get(folded, ())):
        if word in known:
            return f"Write {word}"
        if word in homes:
            return f"Write {homes[word]}"
    found = difflib.get_close_matches(folded, sorted(known), 1, 0.6)
    if found:
        return f"Write {found[0]}"
    near = difflib.get_close_matches(folded, sorted(homes), 1, 0.8)
    return f"Write {homes[near[0]]}" if near else ""


def _paths(*sections: tuple[str, keys.Section]) -> dict[str, str]:
    """Where keys belong, by their names; of one name the first section wins."""
    return {key: prefix + key for prefix, section in reversed(sections) for key in sorted(section.carried)}


_BELOW = (
    ("deploy.", keys.DEPLOY), ("deploy.resources.", keys.RESOURCES), ("deploy.placement.", keys.PLACEMENT),
    ("deploy.restart_policy.", keys.RESTART), ("healthcheck.", keys.HEALTH), ("x-berth.", keys.BERTH),
)  # fmt: skip
_HOMES: dict[str, dict[str, str]] = {
    keys.SERVICE.name: _paths(*_BELOW),
    keys.DEPLOY.name: {
        **{key: f"{key} beside deploy, not in it" for key in sorted(keys.SERVICE.carried)},
        **{key: path.removeprefix("deploy.") for key, path in _paths(*_BELOW[1:4]).items()},
    },
    keys.RESOURCES.name: _paths(("limits.", keys.LIMITS), ("reservations.", keys.RESERVATIONS)),
    keys.TOP.name: {key: f"services: {{NAME: {{{key}: ...}}}}" for key in sorted(keys.SERVICE.carried)},
    keys.JOB.name: _paths(("restart.", keys.RESTART), ("resources.limits.", keys.LIMITS)),
}
"""By section: what to write for keys that belong elsewhere."""
