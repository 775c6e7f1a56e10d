"""What to write instead of a key that stands where nobody knows it: the nearest one, or the place where it belongs."""

import difflib
from collections.abc import Collection, Mapping

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


def instead(name: str, known: Collection[str], homes: Mapping[str, str]) -> str:
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
