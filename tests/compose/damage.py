"""Valid files, and what happens to files: pieces deleted, doubled, retyped, put in; deep nesting, odd bytes."""

import copy
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from berth.compose import keys

ROOT = Path(__file__).parents[2]
SEEDS = [
    path.read_bytes()
    for folder in ("examples", "tests/files/stacks")
    for path in sorted((ROOT / folder).rglob("*.y*ml"))
    if path.stat().st_size < 20_000
]
"""Examples, and the files that together use every key."""
_TOKENS = re.compile(rb"\n[ ]*|[ ]+|[A-Za-z0-9_./$-]+|[^A-Za-z0-9]", re.DOTALL)
PIECES = [
    b"\t", b"\n", b": ", b"- ", b"[", b"]", b"{", b"}", b"'", b'"', b"&a ", b"*a", b"<<: ", b"|\n", b">-\n", b"!!int ",
    b"~", b"-1", b"0.5", b"true", b"null", b"$X", b"${X:-", b"${X:?y}", b"}", b"$$", b"{{.Task.Slot}}", b"\x00",
    b"\xff", b"\xef\xbb\xbf", b"---\n", b"...", b"# ", b"\r\n", b"services:", b"  ", b"9" * 30, b"1e400", b".inf",
    b"deploy:", b"gpus: all", b"count: ", b"x-berth: {lint: [a]}", b"devices:", b"? ", b"ports: ['80-90:80']",
    b"update_config: {parallelism: 1}", b"environment: {PASSWORD: x}", b"PASSWORD=", b"GPU-", b"node.labels.x =~ [",
]  # fmt: skip
_VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**63, 2**70, "", " ", "$", "${A:?}", "a", "x" * 300, [], {}, [None], {"": None},
    "1g", "5s", "-5s", "1e400", float("inf"), "80:80", "/a:/b", "=", "a=b", "gpu", "all", "node.id == x", "GPU-1",
    "{{.Node.ID}}",
]  # fmt: skip
KEYS = sorted(
    {key for section in vars(keys).values() if isinstance(section, keys.Section) for key in section.known()}
    | {"", "x-a"}
)
DEEPEST = 40
"""Levels above which nothing is put inside something else any more: two accidents at most double them."""
_LETTERS = "é漢😀\u200b\u0301\u2028\u0085\ufeff\u202e\ud7ff٣ﬀ"


def damaged(seed: bytes, choice: random.Random) -> bytes:
    """The file after one to six accidents: to its values alone, so that it is YAML still, or to its text."""
    if choice.randrange(2):
        whole = yaml.safe_load(seed)
        for _ in range(choice.choice((1, 1, 2, 4, 8))):
            if _levels(whole) < DEEPEST:
                _value(whole, choice)
        return yaml.safe_dump(whole, default_flow_style=choice.choice((None, False, True)), allow_unicode=True).encode()
    data = seed
    for _ in range(choice.choice((1, 1, 1, 2, 3, 6))):
        data = choice.choice(_WAYS)(data, choice)
    return data


def _value(whole: Any, choice: random.Random) -> None:
    """A value somewhere in the tree is deleted, retyped, or stands under another key, too."""
    holders = [node for node in _nodes(whole) if node] or [{"": None}]
    holder, other = choice.choice(holders), choice.choice(holders)
    key = choice.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if choice.randrange(4) == 0:
        del holder[key]
        return
    there = choice.choice(list(other.values()) if isinstance(other, dict) else other)
    holder[key] = copy.deepcopy(choice.choice((*_VALUES, there, [holder[key]], {"a": holder[key]})))
    if isinstance(holder, dict) and choice.randrange(3) == 0:
        holder[choice.choice(KEYS)] = holder.pop(key)


def _levels(node: Any) -> int:
    if not isinstance(node, dict | list):
        return 0
    return 1 + max(map(_levels, node.values() if isinstance(node, dict) else node), default=0)


def _nodes(node: Any) -> Iterator[Any]:
    if isinstance(node, dict | list):
        yield node
        for below in list(node.values()) if isinstance(node, dict) else node:
            yield from _nodes(below)


def _bytes(data: bytes, choice: random.Random) -> bytes:
    """Some bytes are gone, and something else is in their place."""
    at = choice.randrange(len(data) + 1)
    span = choice.choice((0, 0, 1, 3, 20))
    return data[:at] + choice.choice((*PIECES, bytes([choice.randrange(256)]), choice.randbytes(4))) + data[at + span :]


def _tokens(data: bytes, choice: random.Random) -> bytes:
    """A token is deleted, doubled, swapped with another, or retyped as another kind of value."""
    tokens = _TOKENS.findall(data) or [b""]
    at, other = choice.randrange(len(tokens)), choice.randrange(len(tokens))
    match choice.randrange(5):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(other, tokens[at])
        case 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 3:
            tokens[at] = choice.choice((b"[a, b]", b"{a: b}", b"''", b"3", b"-7", b"yes", b"~", b"1.5", b"2001-01-01"))
        case 4:
            tokens[at] = choice.choice(PIECES)
    return b"".join(tokens)


def _lines(data: bytes, choice: random.Random) -> bytes:
    """A line is deleted, doubled, moved, or indented otherwise; or a whole part stands somewhere else again."""
    lines = data.split(b"\n")
    at, other = choice.randrange(len(lines)), choice.randrange(len(lines))
    match choice.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at] = b" " * choice.randrange(9) + lines[at].lstrip()
        case 3:
            lines[at] = lines[at].replace(b":", choice.choice((b"", b"::", b" :", b"=")))
        case 4:
            lines[other:other] = lines[at : at + choice.randrange(12)]
    return b"\n".join(lines)


def _depth(data: bytes, choice: random.Random) -> bytes:
    """Something stands deep inside itself."""
    times = choice.choice((3, 30, 99, 101, 2000))
    opening, closing = choice.choice(((b"[", b"]"), (b"{a: ", b"}"), (b"- ", b""), (b"${X:-", b"}"), (b"(", b")")))
    at = choice.randrange(len(data) + 1)
    return data[:at] + opening * times + b"x" + closing * choice.choice((times, times, 0)) + data[at:]


def _letters(data: bytes, choice: random.Random) -> bytes:
    """Letters that look like nothing, like others, or like none."""
    at = choice.randrange(len(data) + 1)
    word = "".join(choice.choice(_LETTERS) for _ in range(choice.randint(1, 5)))
    return data[:at] + word.encode() + data[at:]


_WAYS = (_bytes, _bytes, _tokens, _tokens, _tokens, _lines, _lines, _depth, _letters)
