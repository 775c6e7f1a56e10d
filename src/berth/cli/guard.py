"""The last resort: whatever a verb raises becomes calm words on stderr and an exit code."""

import json
import os
import platform
import sys
import traceback
from typing import Any

from berth import __version__
from berth.cli.problems import report
from berth.client.errors import ClientError

_FIELDS: dict[str, Any] = {"code": "", "message": "", "field": "", "file": "", "line": None, "hint": ""}
"""What an `error` object always has, also one that this process found."""


def explain_failure(error: Exception, as_json: bool = False) -> int:
    """Print what is wrong and what to do on stderr; returns the exit code. With `as_json` the errors stand on stdout,
    too, as the HTTP API gives them. `BERTH_DEBUG=1` shows the traceback.
    """
    if os.environ.get("BERTH_DEBUG") == "1":
        traceback.print_exception(error)
    if isinstance(error, ClientError):
        return _print(error.problems, error.exit_code, as_json)
    problems = getattr(error, "problems", None)
    if problems and isinstance(getattr(error, "exit_code", None), int):
        return _print([_as_body(problem) for problem in problems], error.exit_code, as_json)  # type: ignore[attr-defined]
    return _print([_bug(error)], 1, as_json)


def _print(problems: list[dict[str, Any]], exit_code: int, as_json: bool) -> int:
    if as_json:
        errors = [_FIELDS | problem for problem in problems]
        print(json.dumps({"errors": errors, "exit_code": exit_code}, ensure_ascii=False), flush=True)
    print(report(problems), file=sys.stderr)
    return exit_code


def _as_body(problem: Any) -> dict[str, Any]:
    """A Problem of the model, raised by a verb that runs the server in this process."""
    import msgspec

    body = msgspec.to_builtins(problem)
    assert isinstance(body, dict)
    return body


def _bug(error: Exception) -> dict[str, Any]:
    frame = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    place = f" at {os.path.basename(frame.filename)}:{frame.lineno}" if frame else ""
    return {
        "code": "bug",
        "message": f"this is a mistake of Berth's, not yours: {type(error).__name__}: {error}{place}",
        "hint": "type it again with BERTH_DEBUG=1 before it and report what it shows, "
        f"with 'berth {__version__}, Python {platform.python_version()}'",
    }
