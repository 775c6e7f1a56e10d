"""Shortcuts of these tests: a text becomes a stack or a service's draft; constraints are read by the real language."""

import textwrap
from typing import Any

from berth.compose import Facts, Reading, load_job, load_stack
from berth.core.constraints import BadConstraint, is_swarm_only, parse
from berth.model.draft import Bundle, Draft, LoadedStack, SourceFile
from berth.model.errors import BerthError, Problem


def read_constraint(text: str) -> Reading | Problem:
    """A constraint as the server's own adapter reads it."""
    try:
        found = parse(text)
    except BadConstraint as bad:
        return Problem(code="bad-constraint", message=bad.message, hint=bad.hint, column=bad.column)
    counts = found.key == "gpu.free" and found.op == ">=" and found.values[0].isdecimal()
    return Reading(swarm=is_swarm_only(found), free=int(found.values[0]) if counts else 0)


FACTS = Facts(read_constraint)
ADMIN = Facts(read_constraint, admin=True)


def bundle(*texts: str | bytes, **fields: Any) -> Bundle:
    """A bundle of stack files a.yml, b.yml, ..."""
    files = [
        SourceFile(f"{'abcdef'[n]}.yml", text if isinstance(text, bytes) else textwrap.dedent(text).encode())
        for n, text in enumerate(texts)
    ]
    return Bundle(files=tuple(files), **fields)


def load(*texts: str | bytes, stack: str = "st", facts: Facts = FACTS, **fields: Any) -> LoadedStack:
    """The stack of these files."""
    return load_stack(bundle(*texts, **fields), stack, facts)


def wrap(service: str) -> str:
    """A stack file with one service `web`; `service` is its body, in which `image` may be left out."""
    body = textwrap.dedent(service)
    image = "" if "image:" in body else "image: x\n"
    return "services:\n  web:\n" + textwrap.indent(image + body, "    ")


def one(service: str, **fields: Any) -> Draft:
    """The draft of a stack's only service."""
    (draft,) = load(wrap(service), **fields).drafts
    return draft


def warned(service: str, **fields: Any) -> list[str]:
    """The codes of the warnings of a service."""
    return [problem.code for problem in load(wrap(service), **fields).warnings]


def problems(*texts: str | bytes, **fields: Any) -> tuple[Problem, ...]:
    """Everything that is wrong with these files; fails when nothing is."""
    try:
        found = load(*texts, **fields)
    except BerthError as error:
        return error.problems
    raise AssertionError(f"nothing was refused: {found}")


def job(text: str, facts: Facts = FACTS) -> Draft:
    """The draft of a job file."""
    return load_job(textwrap.dedent(text).encode(), "job.yml", facts)


def job_problems(text: str) -> tuple[Problem, ...]:
    """Everything that is wrong with a job file."""
    try:
        found = job(text)
    except BerthError as error:
        return error.problems
    raise AssertionError(f"nothing was refused: {found}")
