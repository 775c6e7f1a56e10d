"""`berth why`: the sentence first, then each node and what stands against it."""

from collections.abc import Iterable
from typing import Any

from berth.cli.parser import job_argument
from berth.cli.table import Column
from berth.cli.verb import Session, Verb
from berth.cli.words import clock
from berth.client.http import segment

COLUMNS = (Column("NODE"), Column("RULE"), Column("WHAT STANDS AGAINST IT", shrink=True))


def _why(session: Session) -> int:
    answer = session.client.get(f"/v1/jobs/{segment(session.args.job)}/why")
    if session.screen.as_json:
        session.screen.value(answer)
        return 0
    for line in sentences(answer):
        session.screen.say(line)
    rows = list(refusals(answer.get("nodes", [])))
    if rows:
        session.screen.say("")
        session.screen.table(COLUMNS, rows, "")
    return 0


def sentences(why: dict[str, Any]) -> list[str]:
    """What is to be said in words, the reason first."""
    found = [why.get("message") or f"{why['job']}: {why.get('reason') or 'nothing stands against it'}"]
    if why.get("never"):
        found.append("As things are it never starts: no node that is known can take it.")
    if why.get("position"):
        found.append(f"Its place in the queue: {why['position']}.")
    if why.get("expected_start"):
        found.append(f"Expected start: {clock(why['expected_start'])}.")
    if why.get("would_start"):
        found.append(f"What would start now: {', '.join(str(name) for name in why['would_start'])}.")
    return found


def refusals(nodes: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    """One row per refusal; the node's name only on its first."""
    for node in nodes:
        name = node["node"]
        for refusal in node.get("refusals") or [{"rule": "", "message": "nothing: it could take it now"}]:
            yield name, refusal.get("rule", ""), refusal["message"]
            name = ""


WHY = Verb("berth why gpu-job_ai-training", job_argument, _why)
