"""Where each field of a service or job stands in its file, for what is found wrong later on (admit, the engine).

Made from the tree when somebody asks: nearly every file is right, and then nobody does.
"""

from collections.abc import Iterator, Mapping

from berth.compose import tree
from berth.compose.text import Place
from berth.compose.tree import Node, Scalar
from berth.model.errors import Problem


class Places(Mapping[str, Problem]):
    """Fields by their path below `root` ("" is the whole of it); each value is a Problem that has only a place.

    `prefix` is the path of the root in its file. `more` adds fields that stand elsewhere, by place and whole path.
    """

    def __init__(
        self, root: Node, prefix: str, name: Place, more: Mapping[str, tuple[Place | None, str]] | None = None
    ) -> None:
        self._root = root
        self._prefix = prefix
        self._name = name
        self._more = more or {}
        self._found: dict[str, tuple[Place | None, str]] | None = None

    def __getitem__(self, path: str) -> Problem:
        """The place of a field. Raises KeyError."""
        place, field = self._all()[path]
        return place.problem("", "", field=field) if place is not None else Problem(code="", message="", field=field)

    def __iter__(self) -> Iterator[str]:
        """All paths."""
        return iter(self._all())

    def __len__(self) -> int:
        """How many fields there are."""
        return len(self._all())

    def _all(self) -> dict[str, tuple[Place | None, str]]:
        if self._found is None:
            self._found = {"": (self._name, self._prefix)}
            for path, place in _walk(self._root, ""):
                self._found[path] = place, f"{self._prefix}.{path}" if self._prefix else path
            self._found.update(self._more)
        return self._found


def _walk(node: Node, path: str) -> Iterator[tuple[str, Place]]:
    for name, key, child in tree.children(node):
        below = f"{path}.{name}" if path else name
        yield below, child.place if isinstance(child, Scalar) else key
        yield from _walk(child, below)
