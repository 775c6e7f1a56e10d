"""Where a verb's words go: results to stdout, talk to stderr, colour and questions only on a terminal."""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from berth.cli.problems import brief, report
from berth.cli.table import Column, render
from berth.client.errors import failure

_COLOURS = {"good": "\x1b[32m", "busy": "\x1b[33m", "bad": "\x1b[31m"}
_GOOD = frozenset({"running", "free", "ready", "succeeded", "now", "ok"})
_BUSY = frozenset(
    {"waiting", "starting", "stopping", "restarting", "prepared", "draining", "waits", "silent", "unknown"}
)
_BAD = frozenset({"failed", "fenced", "lost", "quarantined", "foreign", "gone", "never"})


class Screen:
    """A verb's way to speak. `as_json` says that stdout carries JSON and nothing else."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.terminal = sys.stdout.isatty()
        self._colour = self.terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def say(self, text: str) -> None:
        """A result for a person, on stdout."""
        print(text, flush=True)

    def note(self, text: str) -> None:
        """Something beside the result, on stderr."""
        print(text, file=sys.stderr, flush=True)

    def warn(self, problems: Iterable[dict[str, Any]]) -> None:
        """Warnings, on stderr, in the form of errors; what lint found on a line each."""
        for problem in problems:
            said = brief(problem) if str(problem.get("code")).startswith("lint-") else report([problem])
            self.note("warning: " + said.removeprefix("berth: "))

    def value(self, value: Any) -> None:
        """One value as JSON on a line of its own."""
        print(json.dumps(value, ensure_ascii=False), flush=True)

    def table(self, columns: Iterable[Column], rows: Iterable[Iterable[str]], empty: str) -> None:
        """Rows under headings, or the sentence `empty` where there are none."""
        found = [list(row) for row in rows]
        self.say("\n".join(self._lines(list(columns), found)) if found else empty)

    def ask(self, question: str, yes: bool) -> None:
        """Ask before something is destroyed, where a person is there to answer. Raises ClientError on a no."""
        if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise failure("not-confirmed", "nothing was done", "answer y, or add -y", exit_code=1)

    def clear(self) -> None:
        """Start a fresh page on a terminal; an empty line elsewhere."""
        print("\x1b[H\x1b[2J" if self.terminal else "", end="" if self.terminal else "\n")

    def _lines(self, columns: list[Column], rows: list[list[str]]) -> list[str]:
        return render(columns, rows, self._width(), self._paint)

    def _width(self) -> int | None:
        """Cells of the terminal's line; None where nothing is to be cut."""
        if not self.terminal:
            return None
        import shutil

        return shutil.get_terminal_size().columns

    def _paint(self, word: str) -> str:
        kind = "good" if word in _GOOD else "busy" if word in _BUSY else "bad" if word in _BAD else ""
        return f"{_COLOURS[kind]}{word}\x1b[0m" if kind and self._colour else word
