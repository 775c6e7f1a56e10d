"""`$VAR` in every form, the shell before `.env`, env_file, and what the client is asked for."""

from typing import Any

import pytest

from berth.compose.template import BadTemplate, substitute
from berth.model.draft import Needs, SourceFile
from tests.compose.loading import load, one, problems, wrap

SET = {"A": "a", "EMPTY": "", "N": "3", "DIR": "conf"}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$A ${A}", "a a"), ("$$A $${A}", "$A ${A}"), ("$UNSET|${UNSET}|", "||"), ("x$A.y", "xa.y"), ("$A-$A", "a-a"),
        ("${A:-x}${A-x}", "aa"), ("${EMPTY:-x}|${EMPTY-x}", "x|"), ("${UNSET:-x}${UNSET-y}", "xy"),
        ("${A:+x}${A+y}", "xy"), ("${EMPTY:+x}|${EMPTY+y}", "|y"), ("${UNSET:+x}${UNSET+y}", ""),
        ("${UNSET:-${A}}", "a"), ("${UNSET:-${U2:-${A}z}}", "az"), ("${UNSET:-$A b}", "a b"), ("${A:?no}", "a"),
        ("${EMPTY?no}", ""), ("${UNSET:-a:b-c?d}", "a:b-c?d"), ("${UNSET:-$$}", "$"), ("${UNSET:-}", ""),
        ("${A:+${UNSET:-q}}", "q"), ("plain }", "plain }"), ("é$A", "éa"),
    ],
)  # fmt: skip
def test_substitution(text: str, result: str) -> None:
    assert substitute(text, SET.get) == result


@pytest.mark.parametrize(
    ("text", "at"),
    [("a $", 2), ("$1", 0), ("${", 0), ("${A", 0), ("${A:-x", 5), ("${A!x}", 0), ("x ${}", 2), ("$ {A}", 0)],
)
def test_what_is_no_variable(text: str, at: int) -> None:
    with pytest.raises(BadTemplate) as caught:
        substitute(text, SET.get)
    assert (caught.value.at, caught.value.missing) == (at, False)
    assert "$$" in caught.value.hint


@pytest.mark.parametrize("text", ["${UNSET?set it}", "${UNSET:?set it}", "${EMPTY:?set it}", "${A:+${UNSET?set it}}"])
def test_required(text: str) -> None:
    with pytest.raises(BadTemplate, match="set it") as caught:
        substitute(text, SET.get)
    assert caught.value.missing


def test_nesting_has_a_limit() -> None:
    with pytest.raises(BadTemplate, match="more than 20"):
        substitute("${A:-" * 50_000, {}.get)


def test_a_default_that_is_not_needed_asks_for_nothing() -> None:
    asked: list[str] = []

    def look(name: str) -> str | None:
        asked.append(name)
        return SET.get(name)

    assert substitute("${A:-${B}}${C:+${D}}", look) == "a"
    assert asked == ["A", "C"]


def test_the_client_is_asked_for_what_the_files_name() -> None:
    text = wrap("image: ${REG}/x:${TAG:-1}\nenvironment: [PASS, A=1, B=]\nenv_file: [a.env, $DIR/b.env]\n")
    assert load(text).needs == Needs(variables=("REG", "TAG", "DIR"))
    known: dict[str, str | None] = {"REG": "r", "TAG": None, "DIR": "conf"}
    assert load(text, variables=known).needs == Needs(files=("a.env", "conf/b.env"), variables=("PASS", "B"))
    known |= {"PASS": "p", "B": None}
    extra: dict[str, SourceFile | None] = {
        "a.env": SourceFile("a.env", b"X=1\nFROM_SHELL\n"),
        "conf/b.env": SourceFile("", b"X=2"),
    }
    assert load(text, variables=known, extra=extra).needs == Needs(variables=("FROM_SHELL",))
    (draft,) = load(text, variables=known | {"FROM_SHELL": None}, extra=extra).drafts
    assert draft.spec.image == "r/x:1"
    assert draft.spec.env == (("A", "1"), ("B", ""), ("PASS", "p"), ("X", "2"))


def test_env_file_is_read_as_the_docker_cli_reads_it() -> None:
    lines = b"\xef\xbb\xbf# c\n\n  LEAD=1\nQ='a b'\nD=\"x\"\nKEEP= sp  # not a comment\nEQ=a=b\n"
    lines += b"HASH=#x\nRAW=$A\r\nSHELL_ONE\nUNSET_ONE\n"
    variables = {"SHELL_ONE": "s", "UNSET_ONE": None}
    draft = one("env_file: e.env", extra={"e.env": SourceFile("e.env", lines)}, variables=variables)
    assert dict(draft.spec.env) == {
        "LEAD": "1", "Q": "'a b'", "D": '"x"', "KEEP": " sp  # not a comment", "EQ": "a=b", "HASH": "#x", "RAW": "$A",
        "SHELL_ONE": "s",
    }  # fmt: skip


def test_environment_stands_over_env_file_and_a_name_alone_takes_the_shells_value() -> None:
    extra = {"e.env": SourceFile("e.env", b"A=file\nB=file\n")}
    draft = one("env_file: e.env\nenvironment: [A=own, C, D]", extra=extra, variables={"C": "shell", "D": None})
    assert draft.spec.env == (("A", "own"), ("B", "file"), ("C", "shell"), ("D", None))


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        (None, "env-file-missing", ("a.yml", 4)),
        (b"A B=1\n", "env-file-line", ("e.env", 1)),
        (b"A=1\n=x\n", "env-file-line", ("e.env", 2)),
        (b"A=\xff\n", "not-utf-8", ("e.env", 1)),
    ],
)
def test_bad_env_files(data: bytes | None, code: str, place: tuple[str, int]) -> None:
    extra = {"e.env": SourceFile("e.env", data) if data is not None else None}
    (problem,) = problems(wrap("env_file: e.env"), extra=extra)
    assert (problem.code, (problem.file, problem.line)) == (code, place)


