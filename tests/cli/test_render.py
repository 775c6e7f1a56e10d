"""What is printed, by values: tables, problems, plans, reasons, ages."""

import pytest

from berth.cli.plan import exit_code, plan_lines
from berth.cli.problems import lines, report
from berth.cli.table import Column, render
from berth.cli.verbs.events import line as event_line
from berth.cli.verbs.stack_deploy import exit_code as deploy_exit_code
from berth.cli.verbs.stack_deploy import state_in_words
from berth.cli.verbs.wait import exit_code as wait_exit_code
from berth.cli.verbs.why import refusals, sentences
from berth.cli.words import ago, cards_of_wanted, count, mib, note, seconds, short_cards, span

COLUMNS = (Column("NAME"), Column("CARDS", right=True), Column("NOTE", shrink=True))


def test_a_table_is_aligned_and_has_no_trailing_blanks() -> None:
    assert render(COLUMNS, [("a", "2", "x"), ("longer", "10", "")]) == [
        "NAME    CARDS  NOTE",
        "a           2  x",
        "longer     10",
    ]


def test_a_table_gives_way_to_the_terminal() -> None:
    found = render(COLUMNS, [("train", "2", "waits because every matching card is in use")], width=40)
    assert found == ["NAME   CARDS  NOTE", "train      2  waits because every match…"]
    assert max(map(len, found)) <= 40


def test_wide_characters_take_two_cells() -> None:
    assert render(COLUMNS, [("训练", "1", "x"), ("abcd", "2", "y")]) == [
        "NAME  CARDS  NOTE",
        "训练      1  x",
        "abcd      2  y",
    ]


def test_a_name_cannot_drive_the_terminal() -> None:
    assert render(COLUMNS, [("a\x1b[2Jb", "1", "x\ny")])[1] == "a?[2Jb      1  x?y"


def test_a_problem_shows_the_place_with_a_mark_and_what_to_write() -> None:
    problem = {
        "code": "unknown-key",
        "message": "there is no key 'node.label.x'",
        "file": "docker-compose.yml",
        "line": 9,
        "column": 13,
        "field": "services.a.deploy.placement.constraints.0",
        "excerpt": "\t          - node.label.x == true",
        "hint": "write node.labels.x == true",
    }
    assert lines(problem) == [
        "docker-compose.yml:9:13: there is no key 'node.label.x'",
        "  | \t          - node.label.x == true",
        "  | \t           ^",
        "  in: services.a.deploy.placement.constraints.0",
        "  -> write node.labels.x == true",
        "  code: unknown-key (berth explain unknown-key)",
    ]


def mark(excerpt: str, column: int, cut: int = 0) -> tuple[str, str]:
    """The line and the mark under it, as they are printed."""
    _, line, under, _ = lines({"message": "m", "code": "c", "file": "f", "line": 1, "column": column,
                               "excerpt": excerpt, "cut": cut})  # fmt: skip
    return line.removeprefix("  | "), under.removeprefix("  | ")


@pytest.mark.parametrize(
    ("excerpt", "column", "under"),
    [
        ("a: b", 1, "^"),
        ("comand: x", 1, "^~~~~~"),
        ("    image: bb:1", 12, "           ^~~~"),
        ("x: 'a b'", 5, "    ^~~"),
        ('x: ["one", two]', 12, "           ^~~"),
        ("x: {count: -1}", 12, "           ^~"),
        ("\tx: 1", 5, "\t   ^"),
        ("名前: 値段 x", 1, "^~~~"),
        ("名前: 値段 x", 5, "      ^~~~"),
        ("e\u0301: xy", 5, "   ^~"),
        ("x:", 3, "  ^"),
        ("x: {", 4, "   ^"),
    ],
)
def test_the_word_at_the_place_is_marked_in_its_right_column(excerpt: str, column: int, under: str) -> None:
    assert mark(excerpt, column) == (excerpt, under)


@pytest.mark.parametrize("before", [0, 40, 99, 100, 140, 500])
@pytest.mark.parametrize("after", [0, 30, 500])
def test_a_long_line_is_cut_around_its_mark(before: int, after: int) -> None:
    line, under = mark("x" * before + " wrong " + "y" * after, before + 2)
    assert len(line) <= 100
    assert line[under.index("^") :].startswith("wrong")
    assert under.endswith("^~~~~")
    assert ("…" in line) == (before + after + 7 > 100)


def test_a_line_that_the_server_cut_is_marked_in_its_right_place() -> None:
    line, under = mark("a" * 100 + " wrong", 900, cut=798)
    assert line.startswith("…")
    assert line[under.index("^") :] == "wrong"


def test_a_place_beyond_the_line_has_no_mark() -> None:
    assert lines({"message": "m", "file": "f", "line": 1, "column": 9, "excerpt": "abc"}) == ["f:1:9: m", "  | abc"]


def test_problems_are_set_apart() -> None:
    assert report([{"code": "a", "message": "x"}, {"code": "b", "message": "y", "hint": "one\ntwo"}]) == (
        "berth: x\n  code: a (berth explain a)\n\nberth: y\n  -> one\n     two\n  code: b (berth explain b)"
    )


def _plan(*starts: str) -> dict[str, object]:
    tasks = [
        {"service": "a", "slot": slot, "node": "", "cards": [], "starts": word, "why": "0 of 2 free"}
        for slot, word in enumerate(starts, 1)
    ]
    return {"jobs": [{"name": "s_a", "change": "create", "tasks": tasks}], "warnings": []}


