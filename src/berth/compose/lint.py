"""What the rules of lint_rules find, collected over a stack or for a job: warnings, or errors with --strict."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from berth.compose.fields import Fields, Var
from berth.compose.lint_rules import CODES, RULES, Looked, Rule
from berth.compose.report import MOST_PROBLEMS, Report
from berth.model.errors import Problem

MOST_NAMED = 4
_PREFIX = "lint-"


class _Finding(NamedTuple):
    rule: Rule
    name: str
    at: Var


def note(services: Sequence[Looked], strict: bool | None, report: Report) -> None:
    """Note the findings: errors where `strict`, else warnings, which take the place of "ignored" about the same key."""
    if strict:
        report.problems += each(services)
    if strict is False:
        told = {found.at.field for found in _findings(services)}
        report.warnings = [one for one in report.warnings if one.code != "key-ignored" or one.field not in told]
        report.warnings += folded(services)


def folded(services: Iterable[Looked]) -> tuple[Problem, ...]:
    """The findings as warnings: one of each rule, at its first place, with the names of all services."""
    groups: dict[str, list[_Finding]] = {}
    for found in _findings(services):
        groups.setdefault(found.rule.code, []).append(found)
    return tuple(_problem(group) for group in groups.values())


def each(services: Iterable[Looked]) -> tuple[Problem, ...]:
    """The findings as errors, each at its own place; more than anybody reads are left out."""
    return tuple(_problem([found]) for found in islice(_findings(services), MOST_PROBLEMS))


def _findings(services: Iterable[Looked]) -> Iterator[_Finding]:
    for one in services:
        for rule in RULES:
            if rule.code not in one.ignored and (rule.typed or not one.typed):
                yield from (_Finding(rule, one.name, at) for at in rule.find(one))


def _problem(group: list[_Finding]) -> Problem:
    rule, _, at = group[0]
    words: dict[str, list[str]] = {}
    for found in group:
        words.setdefault(found.name or "the job", []).extend([found.at.value[:80]] if found.at.value else [])
    names = [f"{name} ({_listed(said)})" if said else name for name, said in words.items()]
    message = f"{rule.what} in {_listed(names)}: {rule.why}"
    if at.place is None:
        return Problem(code=rule.code, message=message, hint=rule.hint, field=at.field)
    return at.place.problem(rule.code, message, rule.hint, at.field)


def _listed(names: list[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def ignored(table: Fields) -> frozenset[str]:
    """The codes under `lint` of an x-berth mapping, with or without `lint-`. A code that is none is noted."""
    found = set()
    for n, (text, place) in enumerate(table.strings("lint", one=True)):
        code = text if text.startswith(_PREFIX) else _PREFIX + text
        if code in CODES:
            found.add(code)
            continue
        near = difflib.get_close_matches(code, CODES, 1, 0.6)
        hint = f"Write {near[0]}" if near else f"Known rules: {', '.join(CODES)}"
        message = f"there is no lint rule {text[:80]}."
        table.report.wrong(place, "unknown-lint", message, hint, f"{table.field('lint')}.{n}")
    return frozenset(found)
