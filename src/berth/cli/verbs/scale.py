"""`berth scale`: another number of replicas for a service of a stack, or for a job."""

import argparse

from berth.cli.parser import usage_error
from berth.cli.verb import Session, Verb
from berth.cli.words import count
from berth.client.http import segment


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="STACK_SERVICE=N", help="the service and its number of replicas")


def _scale(session: Session) -> int:
    job, equals, number = session.args.what.rpartition("=")
    if not (equals and job and number.isascii() and number.isdigit()):
        raise usage_error(f"'{session.args.what}' does not say how many", "write it as STACK_SERVICE=N: web_api=3")
    answer = session.client.post(f"/v1/jobs/{segment(job)}/scale", {"replicas": int(number)})
    if session.screen.as_json:
        session.screen.value(answer)
    else:
        session.screen.say(f"{answer['name']}: {count(int(number), 'replica')} wanted")
    return 0


SCALE = Verb(
    "berth scale gpu-job_ai-training=2",
    _arguments,
    _scale,
    about="Each replica is a task of its own and starts as soon as it can.",
)
