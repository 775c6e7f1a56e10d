"""How a problem looks on a terminal: where and what, the line with a mark, what to type instead, its code."""

from collections.abc import Iterable
from typing import Any


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


def report(problems: Iterable[dict[str, Any]]) -> str:
    """Several problems with an empty line between them."""
    return "\n\n".join("\n".join(lines(problem)) for problem in problems)


def printable(text: str, keep: str = "") -> str:
    """Text without control characters, so that a name chosen by somebody else cannot drive the terminal."""
    return "".join(ch if ch.isprintable() or ch in keep else "?" for ch in text)


def _place(problem: dict[str, Any]) -> str:
    if not problem.get("file"):
        return "berth: "
    parts = [problem["file"], problem.get("line"), problem.get("column") if problem.get("line") else None]
    return ":".join(printable(str(part)) for part in parts if part) + ": "


def _excerpt(problem: dict[str, Any]) -> list[str]:
    excerpt = printable(str(problem.get("excerpt") or "").rstrip(), keep="\t")
    if not excerpt:
        return []
    column = problem.get("column") or 0
    if not 0 < column <= len(excerpt) + 1:
        return [f"  | {excerpt}"]
    pad = "".join("\t" if ch == "\t" else " " for ch in excerpt[: column - 1])
    return [f"  | {excerpt}", f"  | {pad}^"]
