"""`berth stack config`: the files of a stack as one, with their variables, as `docker stack config` prints them."""

import argparse
from typing import Any

from berth.cli.bundle import Bundle, until_answered
from berth.cli.verb import Session, Verb


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c", "--compose-file", dest="files", metavar="FILE", action="append", required=True,
        help="a stack file; - reads standard input; several are merged as Docker does",
    )  # fmt: skip


def _config(session: Session) -> int:
    bundle = Bundle(session.args.files, session.environ)

    def ask() -> dict[str, Any]:
        answer: dict[str, Any] = session.client.post("/v1/stack-config", {"bundle": bundle.body})
        return answer

    answer = until_answered(bundle, ask)
    session.screen.warn(answer.get("warnings", []))
    if session.screen.as_json:
        session.screen.value(answer["config"])
    else:
        session.screen.say(answer["text"].rstrip("\n"))
    return 0


CONFIG = Verb(
    "berth stack config -c docker-compose.yml -c override.yml",
    _arguments,
    _config,
    about="Nothing is created, and the content of secrets and configs is not sent.",
)
