"""`berth jobs` and `berth queue`: what runs, what waits and why, what has ended."""

import argparse
from collections.abc import Sequence
from typing import Any

from berth.cli.listing import Listing, show_list
from berth.cli.table import Column
from berth.cli.verb import Session, Verb, no_arguments
from berth.cli.words import ago, cards_of_wanted, job_nodes, note


def _job_row(job: dict[str, Any]) -> Sequence[str]:
    return (
        job["id"],
        job["name"],
        job["state"],
        cards_of_wanted(job),
        job_nodes(job),
        job.get("user") or "",
        ago(job.get("ended_at") or job.get("started_at") or job.get("submitted_at")),
        note(job),
    )


def _queue_row(job: dict[str, Any]) -> Sequence[str]:
    return (
        str(job.get("position") or ""),
        job["id"],
        job["name"],
        job.get("user") or "",
        ago(job.get("submitted_at")),
        job.get("reason") or "",
        job.get("message") or "",
    )


JOB_LIST = Listing(
    (
        Column("ID"),
        Column("NAME"),
        Column("STATE", state=True),
        Column("CARDS", right=True),
        Column("NODE", shrink=True),
        Column("USER"),
        Column("SINCE", right=True),
        Column("NOTE", shrink=True),
    ),
    _job_row,
    "no jobs",
)
QUEUE_LIST = Listing(
    (
        Column("PLACE", right=True),
        Column("ID"),
        Column("NAME"),
        Column("USER"),
        Column("WAITS", right=True),
        Column("REASON"),
        Column("MESSAGE", shrink=True),
    ),
    _queue_row,
    "nothing waits",
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="those that have ended, too")


def _jobs(session: Session) -> int:
    query = {"all": 1 if session.args.all else None}
    return show_list(session, JOB_LIST, lambda: session.client.items("/v1/jobs", query))


def _queue(session: Session) -> int:
    return show_list(session, QUEUE_LIST, lambda: session.client.items("/v1/queue"))


JOBS = Verb("berth jobs --all", _arguments, _jobs, about="SINCE counts from the last change of state.", watch=True)
QUEUE = Verb("berth queue --watch", no_arguments, _queue, watch=True)
