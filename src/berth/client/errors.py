"""What a person is told when a call cannot succeed: the server's own problems, or those that the client finds first."""

from typing import Any

ErrorBody = dict[str, Any]
"""One wrong thing as INTERFACE's `error` object: code, message, hint, field, file, line, column, excerpt."""


class ClientError(Exception):
    """Something that a person must read: every problem found, and the exit code to end with.

    Exit codes: 1 the work failed, 2 bad input, 3 not found, 4 refused, 5 no server, 6 still waiting.
    """

    def __init__(self, problems: list[ErrorBody], exit_code: int) -> None:
        super().__init__("; ".join(str(body.get("message", "")) for body in problems))
        self.problems = problems
        self.exit_code = exit_code


def failure(code: str, message: str, hint: str = "", exit_code: int = 2) -> ClientError:
    """Make an error of one problem, by default one of bad input."""
    return ClientError([{"code": code, "message": message, "hint": hint}], exit_code)
