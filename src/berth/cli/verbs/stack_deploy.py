"""`berth stack deploy`: the files travel as one bundle; the server parses them, and asks for what they name."""

import argparse
import time
from collections.abc import Container, Iterator
from typing import Any

from berth.cli.bundle import Bundle, until_answered
from berth.cli.images import auth_for, images_to_log_in_for
from berth.cli.parser import duration, usage_error
from berth.cli.plan import show_plan
from berth.cli.verb import Session, Verb
from berth.cli.words import ENDED, FINISHED, count, job_cards, job_nodes
from berth.client.http import segment
from berth.client.registry import known_registries

SETTLE_S = 1.0
"""How long to wait for the first decisions, to say at once what starts and what waits."""
LOOK_S = 0.1
Jobs = list[dict[str, Any]]


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-c", "--compose-file", dest="files", metavar="FILE", action="append", required=True,
        help="a stack file; - reads standard input; several are merged as Docker does")  # fmt: skip
    add("--plan", action="store_true", help="say what would happen, and do nothing")
    add("--strict", action="store_true", help="take warnings of the lint as errors")
    add("--prune", action="store_true", help="cancel the services that the files no longer name")
    add(
        "--take-over",
        action="store_true",
        help="make a stack that docker stack deploy started Berth's; see --plan first",
    )
    add(
        "--wait",
        action="store_true",
        help="wait until every task runs and what changed is updated (exit 1 if an update fails)",
    )
    add("--timeout", metavar="T", type=duration, help="with --wait: give up after this time, such as 60s (exit 6)")
    add("--resolve-image", metavar="WHEN", choices=("always", "changed", "never"), default="always",
        help="ask registries for the images' digests: always, changed, or never (always)")  # fmt: skip
    add("name", metavar="NAME", help="the stack's name")


def _deploy(session: Session) -> int:
    args = session.args
    if args.timeout is not None and not args.wait:
        raise usage_error("--timeout goes with --wait", "add --wait")
    query: dict[str, str | int | None] = {"prune": 1} if args.prune else {}
    query |= {"take_over": 1} if args.take_over else {}
    query |= {"strict": 1} if args.strict else {}
    if args.plan:
        return show_plan(session.screen, session.client, _send(session, {**query, "plan": 1}))
    answer = _send(session, query)
    session.screen.warn(answer.get("warnings", []))
    if session.screen.as_json:
        session.screen.value(answer)
    jobs = answer["jobs"]
    if not session.screen.as_json:
        jobs = _settled(session, jobs)
        for line in summary(jobs, answer["changes"]):
            session.screen.say(line)
        for name, change in answer["changes"].items():
            if change == "remove":
                session.screen.say(f"{name}: cancelled, since the files no longer name it")
    updated = {name for name, change in answer["changes"].items() if change == "update"}
    return _wait(session, args.timeout, updated) if args.wait else 0


def _send(session: Session, query: dict[str, str | int | None]) -> dict[str, Any]:
    """Post the bundle, and again with what the server needs to see, until it has an answer."""
    args = session.args
    bundle = Bundle(args.files, session.environ)

    def ask() -> dict[str, Any]:
        images = images_to_log_in_for(bundle.text, known_registries(session.environ))
        auth = auth_for(session, images)
        body = {"name": args.name, "bundle": bundle.body, "auth": auth, "resolve": args.resolve_image}
        answer: dict[str, Any] = session.client.post("/v1/stacks", body, query)
        return answer

    return until_answered(bundle, ask)


def _settled(session: Session, jobs: Jobs) -> Jobs:
    """The jobs once each has started or knows why it waits."""
    end = time.monotonic() + SETTLE_S
    while any(job["state"] == "waiting" and not job.get("reason") for job in jobs) and time.monotonic() < end:
        time.sleep(LOOK_S)
        jobs = session.client.items(f"/v1/stacks/{segment(session.args.name)}")
    return jobs


