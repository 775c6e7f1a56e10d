"""`berth stack ls`, `stack ps`, `stack rm`: the stacks, their tasks, and their end."""

import argparse
from collections.abc import Sequence
from typing import Any

from berth.cli.listing import Listing, show_list
from berth.cli.parser import yes_flag
from berth.cli.table import Column
from berth.cli.verb import Session, Verb, no_arguments
from berth.cli.words import ENDED, short_cards
from berth.client.http import segment


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the stack's name")


def _name_and_yes(parser: argparse.ArgumentParser) -> None:
    _name(parser)
    yes_flag(parser)


def _stack_row(stack: dict[str, Any]) -> Sequence[str]:
    return (stack["name"], *(str(stack[key]) for key in ("services", "tasks", "running", "waiting")))


def _task_row(task: dict[str, Any]) -> Sequence[str]:
    held = task.get("cards", []) if task["state"] not in ENDED else []
    return (
        f"{task['job_name']}.{task['slot']}",
        "waiting" if task["state"] == "prepared" else task["state"],
        task.get("node") or "",
        short_cards(held),
        str(task["attempt"]),
        task.get("error") or task.get("message") or "",
    )


def tasks_of(jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks of several jobs, each with its job's name."""
    return [{**task, "job_name": job["name"]} for job in jobs for task in job["tasks"]]


STACKS = Listing(
    (Column("NAME"), *(Column(name, right=True) for name in ("SERVICES", "TASKS", "RUNNING", "WAITING"))),
    _stack_row,
    "no stacks",
)
TASKS = Listing(
    (
        Column("TASK"),
        Column("STATE", state=True),
        Column("NODE"),
        Column("CARDS", shrink=True),
        Column("ATTEMPT", right=True),
        Column("NOTE", shrink=True),
    ),
    _task_row,
    "no tasks",
)


def _ls(session: Session) -> int:
    return show_list(session, STACKS, lambda: session.client.items("/v1/stacks"))


def _ps(session: Session) -> int:
    path = f"/v1/stacks/{segment(session.args.name)}"
    if session.screen.as_json:
        return show_list(session, TASKS, lambda: session.client.items(path))
    return show_list(session, TASKS, lambda: tasks_of(session.client.items(path)))


def _rm(session: Session) -> int:
    name = session.args.name
    path = f"/v1/stacks/{segment(name)}"
    session.screen.ask(f"Remove stack {name} and end what it runs?", session.args.yes)
    answer = session.client.delete(path)
    if session.screen.as_json:
        session.screen.value(answer)
    else:
        session.screen.say(f"{name}: removed; its cards are free once its containers are gone")
    return 0


LS = Verb("berth stack ls", no_arguments, _ls, watch=True)
PS = Verb("berth stack ps gpu-job", _name, _ps, watch=True)
RM = Verb("berth stack rm gpu-job", _name_and_yes, _rm, about="What runs is stopped; what waits never starts.")
