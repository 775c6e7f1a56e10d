"""Folds each service's env_file into its environment before several files become one; stack calls it, merge follows.

The docker CLI reads a file whole before it merges the next one into it: what a later file's env_file says stands over
what an earlier file's environment said.
"""

from berth.compose.container import environment
from berth.compose.fields import Fields
from berth.compose.report import Report
from berth.compose.scope import Scope
from berth.compose.tree import Entry, Mapping, Node, Scalar


def folded(whole: Mapping, scope: Scope, report: Report) -> Mapping:
    """The file with environments that say all. Files that are not here yet are noted in the scope."""
    services = whole.entries.get("services")
    if services is None or not isinstance(services.node, Mapping):
        return whole
    found = {name: Entry(one.key, _service(name, one, scope, report)) for name, one in services.node.entries.items()}
    return Mapping(whole.place, {**whole.entries, "services": Entry(services.key, Mapping(services.node.place, found))})


def _service(name: str, entry: Entry, scope: Scope, report: Report) -> Node:
    node = entry.node
    if not isinstance(node, Mapping) or "env_file" not in node.entries:
        return node
    one = Fields(node, f"services.{name}", report)
    place = one.at("env_file")
    values = {
        key: Entry(var.place or place, Scalar(var.place or place, var.value, var.value or ""))
        for key, var in environment(one, scope).items()
    }
    return Mapping(node.place, {**node.entries, "environment": Entry(place, Mapping(place, values))})
