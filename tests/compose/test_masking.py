"""Values of secrets never stand in a message: lines that are shown have stars in their place, of the same length."""

import pytest

from berth.compose.masking import is_secret_name, is_secret_value, masked
from tests.compose.loading import job_problems, load, problems, wrap


@pytest.mark.parametrize(
    "name",
    ["PASSWORD", "DB_PASSWORD", "dbPassword", "POSTGRES_PASS", "HF_TOKEN", "SECRET", "AWS_SECRET_ACCESS_KEY", "apiKey",
     "OPENAI_API_KEY", "KEY", "ssh-passphrase", "MYSQL_PWD", "GCP_CREDENTIALS"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["MAX_TOKENS", "TOKENIZERS_PARALLELISM", "DB_PASSWORD_FILE", "TOKEN_URL", "AWS_ACCESS_KEY_ID", "PUBLIC_KEY",
     "PWD", "KEYBOARD", "PASSENGERS", "secrets", "CACHE_KEY", ""],
)  # fmt: skip
def test_names_that_only_look_like_it(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value",
    ["AKIA" + "A1B2" * 4, "ghp_" + "a" * 36, "hf_" + "b" * 34, "postgres://u:pw@db/x", "-----BEGIN PRIVATE KEY-----"],
)
def test_values_that_are_secrets_whatever_their_name(value: str) -> None:
    assert is_secret_value(value)
    assert value not in masked(f"X: {value}")


@pytest.mark.parametrize("value", ["https://example.org/a:b@c", "a sketch", "registry:5000/x@sha256:abc", "user@host"])
def test_values_that_are_none(value: str) -> None:
    assert not is_secret_value(value)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  PASSWORD: a b # c", "  PASSWORD: *******"),
        ("  - DB_PASSWORD=abc", "  - DB_PASSWORD=***"),
        ('  - "DB_PASSWORD=a b"', '  - "DB_PASSWORD=***"'),
        ("e: {PASSWORD: abc, B: 1}", "e: {PASSWORD: ***, B: 1}"),
        ("e: ['API_KEY=a,b', 'X=1']", "e: ['API_KEY=***', 'X=1']"),
        ('  "PASSWORD": "abc"', '  "PASSWORD": "***"'),
        ("  PASSWORD: 'abc", "  PASSWORD: '***"),
        ("command: [x, --token, abc, -y]", "command: [x, --token, ***, -y]"),
        ("U: postgres://me:abc@db/x", "U: postgres://******@db/x"),
        ("  TOKEN: ${TOKEN:?set it}", "  TOKEN: ${TOKEN:?set it}"),
        ("  MAX_TOKENS: 2048", "  MAX_TOKENS: 2048"),
        ("secrets: [a]", "secrets: [a]"),
    ],
)
def test_a_line_is_shown_with_stars(line: str, shown: str) -> None:
    assert masked(line) == shown
    assert len(masked(line)) == len(line)


LEAKS = [
    "environment: {PASSWORD: hunter2, B: [x]}",
    "environment: {PASSWORD: hunter2$}",
    "environment: ['PASSWORD=hunter2', [x]]",
    "environment: {PASSWORD: {hunter2: x}}",
    "environment: PASSWORD=hunter2",
    "environment: {PASSWORD: hunter2, PASSWORD: hunter2}",
    "environment:\n  PASSWORD: |\n    hunter2\n   hunter2: x",
    "environment:\n  PASSWORD: 'hunter2\n",
    "environment:\n  PASSWORD: hunter2: hunter2\n",
    "environment:\n  PASSWORD: @hunter2\n",
    "environment:\n\tPASSWORD: hunter2\n",
    "environment: [PASSWORD=hunter2]\nlabels: [PASSWORD=hunter2, [x]]",
    "comand: mysql --password=hunter2",
]


@pytest.mark.parametrize("service", LEAKS)
def test_no_message_prints_the_value_of_a_secret(service: str) -> None:
    found = problems(wrap(service))
    assert "unter2" not in repr(found)
    assert found[0].line


def test_a_number_that_is_a_secret_is_not_quoted_in_a_warning() -> None:
    loaded = load(wrap("environment: {PASSWORD: 0123456}"))
    (warning,) = loaded.warnings
    assert loaded.drafts[0].spec.env == (("PASSWORD", "42798"),)
    assert warning.code == "number-rewritten"
    assert "123456" not in repr(warning)
    assert "42798" not in repr(warning)


def test_job_files_are_shown_in_the_same_way() -> None:
    found = job_problems("image: x\nenv: {TOKEN: hunter2, B: [x]}\n")
    assert found[0].excerpt == "env: {TOKEN: *******, B: [x]}"
