"""`berth token create|ls|revoke`: who may speak to the server; a secret is shown once, on stdout alone."""

import argparse
from collections.abc import Sequence
from typing import Any

from berth.cli.listing import Listing, show_list
from berth.cli.parser import usage_error, yes_flag
from berth.cli.table import Column
from berth.cli.verb import Session, Verb, no_arguments
from berth.cli.words import clock
from berth.client.http import segment


def _create_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--role", choices=("admin", "user", "agent"), required=True, help="what it may do")
    add("--name", metavar="N", help="whose it is; a user's jobs carry this name")
    add("--node", metavar="N", help="the node that an agent's token is for")


def _create(session: Session) -> int:
    args = session.args
    if args.role == "agent" and not args.node:
        raise usage_error("a token of role agent is for one node", "add --node NODE")
    if args.role != "agent" and args.node:
        raise usage_error("--node goes with --role agent", "leave --node out")
    body = {"role": args.role, "name": args.name or "", "node": args.node or ""}
    answer = session.client.post("/v1/tokens", body)
    session.screen.warn(answer.get("warnings", []))
    if session.screen.as_json:
        session.screen.value(answer)
        return 0
    session.screen.say(answer["token"])
    session.screen.note(f"berth: token {answer['id']}, role {args.role}; it is shown only this once")
    return 0


def _row(token: dict[str, Any]) -> Sequence[str]:
    return (
        token["id"],
        token["role"],
        token.get("name") or "",
        token.get("node") or "",
        clock(token.get("created_at")),
        clock(token.get("expires_at")) or "never",
    )


LISTING = Listing(
    (Column("ID"), Column("ROLE"), Column("NAME"), Column("NODE"), Column("MADE"), Column("ENDS")), _row, "no tokens"
)


def _ls(session: Session) -> int:
    return show_list(session, LISTING, lambda: session.client.items("/v1/tokens"))


def _revoke_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="as 'berth token ls' shows it")
    yes_flag(parser)


def _revoke(session: Session) -> int:
    session.screen.ask(f"Make token {session.args.id} worthless?", session.args.yes)
    answer = session.client.delete(f"/v1/tokens/{segment(session.args.id)}")
    if session.screen.as_json:
        session.screen.value(answer)
    else:
        session.screen.say(f"{session.args.id}: revoked")
    return 0


CREATE = Verb(
    "berth token create --role agent --node node2 > node2.token",
    _create_arguments,
    _create,
    about="Only the token is printed on standard output.",
)
LS = Verb("berth token ls", no_arguments, _ls, watch=True)
REVOKE = Verb("berth token revoke 7f3a91c4", _revoke_arguments, _revoke)
