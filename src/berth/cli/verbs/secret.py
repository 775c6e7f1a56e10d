"""`berth secret create|ls|rm`: contents that jobs and stacks mount as files; one goes in and never comes out again."""

import argparse
import base64
import sys
from collections.abc import Sequence
from typing import Any

from berth.cli.bundle import STDIN, read_file
from berth.cli.listing import Listing, show_list
from berth.cli.parser import yes_flag
from berth.cli.table import Column
from berth.cli.verb import Session, Verb, no_arguments
from berth.cli.words import clock
from berth.client.http import segment


def _create_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="letters, digits, '.', '-' and '_'")
    parser.add_argument("file", metavar="FILE", help="the file with its content; - reads standard input")


def _create(session: Session) -> int:
    args = session.args
    content = _read_stdin() if args.file == STDIN else read_file(args.file, "name a file, or - for standard input")
    body = {"name": args.name, "data": base64.b64encode(content).decode()}
    answer = session.client.post("/v1/secrets", body)
    if session.screen.as_json:
        session.screen.value(answer)
    else:
        session.screen.say(f"{answer['name']}: kept; mount it with --secret {answer['name']}, or secrets: in a file")
    return 0


def _read_stdin() -> bytes:
    if sys.stdin.isatty():
        print("berth: reading the secret from the terminal; end it with Ctrl-D", file=sys.stderr)
    return sys.stdin.buffer.read()


def _row(secret: dict[str, Any]) -> Sequence[str]:
    return (
        secret["name"],
        secret.get("user") or "",
        secret.get("stack") or "",
        clock(secret.get("created_at")),
        ", ".join(secret["used_by"]),
    )


LISTING = Listing(
    (Column("NAME"), Column("OWNER"), Column("STACK"), Column("MADE"), Column("USED BY", shrink=True)),
    _row,
    "no secrets",
)


def _ls(session: Session) -> int:
    return show_list(session, LISTING, lambda: session.client.items("/v1/secrets"))


def _rm_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="as 'berth secret ls' shows it")
    yes_flag(parser)


def _rm(session: Session) -> int:
    session.screen.ask(f"Remove the secret {session.args.name} for good?", session.args.yes)
    answer = session.client.delete(f"/v1/secrets/{segment(session.args.name)}")
    if session.screen.as_json:
        session.screen.value(answer)
    else:
        session.screen.say(f"{session.args.name}: removed")
    return 0


CREATE = Verb(
    "berth secret create ngc_api_key key.txt",
    _create_arguments,
    _create,
    about="A container finds it as /run/secrets/NAME. On a Swarm it is a secret of the Swarm; on a Docker host Berth "
    "keeps it, encrypted.",
)
LS = Verb("berth secret ls", no_arguments, _ls, watch=True)
RM = Verb("berth secret rm ngc_api_key", _rm_arguments, _rm, about="Refused while a job or service uses it.")
