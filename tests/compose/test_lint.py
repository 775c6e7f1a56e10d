"""Lint: what each rule finds and lets pass, at which place, how it is silenced, and what --strict makes of it."""

import pytest

from berth.compose import read_body, read_job, read_stack
from berth.compose.body import JobBody
from berth.compose.lint_rules import CODES
from berth.model.errors import Problem
from tests.compose.loading import ADMIN, bundle, wrap

CLEAN = "image: bb:1\nuser: '1000'\n"


def lint(text: str, strict: bool = False, **fields: object) -> list[Problem]:
    """What lint finds in a stack file: warnings, or errors."""
    loaded = read_stack(bundle(text, directory="/x", **fields), "st", ADMIN, strict)
    return [one for one in (loaded.problems if strict else loaded.warnings) if one.code in (*CODES, "key-ignored")]


@pytest.mark.parametrize(
    ("service", "code", "line", "said"),
    [
        ("image: bb:1", "lint-root-user", 2, "no user in web:"),
        ("image: bb:1\nuser: root", "lint-root-user", 4, "no user in web:"),
        ("image: bb:1\nuser: '0:0'", "lint-root-user", 4, "no user in web:"),
        ("image: bb\nuser: a", "lint-latest-tag", 3, "web (bb)"),
        ("image: reg:5000/bb\nuser: a", "lint-latest-tag", 3, "web (reg:5000/bb)"),
        ("image: bb:latest\nuser: a", "lint-latest-tag", 3, "web (bb:latest)"),
        ("image: nvidia/cuda:12.4-devel-ubuntu22.04\nuser: a", "lint-devel-image", 3, "-devel image in web"),
        (CLEAN + "environment: {DB_PASSWORD: hunter2}", "lint-secret-in-env", 5, "web (DB_PASSWORD)"),
        (CLEAN + "environment: [A=1, HF_TOKEN=hunter2]", "lint-secret-in-env", 5, "web (HF_TOKEN)"),
        (CLEAN + "environment: {DB: 'postgres://u:hunter2@h/d'}", "lint-secret-in-env", 5, "web (DB)"),
        (CLEAN + "environment: {A: 1, B_KEY: 12345}", "lint-secret-in-env", 5, "web (B_KEY)"),
        (CLEAN + "privileged: true", "lint-privileged", 5, "privileged: true in web"),
        (CLEAN + "cap_add: [NET_RAW, CAP_SYS_ADMIN]", "lint-capabilities", 5, "web (CAP_SYS_ADMIN)"),
        (CLEAN + "cap_add: [all]", "lint-capabilities", 5, "web (all)"),
        (CLEAN + "network_mode: host", "lint-host-network", 5, "network in web"),
        (CLEAN + "volumes: ['/var/run/docker.sock:/s:ro']", "lint-engine-socket", 5, "web (/var/run/docker.sock)"),
        (CLEAN + "volumes: ['/:/host:ro']", "lint-engine-socket", 5, "web (/)"),
        (CLEAN + "volumes: ['/etc/:/e']", "lint-host-folder", 5, "web (/etc/)"),
        (CLEAN + "volumes: [{type: bind, source: /root/.ssh, target: /k}]", "lint-host-folder", 5, "/root/.ssh"),
    ],
)
def test_a_rule_finds(service: str, code: str, line: int, said: str) -> None:
    (found,) = lint(wrap(service))
    assert (found.code, found.line, found.file) == (code, line, "a.yml")
    assert said in found.message
    assert found.hint
    assert "unter2" not in repr(found)
    assert [(one.code, one.line) for one in lint(wrap(service), strict=True)] == [(code, line)]


