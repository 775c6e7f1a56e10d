"""`berth logs`: a job's output, also after its container is gone."""

import argparse

from berth.cli.follow import Query, output, write
from berth.cli.parser import job_argument, whole
from berth.cli.verb import Session, Verb
from berth.client.http import segment


def _arguments(parser: argparse.ArgumentParser) -> None:
    job_argument(parser)
    add = parser.add_argument
    add("-f", "--follow", action="store_true", help="go on with what comes, until the job has ended")
    add("--since", metavar="T", help="only from this time on: 10m, or 2026-01-31T08:00:00Z")
    add("--tail", metavar="N", type=whole, help="only the last N lines of what is there")
    add("--slot", metavar="N", type=whole, help="only this slot's")


def _logs(session: Session) -> int:
    args = session.args
    job = session.client.get(f"/v1/jobs/{segment(args.job)}")
    query: Query = {"since": args.since, "tail": args.tail, "slot": args.slot}
    lines = output(session, job["id"], query, args.follow)
    if session.screen.as_json and not args.follow:
        session.screen.value(list(lines))
        return 0
    for line in lines:
        if session.screen.as_json:
            session.screen.value(line)
        else:
            write(line, slot=len(job.get("tasks", [])) > 1 and args.slot is None)
    return 0


LOGS = Verb(
    "berth logs -f --since 10m train",
    _arguments,
    _logs,
    about="The newest 10 MB of each attempt are kept. Where a job has several slots, the slot stands before each line.",
)
