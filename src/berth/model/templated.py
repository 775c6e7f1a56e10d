"""Swarm's placeholders, such as {{.Task.Slot}}, in hostnames, variables and mounts: which there are, and their values.

The loader looks at what they can stand for; engines fill in those of slot and service, which Swarm would get wrong.
"""

import re
from collections.abc import Mapping

_ANY = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_FIELD = re.compile(
    r"\s*\.(Node\.(?:ID|Hostname|Platform\.OS|Platform\.Architecture)|Service\.(?:ID|Name)|Task\.(?:ID|Name|Slot))\s*"
)
_LABEL = re.compile(r"\s*index\s+\.Service\.Labels\s+(?:\"([^\"\\]*)\"|`([^`]*)`)\s*|\s*\.Service\.Labels\.(\w+)\s*")
TASK_ID = "{{.Task.ID}}"


def label_key(name: str) -> str:
    """The key of a service's label among the values of placeholders."""
    return f"Service.Labels:{name}"


def label_values(labels: Mapping[str, str]) -> dict[str, str]:
    """Values for the placeholders of a service's labels; a label that holds a placeholder itself has none."""
    return {label_key(name): value for name, value in labels.items() if "{{" not in value}


def expand(text: str, values: Mapping[str, str]) -> str:
    """The text with every placeholder replaced whose key has a value; others stay as they are.

    Keys are as in Swarm's language without the first dot ("Task.Slot"), and those of `label_key`.
    """
    if "{{" not in text:
        return text
    return _ANY.sub(lambda found: values.get(_key(found[1]), found[0]), text)


def left(text: str) -> str:
    """The first placeholder of a text, with its braces; "" when it has none."""
    at = text.find("{{")
    if at < 0:
        return ""
    found = _ANY.match(text, at)
    return found[0] if found else text[at:]


def _key(inside: str) -> str:
    field = _FIELD.fullmatch(inside)
    if field:
        return field[1]
    label = _LABEL.fullmatch(inside)
    return label_key(next(name for name in label.groups() if name is not None)) if label else ""
