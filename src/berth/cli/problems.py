"""How a problem looks on a terminal: where and what, the line with a mark, what to type instead, its code."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

WIDEST = 100
"""Characters of a line that are shown around a mark."""
_WORD = re.compile(r"[^\s,\[\]{}]+")


def lines(problem: dict[str, Any]) -> list[str]:
    """One problem as lines of text; `problem` is an `error` object of the API."""
    found = [f"{_place(problem)}{printable(str(problem.get('message', '')))}"]
    found += _excerpt(problem)
    if problem.get("field") and problem["field"] not in found[0]:
        found.append(f"  in: {printable(problem['field'])}")
    if problem.get("hint"):
        hint = printable(problem["hint"], keep="\n").splitlines()
        found += [f"  -> {hint[0]}", *(f"     {more}" for more in hint[1:])]
    if problem.get("code"):
        found.append(f"  code: {printable(problem['code'])} (berth explain {printable(problem['code'])})")
    return found


def brief(problem: dict[str, Any]) -> str:
    """One problem on one line: where, what, what to write instead, its code."""
    hint = " ".join(printable(str(problem.get("hint") or ""), keep="\n").split())
    said = f"{_place(problem)}{printable(str(problem.get('message', '')))}"
    return f"{said} {hint} ({printable(str(problem.get('code', '')))})"


def report(problems: Iterable[dict[str, Any]]) -> str:
    """Several problems with an empty line between them."""
    return "\n\n".join("\n".join(lines(problem)) for problem in problems)


def printable(text: str, keep: str = "") -> str:
    """Text without control characters, so that a name chosen by somebody else cannot drive the terminal."""
    return "".join(ch if ch.isprintable() or ch in keep else "?" for ch in text)


def cell_width(text: str) -> int:
    """How many cells of a terminal the text takes (wide East Asian characters and emoji take two)."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(ch) in "WF" else 0 if unicodedata.combining(ch) else 1 for ch in text)


def _place(problem: dict[str, Any]) -> str:
    if not problem.get("file"):
        return "berth: "
    parts = [problem["file"], problem.get("line"), problem.get("column") if problem.get("line") else None]
    return ":".join(printable(str(part)) for part in parts if part) + ": "


def _excerpt(problem: dict[str, Any]) -> list[str]:
    """The line and a mark under its place: `^~~~` as long as the word there."""
    text = printable(str(problem.get("excerpt") or "").rstrip(), keep="\t")
    if not text:
        return []
    cut = int(problem.get("cut") or 0)
    at = int(problem.get("column") or 0) - 1 - cut
    if not 0 <= at <= len(text):
        return [f"  | {_cut(text, 0)[0]}"]
    length = _length(text, at)
    shown, start = _cut(f"…{text[1:]}" if cut else text, at)
    at -= start
    pad = "".join("\t" if ch == "\t" else " " * cell_width(ch) for ch in shown[:at])
    return [f"  | {shown}", f"  | {pad}^{'~' * (cell_width(shown[at : at + length]) - 1)}"]


def _length(text: str, at: int) -> int:
    """How many characters the word at a place has: to its closing quote, or to a space or sign of YAML."""
    if at and text[at - 1] in "\"'" and text.find(text[at - 1], at) > at:
        return text.index(text[at - 1], at) - at
    word = _WORD.match(text, at)
    return len(word[0].rstrip(":")) if word else 1


def _cut(text: str, at: int) -> tuple[str, int]:
    """The part of a long line that holds the place, with … where it was cut, and where that part begins."""
    if len(text) <= WIDEST:
        return text, 0
    start = 0 if at < WIDEST * 2 // 3 else max(0, min(at - WIDEST // 2, len(text) - WIDEST))
    part = text[start : start + WIDEST]
    part = f"…{part[1:]}" if start else part
    return (f"{part[:-1]}…" if start + WIDEST < len(text) else part), start
