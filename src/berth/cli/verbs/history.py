"""`berth history`: all attempts of all slots of a job, oldest first."""

from collections.abc import Sequence
from typing import Any

from berth.cli.listing import Listing, show_list
from berth.cli.parser import job_argument
from berth.cli.table import Column
from berth.cli.verb import Session, Verb
from berth.cli.words import between, clock, short_cards
from berth.client.http import segment


def _row(attempt: dict[str, Any]) -> Sequence[str]:
    return (
        str(attempt.get("slot") or attempt["task"].rpartition(".")[2]),
        str(attempt["attempt"]),
        attempt.get("node") or "",
        short_cards(attempt.get("cards", [])),
        clock(attempt.get("started_at") or attempt.get("granted_at")),
        between(attempt.get("started_at"), attempt.get("ended_at")),
        _end(attempt),
    )


def _end(attempt: dict[str, Any]) -> str:
    if not attempt.get("ended_at"):
        return "goes on"
    code = attempt.get("exit_code")
    error = attempt.get("error") or ""
    if error == f"task: non-zero exit ({code})":  # Swarm's words for what the code says already
        error = ""
    words = [attempt.get("reason") or "", "" if code is None else str(code), error]
    return " ".join(word for word in words if word)


LISTING = Listing(
    (
        Column("SLOT", right=True),
        Column("ATTEMPT", right=True),
        Column("NODE"),
        Column("CARDS", shrink=True),
        Column("STARTED"),
        Column("LASTED", right=True),
        Column("END", shrink=True),
    ),
    _row,
    "no attempts: it waits ('berth why JOB'), or Swarm places it itself ('docker service ps NAME')",
)


def _history(session: Session) -> int:
    path = f"/v1/jobs/{segment(session.args.job)}/history"
    return show_list(session, LISTING, lambda: session.client.items(path))


HISTORY = Verb("berth history train", job_argument, _history, watch=True)
