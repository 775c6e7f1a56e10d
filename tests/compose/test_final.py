"""The merged file in long forms: times, quotes and order as the docker CLI writes them."""

import pytest

from berth.compose import merged_stack
from berth.compose.final.shapes import go_duration
from berth.compose.goyaml import sorted_keys, text_of
from berth.model.draft import Needs, SourceFile
from berth.model.errors import BadInput
from tests.compose.loading import FACTS, bundle


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0s"), (1, "1ns"), (1_500, "1.5µs"), (300_000_000, "300ms"), (1_500_000_000, "1.5s"), (90 * 10**9, "1m30s"),
     (3600 * 10**9, "1h0m0s"), (86_400 * 10**9 + 500_000_000, "24h0m0.5s")],
)  # fmt: skip
def test_times_as_go_prints_them(nanoseconds: int, text: str) -> None:
    assert go_duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [("x", "x"), ("", '""'), ("true", '"true"'), ("y", '"y"'), ("off", '"off"'), ("1", '"1"'), ("1.50", '"1.50"'),
     ("0x1f", '"0x1f"'), ("~", '"~"'), ("null", '"null"'), ("2001-01-01", '"2001-01-01"'), ("1:30", '"1:30"'),
     ("a: b", "'a: b'"), ("#x", "'#x'"), ("a\nb", "|-\n  a\n  b"), ("é", "é"), (None, "null"), (0.25, "0.25"),
     ([], "[]"), ({}, "{}")],
)  # fmt: skip
def test_quotes_stand_where_a_word_would_be_read_as_something_else(value: object, text: str) -> None:
    assert text_of({"k": value}) == f"k: {text}\n"


def test_keys_are_sorted_with_numbers_by_value() -> None:
    assert list(sorted_keys(dict.fromkeys(("v10", "v9", "a", "_b", "B")))) == ["_b", "B", "a", "v9", "v10"]


def test_only_what_the_text_needs_is_asked_for() -> None:
    text = "services: {a: {image: '${X}', env_file: e}}\nsecrets: {s: {file: f}, t: {environment: V}}\n"
    asked = merged_stack(bundle(text), FACTS).needs
    assert asked == Needs(variables=("X",))
    asked = merged_stack(bundle(text, variables={"X": "i"}), FACTS).needs
    assert asked == Needs(files=("e",))
    given = bundle(text, variables={"X": "i"}, extra={"e": SourceFile("e", b"A=1\n")}, directory="/d")
    value = merged_stack(given, FACTS).value
    assert value["secrets"] == {"s": {"file": "/d/f"}, "t": {"environment": "V"}}
    assert value["services"]["a"]["environment"] == {"A": "1"}


def test_an_image_may_be_missing_but_the_form_must_be_right() -> None:
    assert merged_stack(bundle("services: {a: {tty: true}}"), FACTS).value["services"] == {"a": {"tty": True}}
    with pytest.raises(BadInput):
        merged_stack(bundle("services: {a: {ttyy: true}}"), FACTS)


def test_what_only_a_deployment_is_refused_for_is_a_warning() -> None:
    text = "services: {a: {image: x, volumes: ['gone:/x', './d:/d', '~/c:/c'], networks: [gone]}}\nsecrets: {s: {}}"
    merged = merged_stack(bundle(text, directory="/w"), FACTS)
    told = {problem.code for problem in merged.warnings}
    assert told >= {"undefined-volume", "undefined-network", "bad-mount", "file-source"}
    sources = [mount["source"] for mount in merged.value["services"]["a"]["volumes"]]
    assert sources == ["gone", "/w/d", "~/c"]


def test_ports_without_a_published_one_are_all_kept() -> None:
    first = "services: {a: {image: x, ports: ['80', '81', '8080:1']}}"
    second = "services: {a: {ports: ['8080:2']}}"
    ports = merged_stack(bundle(first, second), FACTS).value["services"]["a"]["ports"]
    assert [(port["target"], port.get("published")) for port in ports] == [(80, None), (81, None), (2, 8080)]