@pytest.mark.parametrize(
    ("starts", "code"), [((), 0), (("now",), 0), (("now", "waits"), 6), (("waits", "never", "now"), 2)]
)
def test_a_plans_exit_code_is_its_worst_task(starts: tuple[str, ...], code: int) -> None:
    assert exit_code(_plan(*starts)) == code


def test_a_plan_reads_as_a_list_of_changes() -> None:
    now = {"slot": 1, "node": "n2", "cards": ["GPU-a", "GPU-b"], "starts": "now", "why": ""}
    late = {"slot": 2, "node": "", "cards": [], "starts": "waits", "why": "0 of 2 free"}
    plan = {
        "jobs": [
            {"name": "s_a", "change": "update", "tasks": [now, late]},
            {"name": "s_b", "change": "remove", "tasks": []},
        ]
    }
    cards = {"GPU-a": {"model": "A100", "index": 0}, "GPU-b": {"model": "A100", "index": 1}}
    assert plan_lines(plan, cards) == [
        "~ s_a: update",
        "    slot 1  starts now on n2 with 2 cards: A100 0, 1",
        "    slot 2  waits: 0 of 2 free",
        "- s_b: remove",
        "",
        "Some of it would wait. Nothing has been changed.",
    ]


def test_why_says_the_sentence_first_and_each_refusal_once() -> None:
    why = {"job": "j", "reason": "free-cards", "message": "0 of 2 free", "position": 2, "never": True}
    assert sentences(why) == [
        "0 of 2 free",
        "As things are it never starts: no node that is known can take it.",
        "Its place in the queue: 2.",
    ]
    nodes = [
        {"node": "n1", "refusals": [{"rule": "gpus", "message": "0 free"}, {"rule": "cpu", "message": "full"}]},
        {"node": "n2", "refusals": []},
    ]
    assert list(refusals(nodes)) == [
        ("n1", "gpus", "0 free"),
        ("", "cpu", "full"),
        ("n2", "", "nothing: it could take it now"),
    ]


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({"state": "waiting", "reason": "free-cards", "message": "0 of 2 free"}, "0 of 2 free"),
        ({"state": "succeeded", "reason": "exit", "exit_code": 0}, "exit 0"),
        ({"state": "failed", "reason": "oom", "message": "no memory", "exit_code": 137}, "exit 137: no memory"),
        ({"state": "failed", "reason": "start-failed", "exit_code": None}, "start-failed"),
        ({"state": "cancelled", "reason": "cancelled", "exit_code": None}, ""),
    ],
)  # fmt: skip
def test_a_jobs_note(job: dict[str, object], words: str) -> None:
    assert note(job) == words


def _task(state: str, *cards: str) -> dict[str, object]:
    return {"slot": 1, "state": state, "node": "n1", "cards": list(cards)}


def test_a_jobs_state_in_words() -> None:
    running = {"name": "s_a", "state": "running", "tasks": [_task("running", "GPU-a")]}
    waiting = {"name": "s_b", "state": "waiting", "message": "0 of 2 free", "tasks": []}
    assert state_in_words(running) == "running on n1 with 1 card"
    assert state_in_words(waiting) == "waits: 0 of 2 free (berth why s_b)"


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ((("running", "running"),), 0),
        ((("succeeded", "ended"), ("running", "running")), 0),
        ((("running", "starting"),), 6),
        ((("waiting", "waiting"), ("running", "running")), 6),
        ((("failed", "failed"), ("waiting", "waiting")), 1),
        ((("cancelled", "ended"),), 1),
    ],
)
def test_the_end_of_deploy_wait(states: tuple[tuple[str, str], ...], code: int) -> None:
    assert deploy_exit_code([{"state": job, "tasks": [_task(task)]} for job, task in states]) == code


@pytest.mark.parametrize(
    ("state", "until", "code"),
    [
        ("running", "running", 0),
        ("running", "ended", 6),
        ("waiting", "running", 6),
        ("succeeded", "ended", 0),
        ("succeeded", "running", 1),
        ("failed", "ended", 1),
        ("cancelled", "ended", 1),
    ],
)
def test_the_end_of_wait(state: str, until: str, code: int) -> None:
    assert wait_exit_code({"state": state}, until) == code


def test_times_and_amounts() -> None:
    now = seconds("2026-01-31T08:00:00Z")
    assert now == 1769846400.0
    assert ago("2026-01-31T07:59:18.5Z", now) == "41s"
    assert [span(s) for s in (0.25, 119, 120, 7199, 7200, 172799, 172800)] == [
        "0.2s", "119s", "2m", "119m", "2h", "47h", "2d",
    ]  # fmt: skip
    assert [mib(m) for m in (0, 512, 16384, 81559)] == ["unknown", "512 MiB", "16 GiB", "80 GiB"]
    assert [count(n, "card") for n in (0, 1, 2)] == ["0 cards", "1 card", "2 cards"]
    assert short_cards(["GPU-8c2d5b2e-5b7c", "node2/1"]) == "GPU-8c2d5b2e, node2/1"


def test_cards_of_those_wanted() -> None:
    job = {"state": "running", "gpus": 2, "replicas": 2, "tasks": [_task("running", "a", "b"), _task("waiting")]}
    assert cards_of_wanted(job) == "2 of 4"
    assert cards_of_wanted({**job, "replicas": 1}) == "2"
    assert cards_of_wanted({**job, "state": "succeeded", "tasks": [_task("ended", "a", "b")]}) == "4"
    assert cards_of_wanted({**job, "gpus": -1}) == "all (2)"


def test_an_event_names_the_person() -> None:
    event = {"time": "2026-01-31T08:00:00Z", "kind": "drain", "actor": "ann", "message": "n1 drains"}
    assert event_line(event).endswith("  drain             n1 drains (by ann)")
