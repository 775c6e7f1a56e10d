"""A job's output on the terminal: each line once, over broken connections; and what its end means for an exit code."""

import sys
from collections.abc import Iterable
from typing import Any

from berth.cli.verb import Session
from berth.cli.words import note
from berth.client.http import segment
from berth.client.streams import LogFollower, Patience, log_lines

OURS = frozenset({"start-failed", "wrong-cards", "lost-cards", "node-lost", "dependency"})
"""Ends that are no command's own: its exit code then says nothing."""
FAILED_AFTER_ACCEPTANCE = 125
Query = dict[str, str | int | None]


def output(session: Session, job: str, query: Query, follow: bool) -> Iterable[dict[str, Any]]:
    """Lines of output, `{time, stream, text, task, attempt}`."""
    if follow:
        return LogFollower(session.client, job, query, lambda text: session.screen.note(f"berth: {text}"))
    return log_lines(session.client, job, query)


def write(line: dict[str, Any], slot: bool, all_to_stderr: bool = False) -> None:
    """One line as the command wrote it, to the stream that it wrote to."""
    out = sys.stderr if all_to_stderr or line.get("stream") == "stderr" else sys.stdout
    out.write(f"{line['task'].rpartition('.')[2]} | {line['text']}" if slot else line["text"])
    out.flush()


def until_started(session: Session, job_id: str) -> dict[str, Any]:
    """Wait until the job runs or has ended, and say why it waits; returns the job."""
    retry = Patience(lambda text: session.screen.note(f"berth: {text}"))
    told = ""
    timeout_s = 1
    while True:
        answer = session.client.call("GET", f"/v1/jobs/{segment(job_id)}", {"wait": "running", "timeout": timeout_s})
        retry.calm()
        job: dict[str, Any] = answer.value
        if job["state"] not in ("waiting", "starting"):
            if told:
                session.screen.note(f"berth: {job['name']} is {job['state']}")
            return job
        words = job.get("message") or job.get("reason") or ""
        if job["state"] == "waiting" and words and words != told:
            session.screen.note(f"berth: {job['name']} waits: {words}")
            told = words
        timeout_s = 10


def own_exit_code(job: dict[str, Any]) -> int:
    """The command's own exit code; 125 when it did not come to one because of Berth or the engine."""
    code = job.get("exit_code")
    if code is None or job.get("reason") in OURS:
        return 0 if job["state"] == "succeeded" else FAILED_AFTER_ACCEPTANCE
    return int(code)


def follow_to_end(session: Session, job_id: str) -> int:
    """Show a job's output until it has ended; the exit code of `run`. With `--json` stdout carries the ended job."""
    until_started(session, job_id)
    for line in output(session, job_id, {}, follow=True):
        write(line, slot=False, all_to_stderr=session.screen.as_json)
    job = session.client.get(f"/v1/jobs/{segment(job_id)}")
    if session.screen.as_json:
        session.screen.value(job)
    code = own_exit_code(job)
    words = note(job)
    if code == FAILED_AFTER_ACCEPTANCE or job["state"] == "cancelled" or (code and words != f"exit {code}"):
        told = (f"berth: {job['name']} {job['state']}", words)
        session.screen.note(": ".join(part for part in told if part))
    return code
