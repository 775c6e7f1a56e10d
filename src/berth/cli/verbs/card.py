"""`berth card fence` and `card unfence`: one card out of use, and back."""

import argparse
from typing import Any

from berth.cli.verb import Session, Verb


def _uuid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("uuid", metavar="UUID", help="the card, as 'berth cards' shows it")


def _fence_arguments(parser: argparse.ArgumentParser) -> None:
    _uuid(parser)
    parser.add_argument("--reason", metavar="R", required=True, help="shown to everybody who asks why")


def _done(session: Session, answer: Any, words: str) -> int:
    if session.screen.as_json:
        session.screen.value(answer)
    else:
        session.screen.say(f"{session.args.uuid}: {words}")
    return 0


def _fence(session: Session) -> int:
    body = {"uuid": session.args.uuid, "reason": session.args.reason}
    return _done(session, session.client.post("/v1/cards/fence", body), "fenced; it gets no new work")


def _unfence(session: Session) -> int:
    return _done(session, session.client.post("/v1/cards/unfence", {"uuid": session.args.uuid}), "gets work again")


FENCE = Verb(
    "berth card fence GPU-8c2d5b2e-5b7c-5e0e-9d51-0d7a3c1c7f11 --reason 'ECC errors'",
    _fence_arguments,
    _fence,
    about="A task that holds the card goes on; the next one gets another card.",
)
UNFENCE = Verb("berth card unfence GPU-8c2d5b2e-5b7c-5e0e-9d51-0d7a3c1c7f11", _uuid, _unfence)
