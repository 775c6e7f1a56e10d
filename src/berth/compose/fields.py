"""Typed reading of one mapping: each method takes a key, and notes what is wrong with its place instead of failing."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from berth.compose import keys, masking, remedies, units, unknown
from berth.compose.report import Report
from berth.compose.scalars import shown
from berth.compose.text import Place
from berth.compose.tree import Items, Mapping, Node, Scalar

_TRUE = ("y", "yes", "true", "on")
_FALSE = ("n", "no", "false", "off")
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text"}


class Var(NamedTuple):
    """A value of an environment or of labels, with its place and field; None: only the name stands there."""

    value: str | None
    place: Place | None
    field: str


class Fields:
    """One mapping with the path that messages name it by. A key whose value is empty (null) counts as absent.

    `name` is the place of the key under which the mapping stands, where there is one.
    """

    def __init__(self, mapping: Mapping, path: str, report: Report, section: keys.Section | None = None) -> None:
        self.mapping = mapping
        self.path = path
        self.report = report
        self.name: Place = mapping.place
        if section is not None:
            unknown.check(section, mapping, path, report)

    def node(self, key: str) -> Node | None:
        """The value under a key."""
        entry = self.mapping.entries.get(key)
        if entry is None or (isinstance(entry.node, Scalar) and entry.node.value is None):
            return None
        return entry.node

    def is_word(self, key: str) -> bool:
        """True when a single value stands under a key."""
        return isinstance(self.node(key), Scalar)

    def at(self, key: str) -> Place:
        """Where a key's value stands: the value itself when it is a single word, else the key. Where it is missing: the
        name of the mapping.
        """
        entry = self.mapping.entries.get(key)
        if entry is None:
            return self.name
        return entry.node.place if isinstance(entry.node, Scalar) else entry.key

    def field(self, key: str) -> str:
        """The whole path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def wrong(self, key: str, code: str, message: str, hint: str = "") -> None:
        """Note that the value under a key is wrong."""
        self.report.wrong(self.at(key), code, message, hint, self.field(key))

    def name_wrong(self, key: str, code: str, message: str, hint: str = "") -> None:
        """Note that a key itself is wrong."""
        entry = self.mapping.entries.get(key)
        self.report.wrong(entry.key if entry else self.mapping.place, code, message, hint, self.field(key))

    def text(self, key: str, default: str = "") -> str:
        """Text; a number is taken as it is written."""
        node = self.node(key)
        if node is None:
            return default
        found = as_text(node)
        if found is None:
            self._mistyped(key, node, "text")
        return default if found is None else found

    def flag(self, key: str) -> bool | None:
        """true or false; also the words yes, no, on, off."""
        node = self.node(key)
        if node is None:
            return None
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool):
            return value
        word = value.lower() if isinstance(value, str) else ""
        if word not in _TRUE + _FALSE:
            self._mistyped(key, node, "true or false")
        return word in _TRUE

    def whole(self, key: str, least: int = 0, most: int = 2**31 - 1) -> int | None:
        """A whole number; also one that stands in quotes or came from a variable."""
        node = self.node(key)
        if node is None:
            return None
        number = as_whole(node)
        if number is None:
            self._mistyped(key, node, "a whole number")
        elif not least <= number <= most:
            self.wrong(key, "out-of-range", f"{number} is not from {least} to {most}.", f"Write {key}: {max(least, 1)}")
        else:
            return number
        return None

    def measured(self, key: str, read: Callable[[str], int]) -> int | None:
        """A time, size or number of CPUs by its reader in `units`."""
        node = self.node(key)
        if node is None:
            return None
        text = as_text(node)
        if text is None:
            self._mistyped(key, node, "a value with its unit")
            return None
        try:
            return read(text)
        except ValueError as error:
            message, hint = error.args
            self.wrong(key, "bad-value", message, hint)
            return None

    def seconds(self, key: str) -> float | None:
        """A time in seconds."""
        found = self.measured(key, units.nanoseconds)
        return None if found is None else found / units.NANO

    def strings(self, key: str, one: bool = False) -> tuple[tuple[str, Place], ...]:
        """A list of texts with their places; with `one`, a single text counts as a list of one."""
        node = self.node(key)
        if node is None:
            return ()
        if one and isinstance(node, Scalar):
            return ((self.text(key), node.place),)
        if not isinstance(node, Items):
            self._mistyped(key, node, "a list")
            return ()
        return tuple(self._strings(key, node))

    def command(self, key: str) -> tuple[str, ...] | None:
        """A command: a list, or a line that is split as a shell would; None when absent or empty."""
        node = self.node(key)
        if not isinstance(node, Scalar):
            return tuple(text for text, _ in self.strings(key)) or None
        try:
            return units.words(self.text(key)) or None
        except ValueError as error:
            self.wrong(key, "bad-value", *error.args)
            return None

    def pairs(self, key: str) -> dict[str, Var]:
        """NAME=value pairs, from a mapping or a list."""
        node = self.node(key)
        if isinstance(node, Mapping):
            return {
                name: Var(self._pair_value(key, name, entry.node), entry.key, self.field(f"{key}.{name}"))
                for name, entry in node.entries.items()
                if self._is_name(key, name, entry.key)
            }
        if isinstance(node, Scalar):
            path = self.field(key)
            message = f"{key} is {kind(node)}, not a mapping or list."
            self.report.wrong(node.place, "wrong-type", message, f"Write {key}: {{NAME: value}}", path)
            return {}
        found = {}
        for n, (text, place) in enumerate(self.strings(key)):
            name, equals, value = text.partition("=")
            if self._is_name(key, name, place):
                found[name] = Var(value if equals else None, place, self.field(f"{key}.{n}"))
        return found

    def _is_name(self, key: str, name: str, place: Place) -> bool:
        if name.strip() and "=" not in name:
            return True
        message = f"'{name[:40]}' is no name of a variable or label."
        self.report.wrong(place, "bad-value", message, "Write NAME=value, or NAME: value", self.field(key))
        return False

    def texts(self, key: str) -> dict[str, str]:
        """The same as plain text; a name alone has the empty text."""
        return {name: var.value or "" for name, var in self.pairs(key).items()}

    def table(self, key: str, section: keys.Section | None = None) -> "Fields":
        """The mapping under a key (an empty one when it is absent), its keys checked where a section is given."""
        node = self.node(key)
        if node is not None and not isinstance(node, Mapping):
            self._mistyped(key, node, "a mapping of keys to values")
        mapping = node if isinstance(node, Mapping) else Mapping(self.at(key), {})
        found = Fields(mapping, self.field(key), self.report, section)
        entry = self.mapping.entries.get(key)
        found.name = entry.key if entry is not None else found.name
        return found

    def rows(self, key: str) -> Iterator[tuple[str, Node]]:
        """The items of a list with their paths."""
        node = self.node(key)
        if isinstance(node, Items):
            for n, item in enumerate(node.items):
                yield self.field(f"{key}.{n}"), item
        elif node is not None:
            self._mistyped(key, node, "a list")

    def named(self, key: str, section: keys.Section) -> Iterator[tuple[str, "Fields"]]:
        """The members of a mapping of names, such as the file's networks; an empty member counts as {}."""
        node = self.node(key)
        if node is not None and not isinstance(node, Mapping):
            self._mistyped(key, node, "a mapping of names")
        if isinstance(node, Mapping):
            members = Fields(node, self.field(key), self.report)
            for name in node.entries:
                found = members.node(name)
                if found is None or isinstance(found, Mapping):
                    yield name, members.table(name, section)
                else:
                    message = f"{name} is {kind(found)}, not a mapping of keys to values."
                    hint = remedies.of_member(name, found)
                    self.report.wrong(members.at(name), "wrong-type", message, hint, members.field(name))

    def mistyped(self, node: Node, path: str, wanted: str) -> None:
        """Note that a node is of the wrong kind."""
        self.report.wrong(node.place, "wrong-type", f"{path} is {kind(node)}, not {wanted}.", f"Write {wanted}.", path)

    def _mistyped(self, key: str, node: Node, wanted: str) -> None:
        message = f"{key} is {kind(node)}, not {wanted}."
        self.report.wrong(self.at(key), "wrong-type", message, remedies.of_kind(key, node, wanted), self.field(key))

    def _strings(self, key: str, node: Items) -> Iterator[tuple[str, Place]]:
        for n, item in enumerate(node.items):
            text = as_text(item)
            if text is None:
                path = self.field(f"{key}.{n}")
                hint = remedies.of_item(key, item)
                self.report.wrong(item.place, "wrong-type", f"{path} is {kind(item)}, not text.", hint, path)
            else:
                yield text, item.place

    def _pair_value(self, key: str, name: str, node: Node) -> str | None:
        if not isinstance(node, Scalar) or isinstance(node.value, bool):
            path = self.field(f"{key}.{name}")
            hint = f'Quote it: {name}: "{node.written}"' if isinstance(node, Scalar) else f"Write {name}: text"
            message = f"{name} is {kind(node)}, not text or a number."
            self.report.wrong(node.place, "wrong-type", message, hint, path)
            return node.written if isinstance(node, Scalar) else name
        if node.value is None or isinstance(node.value, str):
            return node.value
        text = shown(node.value)
        if text != node.written:
            secret = masking.is_secret_name(name)
            written, arrives = ("VALUE", "other text") if secret else (node.written, text)
            message = f"{name}: {written} is a number and arrives as {arrives}, as with docker stack deploy."
            hint = f'To keep it as it is: {name}: "{written}"'
            self.report.warn(node.place, "number-rewritten", message, hint, self.field(f"{key}.{name}"))
        return text


def as_text(node: Node) -> str | None:
    """The node as text: text itself, or a number as written; None for anything else."""
    if isinstance(node, Scalar) and isinstance(node.value, str | int | float) and not isinstance(node.value, bool):
        return node.written
    return None


def as_whole(node: Node) -> int | None:
    """The node as a whole number; also from text such as "2"."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        bare = value.strip().removeprefix("-")
        return int(value) if bare.isascii() and bare.isdecimal() and len(bare) < 19 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    return value


def kind(node: Node) -> str:
    """What a node is, in words."""
    if isinstance(node, Scalar):
        if node.value is None:
            return "empty"
        return f"{_KINDS.get(type(node.value), 'empty')} ({masking.masked(node.written)[:40]})"
    return "a list" if isinstance(node, Items) else "a mapping"
