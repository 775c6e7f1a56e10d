"""What a verb is: how it is typed, one example, what it does; and the session that it does it in."""

import argparse
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from berth.cli.screen import Screen

if TYPE_CHECKING:
    from berth.client.http import Client


class Session:
    """One call of one verb: what was typed (`args`), where to write (`screen`), and the server (`client`)."""

    def __init__(self, args: argparse.Namespace, environ: Mapping[str, str] | None = None) -> None:
        self.args = args
        self.environ = os.environ if environ is None else environ
        self.screen = Screen(bool(getattr(args, "json", False)))
        self._client: Client | None = None

    @property
    def client(self) -> "Client":
        """The server that flags, environment or `login` name; made at the first use."""
        if self._client is None:
            from berth.client.config import Flags, target
            from berth.client.http import Client

            typed = (getattr(self.args, name, None) or "" for name in ("server", "token_file", "ca"))
            self._client = Client(target(Flags(*typed), self.environ))
        return self._client


class Verb(NamedTuple):
    """A verb. `arguments` adds its own to the parser; `call` does the work and returns the exit code.

    `example` is a whole command line; `about` is said under the summary in `--help`. `watch` gives it `--watch`.
    """

    example: str
    arguments: Callable[[argparse.ArgumentParser], None]
    call: Callable[[Session], int]
    about: str = ""
    watch: bool = False


class Entry(NamedTuple):
    """A line of the table: `where` is "module:NAME" under cli/verbs, `summary` one line for `--help`."""

    where: str
    summary: str


def no_arguments(_parser: argparse.ArgumentParser) -> None:
    """For a verb that takes nothing but the flags that all have."""
