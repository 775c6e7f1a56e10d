"""The keys of the constraint language: which there are, which can be ordered, and the right form of a mistyped one."""

from difflib import get_close_matches

NODE_LABEL, ENGINE_LABEL = "node.labels.", "engine.labels."
NODE_KEYS = ("node.id", "node.hostname", "node.ip", "node.role", "node.platform.os", "node.platform.arch")
CARD_FACTS = ("model", "memory", "driver", "cuda", "vendor", "index", "uuid", "pci", "numa", "mig")
NODE_FACTS = ("count", "free", "enable", "schedule")
GPU_KEYS = tuple(f"gpu.{fact}" for fact in CARD_FACTS + NODE_FACTS)
IDENTITIES = (*NODE_KEYS, "gpu.model", "gpu.vendor", "gpu.uuid", "gpu.pci", "gpu.mig", "gpu.enable", "gpu.schedule")
"""Keys whose values have no order."""

_KUBERNETES = {
    "nvidia.com/gpu.product": "gpu.model",
    "nvidia.com/gpu.memory": "gpu.memory",
    "nvidia.com/gpu.count": "gpu.count",
    "nvidia.com/gpu": "gpu.count",
    "nvidia.com/mig.strategy": "gpu.mig",
    "nvidia.com/cuda.driver.major": "gpu.driver",
    "nvidia.com/cuda.driver-version.major": "gpu.driver",
    "nvidia.com/cuda.runtime.major": "gpu.cuda",
    "amd.com/gpu.product-name": "gpu.model",
}
"""Labels of cards in Kubernetes, and what asks for the same here."""


def canonical(key: str) -> str | None:
    """The key as matching knows it (family in lower case, `node.labels.gpu.model` as `gpu.model`), or None.

    The name of a label keeps its case, as in Swarm.
    """
    lower = key.lower()
    if lower in NODE_KEYS or lower in GPU_KEYS:
        return lower
    for family in (NODE_LABEL, ENGINE_LABEL):
        if lower.startswith(family) and len(key) > len(family):
            label = key[len(family) :]
            return label if family == NODE_LABEL and label in GPU_KEYS else family + label
    return None


def card_fact(key: str) -> str | None:
    """The fact of a card that a canonical key asks for ("model"), or None for a key that is asked of the node."""
    fact = key.removeprefix("gpu.")
    return fact if fact in CARD_FACTS and key.startswith("gpu.") else None


def nearest(key: str) -> str:
    """The right form of a key that is none: the family that it is close to, else a node label of that name."""
    lower, parts = key.lower(), key.strip(".").split(".")
    if lower.removeprefix(NODE_LABEL) in _KUBERNETES:
        return _KUBERNETES[lower.removeprefix(NODE_LABEL)]
    family, rest = ".".join(parts[:2]).lower(), ".".join(parts[2:])
    close = get_close_matches(family, (NODE_LABEL[:-1], ENGINE_LABEL[:-1]), n=1, cutoff=0.8)
    if close:
        return f"{close[0]}.{rest or 'NAME'}"
    whole = get_close_matches(lower, NODE_KEYS + GPU_KEYS, n=1, cutoff=0.85)
    if whole:
        return whole[0]
    first, after = parts[0].lower(), ".".join(parts[1:])
    if after and get_close_matches(first, ("node", "labels", "label"), n=1, cutoff=0.8):
        return NODE_LABEL + after
    return NODE_LABEL + ".".join(parts)
