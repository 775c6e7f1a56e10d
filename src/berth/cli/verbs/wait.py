"""`berth wait`: until a job runs or has ended, with an exit code that says which."""

import argparse
import time
from typing import Any

from berth.cli.parser import duration, job_argument
from berth.cli.verb import Session, Verb
from berth.cli.words import FINISHED, note
from berth.client.http import segment

POLL_S = 30.0


def _arguments(parser: argparse.ArgumentParser) -> None:
    job_argument(parser)
    parser.add_argument("--for", dest="until", choices=("running", "ended"), default="ended", help="default: ended")
    parser.add_argument("--timeout", metavar="T", type=duration, help="give up after this time, such as 60s: exit 6")


def _wait(session: Session) -> int:
    job = wait_for(session, session.args.job, session.args.until, session.args.timeout)
    code = exit_code(job, session.args.until)
    if session.screen.as_json:
        session.screen.value(job)
    else:
        words = note(job)
        session.screen.say(
            f"{job['name']}: {'still ' if code == 6 else ''}{job['state']}{f' ({words})' if words else ''}"
        )
    return code


def wait_for(session: Session, key: str, until: str, timeout_s: float | None) -> dict[str, Any]:
    """The job once it is so, has ended, or the time is over; over a server that is away for a moment."""
    from berth.client.errors import ClientError
    from berth.client.streams import Patience

    retry = Patience(lambda text: session.screen.note(f"berth: {text}"))
    end = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        left = POLL_S if end is None else max(0.0, min(POLL_S, end - time.monotonic()))
        query = {"wait": until, "timeout": f"{left:.3f}"}
        try:
            job: dict[str, Any] = session.client.get(f"/v1/jobs/{segment(key)}", query)
        except ClientError as error:
            retry.wait(error)
            continue
        retry.calm()
        key = job["id"]
        if exit_code(job, until) != 6 or (end is not None and time.monotonic() >= end):
            return job


def exit_code(job: dict[str, Any], until: str) -> int:
    """0: it is so; 1: it has failed, or has ended before it could be so; 6: it is not so yet."""
    if job["state"] in FINISHED:
        return 0 if until == "ended" and job["state"] == "succeeded" else 1
    return 0 if until == "running" and job["state"] == "running" else 6


WAIT = Verb(
    "berth wait train --for running --timeout 60s",
    _arguments,
    _wait,
    about="Exit 0: it is so. 1: the work has failed or was cancelled, or has ended while 'running' was waited for. "
    "6: the timeout ended first.",
)