def summary(jobs: Jobs, changes: dict[str, str]) -> Iterator[str]:
    """One line per job: what was done to it and what it does now, with what to type where it waits."""
    for job in jobs:
        change = {"create": "created", "update": "updated", "keep": "unchanged"}.get(changes.get(job["name"], ""), "")
        change += _slots_change(job) if change == "updated" else ""
        yield f"{job['name']}: " + "; ".join(part for part in (change, state_in_words(job)) if part)


def _slots_change(job: dict[str, Any]) -> str:
    """How many slots an update that has begun still has to change, and how."""
    rollout = job.get("rollout")
    if rollout is None or rollout["state"] != "updating" or rollout["done"] == rollout["total"]:
        return ""
    left = rollout["total"] - rollout["done"]
    at_once = min(left, rollout["parallelism"] or left)
    slots = "its slot changes" if left == 1 else f"{left} slots change, {at_once} at a time"
    return f" ({slots}; on failure: {rollout['failure_action']})"


def state_in_words(job: dict[str, Any]) -> str:
    """A job's state with its node and cards, or with why it waits and what to type then."""
    if job["state"] == "waiting":
        return f"waits: {job.get('message') or job.get('reason') or 'no decision yet'} (berth why {job['name']})"
    place = f" on {job_nodes(job)}" if job_nodes(job) and job["state"] not in FINISHED else ""
    cards = f" with {count(job_cards(job), 'card')}" if job_cards(job) else ""
    note = f"; it {job['message']} (berth stack ps {job['stack']})" if job.get("taking") else ""
    rollout = job.get("rollout") or {}
    if rollout.get("message") and job["state"] not in FINISHED:
        note += f"; {rollout['message']}"
    return f"{job['state']}{place}{cards}{note}"


def _wait(session: Session, timeout_s: float | None, updated: set[str]) -> int:
    """Show what changes until every task runs or has ended, and all of `updated` is in its new form; 0, 1 when a job or
    an update failed, 6 when the time is over.
    """
    end = None if timeout_s is None else time.monotonic() + timeout_s
    told: dict[str, str] = {}
    code = 6
    while True:
        jobs = session.client.items(f"/v1/stacks/{segment(session.args.name)}")
        for job in jobs:
            words = state_in_words(job)
            if told.get(job["name"]) != words:
                session.screen.note(f"{job['name']}: {words}")
                told[job["name"]] = words
        code, before = exit_code(jobs, updated), code
        if code != 6 and (code == before or not updated):  # twice: Swarm begins an update a moment after it was told
            return code
        if end is not None and time.monotonic() >= end:
            session.screen.note(f"berth: not every task runs after {timeout_s:g} s: berth stack ps {session.args.name}")
            return code
        time.sleep(LOOK_S * 2)


def exit_code(jobs: Jobs, updated: Container[str] = ()) -> int:
    """1 when a job failed or was cancelled, or the update of one of `updated` failed; 0 when every task runs or has
    ended well; else 6.
    """
    if any(job["state"] in ("failed", "cancelled") for job in jobs):
        return 1
    updates = {(job.get("rollout") or {}).get("state") for job in jobs if job.get("name") in updated}
    if updates & {"paused", "rolled-back", "rollback-paused"}:
        return 1
    if updates & {"updating", "rolling-back"}:
        return 6
    open_jobs = [job for job in jobs if job["state"] not in FINISHED]
    tasks = [task for job in open_jobs for task in job.get("tasks", [])]
    ready = all(task["state"] == "running" or task["state"] in ENDED for task in tasks)
    return 0 if ready and all(job["state"] == "running" for job in open_jobs) else 6


DEPLOY = Verb(
    "berth stack deploy -c docker-compose.yml gpu-job",
    _arguments,
    _deploy,
    about="Deploying again under a known name updates only what changed. With --plan: exit 0 all starts now, 6 some of "
    "it would wait, 2 some of it can never run.",
)
