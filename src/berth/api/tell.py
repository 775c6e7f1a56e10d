"""Makes the API's objects of what has happened and what would: attempts, reasons, plans, events, tokens, output."""

from collections.abc import Iterable
from datetime import UTC, datetime

from berth.api import views
from berth.api.show import error, moment
from berth.model.errors import Problem
from berth.model.event import Event
from berth.model.job import Attempt
from berth.model.plan import PlanReport, Why
from berth.model.token import Token
from berth.ports import LogLine


def attempt(one: Attempt) -> views.Attempt:
    """One run of a task."""
    job_id, _, slot = one.task.rpartition(".")
    return views.Attempt(
        job=job_id,
        task=one.task,
        slot=int(slot),
        attempt=one.attempt,
        node=one.node or None,
        cards=one.cards,
        engine_id=one.engine_id or None,
        granted_at=moment(one.granted_at),
        started_at=moment(one.started_at),
        ended_at=moment(one.ended_at),
        exit_code=one.exit_code,
        reason=one.reason or None,
        error=one.error,
    )


def why(one: Why) -> views.Why:
    """The whole answer of `berth why`."""
    return views.Why(
        job=one.job,
        reason=one.reason or None,
        message=one.message,
        position=one.position,
        expected_start=moment(one.expected_start),
        never=one.never,
        nodes=[
            views.NodeRefusals(node.node, [views.Refusal(rule.rule, rule.message) for rule in node.refusals])
            for node in one.nodes
        ],
        would_start=one.would_start,
    )


def plan(report: PlanReport, warnings: Iterable[Problem] = ()) -> views.Plan:
    """A plan, with the warnings of the parser before those of the plan itself."""
    told = dict.fromkeys((*warnings, *report.warnings))
    return views.Plan(
        [
            views.JobPlan(
                name=one.name,
                change=one.change,
                tasks=[
                    views.TaskPlan(
                        service=task.service,
                        slot=task.slot,
                        node=task.node or None,
                        cards=task.cards,
                        starts=task.starts,
                        why=task.why,
                    )
                    for task in one.tasks
                ],
                note=one.note,
            )
            for one in report.jobs
        ],
        [error(problem) for problem in told],
    )


def event(one: Event) -> views.Event:
    """One thing that happened."""
    return views.Event(
        seq=one.seq,
        time=moment(one.time),
        kind=one.kind,
        actor=one.actor,
        job=one.job or None,
        task=one.task or None,
        node=one.node or None,
        card=one.card or None,
        message=one.message,
    )


def token(one: Token) -> views.Token:
    """A token without its secret."""
    return views.Token(
        id=one.id,
        role=one.role,
        name=one.name,
        node=one.node or None,
        created_at=moment(one.created_at),
        expires_at=moment(one.expires_at),
    )


def line(task: str, number: int, one: LogLine) -> views.LogLine:
    """One piece of output of an attempt."""
    return views.LogLine(datetime.fromtimestamp(one.time, UTC), one.stream, one.text, task, number)
