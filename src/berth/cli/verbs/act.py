"""`berth cancel`, `hold`, `release`, `requeue`: one call each on one job or several."""

import argparse
from collections.abc import Callable
from typing import Any

from berth.cli.parser import yes_flag
from berth.cli.verb import Session, Verb
from berth.client.http import segment


def _jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", metavar="JOB", nargs="+", help="an id, a job's name, or STACK_SERVICE")


def _jobs_and_yes(parser: argparse.ArgumentParser) -> None:
    _jobs(parser)
    yes_flag(parser)


def _each(session: Session, call: Callable[[str], Any], done: str) -> int:
    """Do it to every job named; one job is printed as one value, several as an array."""
    answers = []
    for job in session.args.jobs:
        answers.append(call(f"/v1/jobs/{segment(job)}"))
        if not session.screen.as_json:
            name = answers[-1]["name"]
            session.screen.say(f"{name}: {done.format(name=name)}")
    if session.screen.as_json:
        session.screen.value(answers if len(answers) > 1 else answers[0])
    return 0


def _cancel(session: Session) -> int:
    session.screen.ask(f"End {' '.join(session.args.jobs)}?", session.args.yes)
    return _each(session, session.client.delete, "cancelled")


def _hold(session: Session) -> int:
    done = "held; 'berth release {name}' lets it go on"
    return _each(session, lambda path: session.client.post(f"{path}/hold"), done)


def _release(session: Session) -> int:
    return _each(session, lambda path: session.client.post(f"{path}/release"), "released")


def _requeue(session: Session) -> int:
    session.screen.ask(f"Stop {' '.join(session.args.jobs)} and put it back in the queue?", session.args.yes)
    return _each(session, lambda path: session.client.post(f"{path}/requeue"), "back in the queue")


CANCEL = Verb("berth cancel train", _jobs_and_yes, _cancel, about="What waits never starts; what runs is stopped.")
HOLD = Verb("berth hold train", _jobs, _hold, about="A running job cannot be held.")
RELEASE = Verb("berth release train", _jobs, _release)
REQUEUE = Verb("berth requeue train", _jobs_and_yes, _requeue, about="It keeps its submit time, so its place as well.")
