"""env_file as the docker CLI reads it, and `.env` as Compose does; both give names, values and lines."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from berth.compose.report import Report
from berth.compose.template import BadTemplate, Lookup, substitute
from berth.compose.text import Place, Text

_NAME = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*(?:=\s*(.*))?", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "$": "$"}


class Pair(NamedTuple):
    """NAME=value with its place; a value of None: only the name stands there."""

    name: str
    value: str | None
    place: Place


def env_file(text: Text, report: Report) -> list[Pair]:
    """The pairs of an env_file: values as they are, quotes and blanks at their end included."""
    found = []
    for number, raw in enumerate(text.lines, 1):
        line = raw.lstrip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        place = Place(text, number, len(raw) - len(line) + 1)
        if not name or " " in name or "\t" in name:
            message = f"line {number} does not begin with the name of a variable, which has no spaces."
            report.wrong(place, "env-file-line", message, "Write NAME=value; # begins a comment.", "env_file")
            continue
        found.append(Pair(name, value if equals else None, place))
    return found


def dotenv(text: Text, look: Lookup, report: Report) -> dict[str, str]:
    """The variables of a `.env`: quotes, `export` and comments are understood; later lines may use earlier ones.

    `look` answers for variables that it uses and that the file does not set.
    """
    found: dict[str, str] = {}
    for number, line in _logical(text):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _NAME.fullmatch(line.strip())
        place = Place(text, number, 1)
        if match is None:
            report.wrong(place, "env-file-line", "this line of .env is not NAME=value.", "Write NAME=value", ".env")
            continue
        if match[2] is None:
            continue
        try:
            found[match[1]] = _value(match[2], lambda name: found[name] if name in found else look(name))
        except BadTemplate:  # its own words quote the value
            message = f"the value of {match[1]} has a $ that begins no variable, or a variable that must be set is not."
            report.wrong(place, "bad-template", message, "Put the value in single quotes, or write $$ for a $.", ".env")
    return found


def _value(raw: str, look: Lookup) -> str:
    if raw.startswith("'") and raw.find("'", 1) > 0:
        return raw[1 : raw.find("'", 1)]
    if raw.startswith('"'):
        end = _closing(raw)
        if end > 0:
            return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), substitute(raw[1:end], look), flags=re.DOTALL)
    return substitute(re.split(r"\s+#|^#", raw, maxsplit=1)[0].rstrip(), look)


def _closing(raw: str) -> int:
    at = 1
    while at < len(raw):
        if raw[at] == "\\":
            at += 1
        elif raw[at] == '"':
            return at
        at += 1
    return -1


def _logical(text: Text) -> Iterator[tuple[int, str]]:
    """Lines, those of an open double quote joined."""
    held, start = "", 0
    for number, line in enumerate(text.lines, 1):
        whole = f"{held}\n{line}" if start else line
        value = whole.partition("=")[2].lstrip()
        if value.startswith('"') and _closing(value) < 0 and number < len(text.lines):
            held, start = whole, start or number
            continue
        yield start or number, whole
        held, start = "", 0
