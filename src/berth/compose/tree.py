"""Bytes of YAML -> a tree in which everything knows its place: one pass over libyaml's events, with limits.

The stack loader and the job loader walk the tree; decision 0003 says why it is made here.
"""

from collections.abc import Iterable
from typing import TypeAlias

import msgspec
import yaml

from berth.compose import scalars
from berth.compose.complaint import complaint
from berth.compose.report import MOST_PROBLEMS
from berth.compose.text import Place, Text
from berth.model.errors import BadInput, Problem

DEEPEST = 100
MOST_NODES = 100_000
"""Of a file with its aliases written out."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}


class Scalar(msgspec.Struct, frozen=True):
    """A single value; `written` is its text. `exact`: the file has the same characters from `place` on."""

    place: Place
    value: scalars.Value
    written: str
    exact: bool = False


class Items(msgspec.Struct, frozen=True):
    """A list."""

    place: Place
    items: list["Node"]
    size: int = 1
    depth: int = 1


class Entry(msgspec.Struct, frozen=True):
    """A value of a mapping and the place of its key."""

    key: Place
    node: "Node"


class Mapping(msgspec.Struct, frozen=True):
    """A mapping; keys are text as written."""

    place: Place
    entries: dict[str, Entry]
    size: int = 1
    depth: int = 1


Node: TypeAlias = Scalar | Items | Mapping


def read(text: Text, noted: list[Problem] | None = None) -> Mapping:
    """The file's tree. Raises BadInput with the one thing that makes it no YAML mapping, and with every key that stands
    twice; those are only added to `noted` where it is given, so that the rest can be looked at, too.
    """
    composer = _Composer(text)
    try:
        for event in yaml.parse(text.content, Loader=_LOADER):
            composer.take(event)
    except yaml.YAMLError as error:
        raise BadInput(complaint(error, text)) from None
    root = composer.root
    if root is None or (isinstance(root, Scalar) and root.value is None):
        raise BadInput(Place(text, 1, 1).problem("yaml-empty", "the file is empty.", "Name the file you mean."))
    if not isinstance(root, Mapping):
        message = "the file does not hold keys with values at its top."
        raise BadInput(root.place.problem("yaml-top", message, "Begin it with a key, such as services: or image:"))
    if noted is not None:
        noted += composer.problems
    elif composer.problems:
        raise BadInput(*composer.problems[:MOST_PROBLEMS])
    return root


class _Open:
    """A list or mapping that is not closed yet."""

    def __init__(self, place: Place, anchor: str | None, mapping: bool) -> None:
        self.place = place
        self.anchor = anchor
        self.mapping = mapping
        self.items: list[Node] = []
        self.entries: dict[str, Entry] = {}
        self.merged: list[Mapping] = []
        self.key: Scalar | None = None
        self.size = 1
        self.depth = 1


class _Composer:
    """Builds the tree from events with a stack of its own, so that depth is a number and not a crash."""

    def __init__(self, text: Text) -> None:
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._text = text
        self._stack: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        """Take the next event."""
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event), event.anchor)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._document(event)

    def _place(self, event: yaml.Event) -> Place:
        mark = event.start_mark
        return Place(self._text, mark.line + 1, mark.column + 1) if mark else Place(self._text, 1, 1)

    def _document(self, event: yaml.Event) -> None:
        self._documents += 1
        if self._documents > 1:
            message = "a second document begins here: a file holds one."
            raise self._refused(event, "yaml-documents", message, "Remove the --- or put it into a file of its own.")

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        if len(self._stack) >= DEEPEST:
            text = f"more than {DEEPEST} levels inside each other."
            raise self._refused(event, "yaml-too-deep", text, "Check the brackets.")
        self._known_tag(event)
        self._stack.append(_Open(self._place(event), event.anchor, isinstance(event, yaml.MappingStartEvent)))

    def _close(self) -> None:
        done = self._stack.pop()
        if done.mapping:
            self._add(Mapping(done.place, _with_merged(done), done.size, done.depth), done.anchor)
        else:
            self._add(Items(done.place, done.items, done.size, done.depth), done.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        node = self._anchors.get(event.anchor or "")
        if node is None:
            message = f"*{event.anchor} stands for nothing: no &{event.anchor} is complete before it."
            raise self._refused(event, "yaml-alias", message, "Define the anchor first.")
        self._add(node, None)

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        self._known_tag(event)
        place, written = self._place(event), event.value
        plain = event.style is None or event.style == ""
        value: scalars.Value = scalars.plain(written) if plain and event.implicit[0] else written
        if event.tag and not event.tag.endswith((":str", ":map", ":seq")):
            value = scalars.plain(written)
        if event.style in ("'", '"'):
            place = place.shifted(1)
        line = self._text.line(place.line)
        exact = line.startswith(written, place.column - 1)
        return Scalar(place, value, written, exact)

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = node
        if not self._stack:
            self.root = node
            return
        parent = self._stack[-1]
        if not parent.mapping:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self._key(node)
            return
        else:
            self._enter(parent, parent.key, node)
            parent.key = None
        self._measure(parent, node)

    def _measure(self, parent: _Open, node: Node) -> None:
        """Keep the limits, with every alias counted as if it were written out."""
        size, depth = (1, 0) if isinstance(node, Scalar) else (node.size, node.depth)
        parent.size += size
        parent.depth = max(parent.depth, depth + 1)
        if parent.depth > DEEPEST:
            text = f"with its aliases written out it has more than {DEEPEST} levels inside each other."
            raise BadInput(node.place.problem("yaml-too-deep", text, "Use fewer aliases inside aliases."))
        if parent.size > MOST_NODES:
            text = f"the file has more than {MOST_NODES} values with its aliases written out."
            raise BadInput(node.place.problem("yaml-too-big", text, "Split it, or use fewer aliases."))

    def _key(self, node: Node) -> Scalar:
        if isinstance(node, Scalar):
            return node
        message = "a key must be a single word, not a list or mapping."
        raise BadInput(node.place.problem("yaml-key", message, "Quote it when it begins with [ or {."))

    def _enter(self, parent: _Open, key: Scalar, node: Node) -> None:
        name = key.written
        if name == "<<" and key.exact and self._text.line(key.place.line)[key.place.column - 2 :][:1] not in ("'", '"'):
            parent.merged += self._to_merge(node)
            return
        if name in parent.entries:
            if len(self.problems) < MOST_PROBLEMS:  # more are not shown, and each takes its time
                self.problems.append(_twice(name[:80], key, parent.entries[name]))
            return
        parent.entries[name] = Entry(key.place, node)

    def _to_merge(self, node: Node) -> list[Mapping]:
        found = node.items if isinstance(node, Items) else [node]
        wrong = [one for one in found if not isinstance(one, Mapping)]
        if wrong:
            message = "<< takes a mapping or a list of mappings."
            self.problems.append(wrong[0].place.problem("yaml-merge", message, "Write <<: *name", "<<"))
        return [one for one in found if isinstance(one, Mapping)]

    def _known_tag(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag and tag != "!" and tag not in _TAGS:
            shown = tag.replace("tag:yaml.org,2002:", "!!")
            raise self._refused(event, "yaml-tag", f"the tag {shown[:80]} is not known here.", "Remove it.")

    def _refused(self, event: yaml.Event, code: str, message: str, hint: str) -> BadInput:
        return BadInput(self._place(event).problem(code, message, hint))


def _twice(name: str, key: Scalar, first: Entry) -> Problem:
    message = f"the key {name} stands here twice; the first is at line {first.key.line}."
    return key.place.problem("duplicate-key", message, "Remove one of them.", name)


def _with_merged(done: _Open) -> dict[str, Entry]:
    """Own keys first, then those of `<<` that are not there yet; earlier mappings win."""
    entries = done.entries
    for mapping in done.merged:
        for name, entry in mapping.entries.items():
            entries.setdefault(name, entry)
    return entries


def children(node: Node) -> Iterable[tuple[str, Place, Node]]:
    """(key or index, place, value) of what a list or mapping holds."""
    if isinstance(node, Mapping):
        return [(name, entry.key, entry.node) for name, entry in node.entries.items()]
    return [(str(n), item.place, item) for n, item in enumerate(node.items)] if isinstance(node, Items) else []
