"""A file as lines and places: bytes become text here, or are refused; the YAML reader and every error point into it."""

import re
from typing import NamedTuple

from berth.compose import masking
from berth.model.draft import SourceFile
from berth.model.errors import BadInput, Problem

MOST_BYTES = 10 * 1000 * 1000
_SHOWN = 300
"""Characters of a long line that travel with a problem, its place in their middle."""
_AROUND = 1_000
"""Characters before and after those in which the beginning or end of a token is looked for."""
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Text:
    """The text of one file and the name that messages give it. Lines of a `private` one are never shown."""

    def __init__(self, path: str, content: str, private: bool = False) -> None:
        self.path = path
        self.content = content
        self.private = private
        self._lines: list[str] | None = None
        self._masked: dict[int, str] = {}

    @property
    def lines(self) -> list[str]:
        """The lines without their ends; line N is at N-1."""
        if self._lines is None:
            self._lines = _BREAK.split(self.content)
        return self._lines

    def line(self, number: int) -> str:
        """Line `number`, counted from 1; "" beyond the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def shown(self, number: int, column: int) -> tuple[str, int]:
        """The line as messages show it, secrets hidden, and how many characters were cut off before it."""
        line = self._hidden(number)
        start = max(0, min(column - 1 - _SHOWN // 2, len(line) - _SHOWN))
        around = max(0, start - _AROUND)
        return masking.tokens_masked(line[around : start + _SHOWN + _AROUND])[start - around :][:_SHOWN], start

    def _hidden(self, number: int) -> str:
        """The whole line without the values of secrets; kept, since a line may have many problems."""
        if number not in self._masked:
            line = "" if self.private else self.line(number)
            secret = bool(line) and masking.continues_secret(self.lines, number)
            self._masked[number] = masking.HIDDEN * len(line) if secret else masking.masked(line)
        return self._masked[number]


class Place(NamedTuple):
    """A character of a file, line and column from 1."""

    text: Text
    line: int
    column: int

    def problem(self, code: str, message: str, hint: str = "", field: str = "") -> Problem:
        """A problem at this place, with the line itself for the mark under it."""
        excerpt, cut = self.text.shown(self.line, self.column)
        return Problem(
            code=code, message=message, hint=hint, field=field, file=self.text.path, line=self.line,
            column=self.column, excerpt=excerpt, cut=cut,
        )  # fmt: skip

    def shifted(self, columns: int) -> "Place":
        """The place so many columns to the right."""
        return Place(self.text, self.line, self.column + columns)


def decode(file: SourceFile, private: bool = False) -> Text:
    """The text of a file, without a byte order mark; `private` where its values may be secrets.

    Raises BadInput for what is too big, binary or not UTF-8.
    """
    data = file.data
    if len(data) > MOST_BYTES:
        raise _unread(file, 0, "file-too-big", f"the file has {len(data)} bytes; at most {MOST_BYTES} are read.")
    if data[:2] in _BOMS:
        raise _unread(file, 1, "not-utf-8", "the file is UTF-16, not UTF-8.", "Save it as UTF-8.")
    zero = data.find(b"\0")
    if zero >= 0:
        raise _unread(file, _line(data, zero), "not-text", "the file is binary, not text.", "Name the YAML file.")
    try:
        return Text(file.path, data.decode("utf-8-sig"), private)
    except UnicodeDecodeError as error:
        at = data.rfind(b"\n", 0, error.start) + 1
        column = len(data[at : error.start].decode("utf-8", "replace")) + 1
        message = f"the byte 0x{data[error.start]:02x} at column {column} is not UTF-8."
        raise _unread(file, _line(data, error.start), "not-utf-8", message, "Save the file as UTF-8.") from None


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _unread(file: SourceFile, line: int, code: str, message: str, hint: str = "Name a smaller file.") -> BadInput:
    return BadInput(Problem(code=code, message=message, hint=hint, file=file.path, line=line))
