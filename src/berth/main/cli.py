"""The `berth` command: the table of verbs, with those that run a server or an agent in this process handed in."""

import sys

from berth.cli.main import run

LOCAL = {"up": "berth.main.up:run", "agent": "berth.main.agent:run"}


def main() -> None:
    """Entry point of the installed command."""
    sys.exit(run(sys.argv[1:], LOCAL))
