"""What was typed: parsed into calls, or refused with what to type instead."""

import json

import pytest

from berth.cli.main import VERBS, load, run
from berth.cli.parser import duration, verb_parser
from berth.cli.verbs.node import label_change
from berth.cli.verbs.run import job_body
from berth.client.errors import ClientError
from berth.model.errors import Refused


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("crads", "there is no verb 'crads'\n  -> the nearest verb is 'berth cards'"),
        ("stack", "'berth stack' needs one more word\n  -> one of: berth stack deploy, berth stack config,"),
        ("stack deply", "there is no 'berth stack deply'"),
        ("jobs --al", "there is no --al\n  -> the nearest is --all\n     berth jobs [--all]\n     for example:"),
        ("jobs x", "'x' is too much"),
        ("why", "JOB is missing\n  -> berth why JOB"),
        ("run", "IMAGE is missing\n"),
        ("node drain n1", "--reason is missing"),
        ("wait --for done j", "'done' does not fit --for\n  -> one of: running, ended"),
        ("wait --timeout soon j", "'soon' is not a length of time: write it as 60s, 10m or 2h"),
        ("logs --tail -1 j", "'-1' is not a number"),
        ("logs --since", "--since needs a value after it"),
        ("jobs --all=yes", "--all takes no value, but 'yes' is written after it"),
        ("scale web", "'web' does not say how many\n  -> write it as STACK_SERVICE=N"),
        ("scale web=-1", "'web=-1' does not say how many"),
        ("node label n1 zone", "'zone' is no label\n  -> write it as KEY=VALUE, or KEY- to remove it"),
        ("node drain n1 --reason r --grace 5s", "--grace goes with --move"),
        ("token create --role agent", "a token of role agent is for one node\n  -> add --node NODE"),
        ("stack deploy s", "-c/--compose-file is missing"),
        ("stack deploy -c f --timeout 5s s", "--timeout goes with --wait"),
        ("completion tcsh", "'tcsh' does not fit SHELL\n  -> one of: bash, zsh, fish"),
        ("--colour cards", "there is no flag --colour before the verb"),
    ],
)  # fmt: skip
def test_a_wrong_line_says_what_to_type(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split(), {}) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.endswith("  code: bad-usage (berth explain bad-usage)\n")


@pytest.mark.parametrize("name", VERBS)
def test_every_verbs_help_has_an_example_of_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*name.split(), "--help"], {}) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: berth {name}")
    example = text.partition("\nexample:\n")[2].strip()
    assert f"berth {name}" in example
    assert "--json" in text


@pytest.mark.parametrize("name", VERBS)
def test_every_example_can_be_typed(name: str) -> None:
    import shlex

    words = shlex.split(load(name).example.partition(">")[0].removeprefix("source <(").rstrip(")"))
    verb_parser(name, VERBS[name].summary, load(name)).parse_args(words[1 + len(name.split()) :])


def test_the_overview_lists_exactly_the_verbs_that_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"], {"up": "nowhere:main"}) == 0
    text = capsys.readouterr().out
    listed = {line[2:16].strip() for line in text.split("examples:")[0].splitlines() if line.startswith("  ")}
    assert listed == {*VERBS, "up"}


def test_a_verb_that_main_hands_in_gets_the_rest_of_the_line() -> None:
    assert run(["--server", "u", "up", "--data", "d"], {"up": "tests.cli.test_typed:count_words"}) == 4


def count_words(argv: list[str]) -> int:
    """Stands for a verb of main's."""
    return len(argv)


def fail(_argv: list[str]) -> int:
    """A verb with a mistake in it."""
    raise ZeroDivisionError("by zero")


def refuse(_argv: list[str]) -> int:
    """A verb of main's that raises an error of the model's."""
    raise Refused.of("bug", "not now", "later")


def test_a_mistake_of_ours_is_said_calmly(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["up"], {"up": "tests.cli.test_typed:fail"}) == 1
    err = capsys.readouterr().err
    assert err.startswith(
        "berth: this is a mistake of Berth's, not yours: ZeroDivisionError: by zero at test_typed.py:"
    )
    assert "Traceback" not in err
    monkeypatch.setenv("BERTH_DEBUG", "1")
    assert run(["up"], {"up": "tests.cli.test_typed:fail"}) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_error_of_the_model_is_shown_as_one_of_the_apis(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up"], {"up": "tests.cli.test_typed:refuse"}) == 4
    assert capsys.readouterr().err == "berth: not now\n  -> later\n  code: bug (berth explain bug)\n"


def test_lists_can_be_watched() -> None:
    lists = {"jobs", "queue", "cards", "gpus", "nodes", "stack ls", "stack ps", "token ls", "history", "secret ls"}
    assert {name for name in VERBS if load(name).watch} == lists


@pytest.mark.parametrize(
    ("text", "value"), [("90", 90), ("60s", 60), ("1.5s", 1.5), ("10m", 600), ("1h30m", 5400), ("1d", 86400)]
)
def test_lengths_of_time(text: str, value: float) -> None:
    assert duration(text) == value


def test_labels_are_set_and_removed() -> None:
    assert [label_change(text) for text in ("a=1", "a=", "a-")] == [("a", "1"), ("a", ""), ("a", None)]
    with pytest.raises(ClientError):
        label_change("=1")


def _body(*words: str) -> dict[str, object]:
    parser = verb_parser("run", "", load("run"))
    return job_body(parser.parse_args(words), {"HERE": "yes"})


def test_run_sends_only_what_was_typed() -> None:
    assert _body("busybox") == {"image": "busybox"}


def test_run_leaves_everything_after_the_image_to_the_command() -> None:
    assert _body("--gpus", "2", "busybox", "sh", "--json", "-c", "x") == {
        "image": "busybox",
        "command": ["sh", "--json", "-c", "x"],
        "gpus": 2,
    }
    assert _body("--model", "A100", "--", "img", "cmd") == {"image": "img", "command": ["cmd"], "model": "A100"}


def test_run_takes_environment_as_docker_does() -> None:
    assert _body("-e", "A=1=2", "-e", "HERE", "-e", "NOT_HERE", "-e", "E=", "img")["env"] == {
        "A": "1=2",
        "HERE": "yes",
        "E": "",
    }


def test_run_leaves_a_wrong_count_to_the_server() -> None:
    assert [_body("--gpus", n, "img")["gpus"] for n in ("-1", "0", "1.5")] == [-1, 0, "1.5"]


AWAY = ("--server", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (("jobs", "--json", *AWAY), 5, "no-server"),
        (("--json", "jbs"), 2, "bad-usage"),
        (("jobs", "--jsn", "--json"), 2, "bad-usage"),
    ],
)
def test_with_json_errors_stand_on_standard_output_too(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], exit_code: int, code: str
) -> None:
    assert run(words, {}) == exit_code
    shown = capsys.readouterr()
    (error,) = json.loads(shown.out)["errors"]
    assert json.loads(shown.out)["exit_code"] == exit_code
    assert {"code", "message", "field", "file", "line", "hint"} <= error.keys()
    assert error["code"] == code
    assert f"code: {code} " in shown.err


def test_json_of_a_jobs_own_command_is_not_for_berth(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("run", *AWAY, "busybox", "tool", "--json"), {}) == 5
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "code: no-server " in shown.err
