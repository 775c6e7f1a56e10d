"""The 25 stack files together use every key of the schema, in each of its forms: a key that none of them uses fails."""

from collections.abc import Iterator

import pytest

from berth.compose import tree
from berth.compose.text import decode
from berth.compose.tree import Items, Mapping, Node, Scalar
from berth.model.draft import SourceFile
from tests.engines import stack_keys
from tests.engines.test_slots_like_natives import FILES


def used() -> dict[str, set[str]]:
    """For each path, and path with its form ("services.*.command text"), the files that use it."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for key, node in walked(tree.read(decode(SourceFile(path.name, path.read_bytes()))), "", own=False):
            for name in (key, f"{key} {form(node)}"):
                found.setdefault(name, set()).add(path.stem)
    return found


def walked(node: Node, path: str, own: bool) -> Iterator[tuple[str, Node]]:
    """Every key below a node with its path; the names that a file chooses itself are `*`."""
    if isinstance(node, Mapping):
        for name, entry in node.entries.items():
            below = ".".join(part for part in (path, "*" if own else name) if part)
            yield below, entry.node
            yield from walked(entry.node, below, not own and name in stack_keys.NAMES)
    elif isinstance(node, Items):
        for item in node.items:
            yield f"{path}.-", item
            yield from walked(item, path, own=False)


def form(node: Node) -> str:
    """Which of the forms of a key a node is."""
    return "text" if isinstance(node, Scalar) else "list" if isinstance(node, Items) else "mapping"


USED = used()


@pytest.mark.parametrize("key", stack_keys.KEYS)
def test_some_file_uses_the_key(key: str) -> None:
    assert USED.get(key), f"no file in {FILES[0].parent.name} uses {key}"


@pytest.mark.parametrize(("key", "forms"), stack_keys.FORMS.items())
def test_some_file_uses_each_form_of_it(key: str, forms: tuple[str, ...]) -> None:
    assert [one for one in forms if not USED.get(f"{key} {one}")] == []
