"""How a value of a stack file is brought into its long form; `tables` says which key gets which shape."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from berth.compose import units
from berth.compose.fields import Fields
from berth.compose.goyaml import sorted_keys
from berth.compose.tree import Items, Node, Scalar
from berth.compose.tree import Mapping as Table

Shape = Callable[[Fields, str], Any]


def raw(node: Node) -> Any:
    """A node as it stands."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [raw(item) for item in node.items]
    return sorted_keys({name: raw(entry.node) for name, entry in node.entries.items()})


def plain(one: Fields, key: str) -> Any:
    node = one.node(key)
    return None if node is None else raw(node)


def text(one: Fields, key: str) -> Any:
    return one.text(key)


def flag(one: Fields, key: str) -> Any:
    return one.flag(key) or None


def given_flag(one: Fields, key: str) -> Any:
    return Kept(one.flag(key)) if one.node(key) is not None else None


def number(one: Fields, key: str) -> Any:
    return one.whole(key, -(2**63), 2**63)


def given_number(one: Fields, key: str) -> Any:
    return Kept(one.whole(key)) if one.node(key) is not None else None


def ratio(one: Fields, key: str) -> Any:
    value = one.measured(key, units.ratio)
    return None if value is None else value / units.NANO


def time(one: Fields, key: str) -> Any:
    value = one.measured(key, units.nanoseconds)
    return None if value is None else Kept(go_duration(value))


def some_time(one: Fields, key: str) -> Any:
    """A time that is not written when it is none."""
    value = one.measured(key, units.nanoseconds)
    return go_duration(value) if value else None


def byte_count(one: Fields, key: str) -> Any:
    value = one.measured(key, units.size)
    return str(value) if value else None


def size(one: Fields, key: str) -> Any:
    return one.measured(key, units.size) or None


def words(one: Fields, key: str) -> Any:
    return [text for text, _ in one.strings(key, one=True)]


def command(one: Fields, key: str) -> Any:
    return list(one.command(key) or ())


def pairs(one: Fields, key: str) -> Any:
    return sorted_keys(one.texts(key))


def table(shapes: Mapping[str, Shape], one: Fields, key: str) -> Any:
    return None if one.node(key) is None else shaped(one.table(key), shapes)


def pointed(shapes: Mapping[str, Shape], one: Fields, key: str) -> Any:
    """A table that is written as {} when nothing of it is left."""
    return None if one.node(key) is None else Kept(shaped(one.table(key), shapes))


def rows(shapes: Mapping[str, Shape], one: Fields, key: str) -> Any:
    rows = [(path, node) for path, node in one.rows(key) if isinstance(node, Table)]
    return [shaped(Fields(node, path, one.report), shapes) for path, node in rows]


class Kept:
    """A value that is written even when it is empty."""

    def __init__(self, value: Any) -> None:
        self.value = value


def shaped(one: Fields, shapes: Mapping[str, Shape]) -> dict[str, Any]:
    """The keys of a mapping in the order of the table, without those that say nothing."""
    found = {}
    for key, shape in shapes.items():
        value = shape(one, key)
        if isinstance(value, Kept):
            found[key] = value.value
        elif value not in (None, "", [], {}, 0, False):
            found[key] = value
    return found


def go_duration(nanoseconds: int) -> str:
    """A time as Go prints it: 1h0m0s, 1m30s, 1.5s, 300ms, 0s."""
    if nanoseconds < units.NANO:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if nanoseconds >= size:
                return f"{_decimal(nanoseconds, size)}{unit}"
        return "0s"
    minutes, rest = divmod(nanoseconds, 60 * units.NANO)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, units.NANO)}s"
    return f"{hours}h{minutes}m{seconds}" if hours else f"{minutes}m{seconds}" if minutes else seconds


def _decimal(value: int, size: int) -> str:
    whole, part = divmod(value, size)
    digits = str(part).zfill(len(str(size)) - 1).rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)


def extras(one: Fields) -> dict[str, Any]:
    return {name: raw(entry.node) for name, entry in one.mapping.entries.items() if name.startswith("x-")}


def each(shape: Shape, *names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, shape)


def joined(directory: str, path: str) -> str:
    """A path from the directory of the first file."""
    return posixpath.normpath(posixpath.join(directory or ".", path))
