"""libyaml's complaints in plain words with a place; used by the YAML reader alone."""

import re

import yaml

from berth.compose.text import Place, Text
from berth.model.errors import Problem

_WORDS = {
    "mapping values are not allowed in this context": (
        "a second ': ' stands where only a value may be, or the indentation is off.",
        "Quote the value, or align the key with its neighbours.",
    ),
    "could not find expected ':'": ("the ':' after a key is missing.", "Write KEY: VALUE, or - VALUE in a list."),
    "did not find expected key": ("a key is expected here.", "Align it with its neighbours, or close a quote above."),
    "did not find expected '-' indicator": (
        "a list item '- ' is expected here.",
        "Align it with the items above, or indent less.",
    ),
    "did not find expected ',' or ']'": ("a list that begins with [ is not closed.", "Add the ] or a comma."),
    "did not find expected ',' or '}'": ("a mapping that begins with { is not closed.", "Add the } or a comma."),
    "found unexpected end of stream": ("a quote that begins here is not closed.", "Close it."),
    "did not find expected <document start>": ("text follows the end of the document.", "Remove it."),
    "block sequence entries are not allowed in this context": (
        "a list item cannot begin here.",
        "Put it on a line of its own, indented below its key.",
    ),
}
_BARE = re.compile(r"\s*[\w.-]+\s*")
_INDENT_TAB = re.compile(r"[ ]*\t")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x86-\x9f\ufffe\uffff]|[\x80-\x84]")


def complaint(error: yaml.YAMLError, text: Text) -> Problem:
    """What the YAML library refused, as a problem with its place."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return _unreadable(text)
    words = str(getattr(error, "problem", "") or "")
    line, column = mark.line + 1, mark.column + 1
    if "tab" in words or _at(text, line, column) == "\t" or _INDENT_TAB.match(text.line(line)):
        return _tab(text, line)
    start = getattr(error, "context_mark", None)
    if start is not None and words.startswith("could not find expected"):
        line, column = start.line + 1, start.column + 1
    above = _bare_word_above(text, line) if words.startswith("mapping values") else 0
    if above:
        column = len(text.line(above)) - len(text.line(above).lstrip()) + 1
        message, hint = _WORDS["could not find expected ':'"]
        return Place(text, above, column).problem("yaml-syntax", message, hint)
    if start is not None and ("stream" in words or "expected ','" in words):
        line, column = start.line + 1, start.column + 1
    message, hint = _WORDS.get(
        words, (f"this is not YAML: {words or 'it cannot be read'}.", _general(text, line, column))
    )
    return Place(text, line, column).problem("yaml-syntax", message, hint)


def _bare_word_above(text: Text, number: int) -> int:
    """The line above this one where it is a single word, indented less: a key that lost its colon; 0 for none."""
    above, here = text.line(number - 1), text.line(number)
    deeper = len(here) - len(here.lstrip()) > len(above) - len(above.lstrip())
    return number - 1 if deeper and _BARE.fullmatch(above) else 0


def _at(text: Text, line: int, column: int) -> str:
    return text.line(line)[column - 1 : column]


def _general(text: Text, line: int, column: int) -> str:
    sign = _at(text, line, column)
    return f'Quote the value: "{sign}..."' if sign in tuple("@`%&*!|>") else "Check the lines above it, too."


def _tab(text: Text, line: int) -> Problem:
    """Tabs indent nothing in YAML; the first one at or above the place where it was noticed."""
    first = next((n for n in range(max(1, line - 1), line + 1) if _INDENT_TAB.match(text.line(n))), line)
    column = text.line(first).find("\t") + 1
    message = f"line {first} has a tab where YAML wants spaces."
    return Place(text, first, max(column, 1)).problem("yaml-tab", message, "Indent with spaces.")


def _unreadable(text: Text) -> Problem:
    for number, line in enumerate(text.lines, 1):
        found = _CONTROL.search(line)
        if found:
            message = f"the character U+{ord(found[0]):04X} is not text."
            return Place(text, number, found.start() + 1).problem(
                "not-text", message, "Remove it, or name a YAML file."
            )
    return Place(text, 1, 1).problem("not-text", "the file is not text.", "Name a YAML file.")
