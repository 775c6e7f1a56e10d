"""Tells what the server found wrong with a job in the words of `berth run`: its flags in place of a job file's keys."""

import re
from collections.abc import Mapping, Sequence

from berth.client.errors import ClientError, ErrorBody

_FLAGS = {
    "image": "IMAGE",
    "command": "CMD",
    "name": "--name",
    "gpus": "--gpus",
    "model": "--model",
    "constraints": "-c",
    "env": "-e",
    "volumes": "-v",
    "secrets": "--secret",
    "user": "--user",
    "time": "--time",
    "shm_size": "--shm-size",
}
_KEY = re.compile(rf"(?<![\w.-])({'|'.join(_FLAGS)}): (?=\S)")


def in_flags(error: ClientError, body: Mapping[str, object]) -> ClientError:
    """The same error; `body` is the job that was sent, from which a wrong entry of a list is quoted."""
    return ClientError([_problem(problem, body) for problem in error.problems], error.exit_code)


def _problem(problem: ErrorBody, body: Mapping[str, object]) -> ErrorBody:
    said = {
        name: _KEY.sub(lambda key: f"{_FLAGS[key[1]]} ", str(problem.get(name, ""))) for name in ("message", "hint")
    }
    key, _, rest = str(problem.get("field", "")).partition(".")
    if key not in _FLAGS:
        return {**problem, **said}
    entries = body.get(key)
    listed = isinstance(entries, Sequence) and not isinstance(entries, str) and rest.isdecimal()
    entry = str(entries[int(rest)]) if listed and int(rest) < len(entries) else rest  # type: ignore[arg-type,index]
    return {**problem, **said, "field": f"{_FLAGS[key]} {entry}".strip()}
