"""What a submit would do, as `nomad job plan` shows it: a mark per job, a line per task, an exit code."""

from collections.abc import Iterator, Mapping
from typing import Any

from berth.cli.screen import Screen
from berth.cli.words import count, short_cards
from berth.client.http import Client

MARKS = {"create": "+", "update": "~", "keep": "=", "remove": "-"}
Cards = Mapping[str, Mapping[str, Any]]


def show_plan(screen: Screen, client: Client, plan: dict[str, Any]) -> int:
    """Print a plan; 0: all starts now, 6: some of it would wait, 2: some of it can never run."""
    if screen.as_json:
        screen.value(plan)
        return exit_code(plan)
    screen.warn(plan.get("warnings", []))
    granted = any(task.get("cards") for job in plan["jobs"] for task in job.get("tasks", []))
    cards = {card["uuid"]: card for card in client.items("/v1/cards")} if granted else {}
    screen.say("\n".join(plan_lines(plan, cards)))
    return exit_code(plan)


def exit_code(plan: dict[str, Any]) -> int:
    """The worst that the plan says of any task."""
    going = (job for job in plan["jobs"] if job["change"] != "remove")
    starts = {task["starts"] for job in going for task in job.get("tasks", [])}
    return 2 if "never" in starts else 6 if "waits" in starts else 0


def plan_lines(plan: dict[str, Any], cards: Cards) -> list[str]:
    """The plan as text; `cards` by UUID give the model and the index beside a granted card."""
    found: list[str] = []
    for job in plan["jobs"]:
        note = f"; {job['note']}" if job.get("note") else ""
        found.append(f"{MARKS.get(job['change'], '?')} {job['name']}: {job['change']}{note}")
        shown = _ends if job["change"] == "remove" else _task
        found += [f"    {line}" for task in job.get("tasks", []) for line in shown(task, cards)]
    return [*found, "", f"{_verdict(exit_code(plan))} Nothing has been changed."]


def _task(task: dict[str, Any], cards: Cards) -> Iterator[str]:
    slot = f"slot {task['slot']}"
    if task["starts"] == "now":
        yield f"{slot}  starts now{_place(task, cards)}"
        return
    word = "can never run" if task["starts"] == "never" else "waits"
    yield f"{slot}  {word}: {task.get('why') or 'no reason is known'}"


def _ends(task: dict[str, Any], cards: Cards) -> Iterator[str]:
    yield f"slot {task['slot']}  ends{_place(task, cards)}"


def _place(task: dict[str, Any], cards: Cards) -> str:
    node = f" on {task['node']}" if task.get("node") else ""
    granted = task.get("cards") or []
    if not granted:
        return node
    named = [cards[uuid] for uuid in granted if uuid in cards]
    models = ", ".join(dict.fromkeys(str(card["model"]) for card in named))
    shown = ", ".join(str(card["index"]) for card in named) if len(named) == len(granted) else short_cards(granted)
    return f"{node} with {count(len(granted), 'card')}: {f'{models} ' if models else ''}{shown}"


def _verdict(code: int) -> str:
    return {0: "All of it starts now.", 6: "Some of it would wait.", 2: "Some of it can never run as things are."}[code]