DOTENV = b"""\
# comment
export A=from-dotenv
B='single $A'
C="double ${A}\\n"
D=plain # comment
E=${A}!
SHELL=no
F="two
lines"
"""


def dotenv(service: str, data: bytes = DOTENV, **fields: Any) -> Any:
    return load(wrap(service), dotenv=SourceFile(".env", data), **fields)


def test_dotenv_fills_what_the_shell_does_not_set() -> None:
    body = "environment: {A: $A, B: $B, C: $C, D: $D, E: $E, F: $F, G: $SHELL, P: }"
    variables = dict.fromkeys("ABCDEFP") | {"SHELL": "yes"}
    loaded = dotenv(body, variables=variables)
    assert dict(loaded.drafts[0].spec.env) == {
        "A": "from-dotenv", "B": "single $A", "C": "double from-dotenv\n", "D": "plain", "E": "from-dotenv!",
        "F": "two\nlines", "G": "yes", "P": None,
    }  # fmt: skip
    (told,) = [warning.message for warning in loaded.warnings if warning.code == "dotenv-used"]
    assert told == "A, B, C, D, E, F come from .env, which docker stack deploy does not read."


def test_a_bad_line_of_dotenv() -> None:
    (problem,) = problems(wrap(""), dotenv=SourceFile(".env", b"A=1\nnot a pair\n"))
    assert (problem.code, problem.file, problem.line) == ("env-file-line", ".env", 2)


def test_what_is_wrong_in_env_files_is_said_without_a_piece_of_their_lines() -> None:
    body = "env_file: a.env\nenvironment: {A: $A}"
    files = {"a.env": SourceFile("a.env", b"OK=1\nmy s3cret=x\n\xff")}
    assert "s3cret" not in str(problems(wrap(body), extra=files, variables={"A": None}))
    files = {"a.env": SourceFile("a.env", b"OK=1\nmy s3cret=x\n")}
    source = SourceFile(".env", b"A=pa$$w${s3cret\nnot a s3cret\n")
    found = problems(wrap(body), extra=files, variables={"A": None}, dotenv=source)
    assert [(one.code, one.file, one.line) for one in found] == [
        ("bad-template", ".env", 1), ("env-file-line", ".env", 2), ("env-file-line", "a.env", 2),
    ]  # fmt: skip
    assert "s3cret" not in str(found)


def test_an_unset_variable_and_a_missing_file_are_said_in_one_go() -> None:
    body = "hostname: ${REQ:?}\nenv_file: a.env\nuser: a b"
    assert load(wrap(body)).needs == Needs(variables=("REQ",))
    assert load(wrap(body), variables={"REQ": None}).needs == Needs(files=("a.env",))
    found = problems(wrap(body), variables={"REQ": None}, extra={"a.env": None})
    assert [one.code for one in found] == ["variable-required", "env-file-missing", "bad-value"]


def test_an_unset_variable_counts_as_empty_and_is_told_once() -> None:
    loaded = load(wrap("image: x\nhostname: h$NO$NO\nuser: '${NO}'"), variables={"NO": None})
    assert loaded.drafts[0].spec.hostname == "h"
    assert [(w.code, w.line) for w in loaded.warnings] == [("variable-unset", 4)]


def test_a_required_variable() -> None:
    text = wrap("hostname: a${NAME:?the host's name}")
    assert load(text).needs == Needs(variables=("NAME",))
    (problem,) = problems(text, variables={"NAME": None})
    assert (problem.code, problem.line, problem.column) == ("variable-required", 4, 16)
    assert "the host's name" in problem.message


def test_what_could_not_be_completed_is_told_once() -> None:
    (problem,) = problems("services:\n  web:\n    image: ${TAG?say which}\n", variables={"TAG": None})
    assert (problem.code, problem.line) == ("variable-required", 3)
    (problem,) = problems("services:\n  web:\n    image: ${TAG\n")
    assert (problem.code, problem.line) == ("bad-template", 3)


def test_a_bad_template_points_into_the_text() -> None:
    (problem,) = problems(wrap("hostname: 'abc$'"))
    assert (problem.code, problem.line, problem.column) == ("bad-template", 4, 19)
    assert problem.field == "services.web.hostname"


@pytest.mark.parametrize(
    ("service", "read"),
    [
        ("deploy: {replicas: '${N:-2}'}", lambda draft: draft.replicas == 2),
        ("deploy: {replicas: $N}", lambda draft: draft.replicas == 3),
        ("read_only: ${T:-yes}", lambda draft: draft.spec.read_only is True),
        ("healthcheck: {retries: '$N', test: a}", lambda draft: draft.spec.healthcheck.retries == 3),
        ("gpus: $N", lambda draft: draft.spec.request.gpus == 3),
        ("stop_grace_period: ${N}m", lambda draft: draft.spec.stop_grace_s == 180.0),
    ],
)
def test_values_from_variables_become_numbers_and_switches(service: str, read: Any) -> None:
    known = {"T": None, "N": None if ":-2" in service else "3"}
    assert read(one(service, variables=known))


def test_fragments_under_x_keys_count_only_where_they_are_used() -> None:
    text = "x-a: {b: $NOBODY}\nx-c: &c {A: $USED}\nservices: {web: {image: x, environment: *c}}\n"
    assert load(text).needs == Needs(variables=("USED",))
