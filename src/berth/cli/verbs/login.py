"""`berth login`: prove that a server takes a token, then keep both, and the CA, for later calls."""

import argparse
import sys
from pathlib import Path

from berth.cli.parser import usage_error
from berth.cli.verb import Session, Verb
from berth.client.config import Target, address, check_token, directory, keep, read_token, write_private
from berth.client.errors import failure
from berth.client.http import Client


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the server, as 'berth up' printed it")


def _login(session: Session) -> int:
    args = session.args
    if args.server:
        raise usage_error("--server is what login keeps", "write the URL alone: berth login URL")
    url, ca = address(args.url), _ca(args.ca)
    token = read_token(args.token_file) if args.token_file else _typed_token()
    version = Client(Target(url, token, ca)).get("/v1/version")
    path = _keep(session, url, token, ca)
    if session.screen.as_json:
        session.screen.value({"server": url, **version})
    else:
        session.screen.say(f"{url} is kept in {path}: type 'berth cards'")
    return 0


def _typed_token() -> str:
    """The token from standard input, without an echo where a person types it."""
    if sys.stdin.isatty():
        from getpass import getpass

        return check_token(getpass("token: ").strip(), "what was typed")
    return check_token(sys.stdin.readline().strip(), "standard input")


def _ca(path: str | None) -> str:
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise failure("bad-ca", f"the CA file {path} cannot be read: {error}", "name a PEM file: --ca FILE") from error


def _keep(session: Session, url: str, token: str, ca: str) -> Path:
    """Copies of token and CA, so that it goes on working when the files that were named are gone."""
    home = directory(session.environ)
    write_private(home / "token", token + "\n")
    if ca:
        write_private(home / "ca.pem", ca)
    return keep(url, str(home / "token"), str(home / "ca.pem") if ca else "", session.environ)


LOGIN = Verb(
    "berth login https://berth.example.org:7700 --ca ca.pem",
    _arguments,
    _login,
    about="The token is asked for, or read from standard input or --token-file; it is never an argument.",
)
