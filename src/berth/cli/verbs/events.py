"""`berth events`: what happened, oldest first; `-f` goes on with what happens."""

import argparse
from typing import Any

from berth.cli.problems import printable
from berth.cli.verb import Session, Verb
from berth.cli.words import clock
from berth.client.streams import events


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what happens")
    parser.add_argument("--job", metavar="JOB", help="only this job's")


def _events(session: Session) -> int:
    query = {"job": session.args.job}
    if not session.args.follow:
        found = session.client.items("/v1/events", query)
        if session.screen.as_json:
            session.screen.value(found)
        elif found:
            session.screen.say("\n".join(line(event) for event in found))
        else:
            session.screen.say("nothing has happened yet")
        return 0
    for event in events(session.client, query, lambda text: session.screen.note(f"berth: {text}")):
        if session.screen.as_json:
            session.screen.value(event)
        else:
            session.screen.say(line(event))
    return 0


def line(event: dict[str, Any]) -> str:
    """One event on one line: when, what kind, and the sentence; who did it where that was a person."""
    actor = event.get("actor") or "berth"
    message = event["message"]
    if actor != "berth" and not message.endswith(f" by {actor}"):
        message += f" (by {actor})"
    return f"{clock(event['time'])}  {event['kind']:<16}  {printable(message)}"


EVENTS = Verb("berth events -f", _arguments, _events)