@pytest.mark.parametrize(
    "service",
    [
        "image: bb@sha256:" + "a" * 64 + "\nuser: a",
        "image: reg:5000/bb-devel/x:1\nuser: a",
        CLEAN + "environment: {DB_PASSWORD_FILE: /run/secrets/x, MAX_TOKENS: 5, KEY: /etc/key.pem, TOKEN: ''}",
        CLEAN + "environment: {DB_PASSWORD: '${DB_PASSWORD}'}",
        CLEAN + "environment: ['DB_PASSWORD=$DB_PASSWORD', TOKEN]",
        CLEAN + "privileged: false\ncap_add: [NET_RAW]",
        CLEAN + "volumes: ['/etc:/e:ro', '/data:/d', '/etc/localtime:/etc/localtime']",
    ],
)
def test_a_rule_lets_pass(service: str) -> None:
    assert lint(wrap(service), variables={"DB_PASSWORD": "hunter2", "TOKEN": None}) == []


def test_the_same_finding_of_many_services_is_one_line_at_its_first_place() -> None:
    services = "".join(f"  s{n}: {{image: 'bb:1'}}\n" for n in range(7))
    (found,) = lint("services:\n" + services)
    assert found.line == 2
    assert found.message.startswith("no user in s0, s1, s2 and 4 more: ")
    errors = lint("services:\n" + services, strict=True)
    assert [one.line for one in errors] == list(range(2, 9))


def test_several_secrets_of_a_service_are_named_behind_it() -> None:
    (found,) = lint(wrap(CLEAN + "environment: {A_TOKEN: x, B_PASSWORD: y}"))
    assert "in web (A_TOKEN and B_PASSWORD):" in found.message


def test_what_docker_ignores_is_told_once() -> None:
    assert [one.code for one in lint(wrap(CLEAN + "network_mode: host\nprivileged: true\nbuild: ."))] == [
        "lint-host-network",
        "lint-privileged",
        "key-ignored",
    ]


@pytest.mark.parametrize("name", ["lint-root-user", "root-user"])
def test_a_rule_is_silenced_for_a_service_or_for_all(name: str) -> None:
    two = "services:\n  a: {image: 'bb:1', x-berth: {lint: [RULE]}}\n  b: {image: 'bb:1'}\n".replace("RULE", name)
    (found,) = lint(two)
    assert found.message.startswith("no user in b:")
    assert lint("x-berth: {lint: RULE}\nservices: {a: {image: 'bb:1'}}\n".replace("RULE", name)) == []
    assert [
        one.code for one in lint("x-berth: {lint: [RULE]}\nservices: {a: {image: bb}}\n".replace("RULE", name))
    ] == ["lint-latest-tag"]


def test_a_rule_that_is_none_is_refused_with_the_nearest() -> None:
    loaded = read_stack(bundle("x-berth: {lint: [rot-user]}\nservices: {a: {image: 'bb:1'}}"), "st", ADMIN)
    (wrong,) = loaded.problems
    assert (wrong.code, wrong.line, wrong.hint) == ("unknown-lint", 1, "Write lint-root-user")


def test_variables_of_other_files_are_not_in_the_stack_file() -> None:
    from berth.model.draft import SourceFile

    extra = {"x.env": SourceFile("x.env", b"DB_PASSWORD=hunter2\n")}
    assert lint(wrap(CLEAN + "env_file: x.env"), extra=extra, variables={}) == []


def test_a_job_file_hears_all_and_a_typed_job_only_of_what_is_dangerous() -> None:
    text = b"image: bb\nenv: {API_KEY: hunter2}\nvolumes: ['/etc:/e']\n"
    found = ["lint-root-user", "lint-latest-tag", "lint-secret-in-env", "lint-host-folder"]
    assert sorted(one.code for one in read_job(text, "j.yml", ADMIN, False).warnings) == sorted(found)
    assert sorted(one.code for one in read_job(text, "j.yml", ADMIN, True).problems) == sorted(found)
    assert read_job(text, "j.yml", ADMIN).warnings == ()
    body = JobBody(image="bb", env={"API_KEY": "hunter2"}, volumes=["/etc:/e"])
    typed = read_body(body, ADMIN, False).warnings
    assert [one.code for one in typed] == ["lint-secret-in-env", "lint-host-folder"]
    assert typed[0].message.startswith("a secret in the environment in the job (API_KEY):")
