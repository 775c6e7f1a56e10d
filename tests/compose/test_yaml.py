"""The YAML reader: what files may be, where mistakes are, what unquoted words mean."""

import pytest

from berth.compose import scalars, tree
from berth.compose.text import decode
from berth.model.draft import SourceFile
from berth.model.errors import BadInput

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcde", "bcdef", strict=True)
)


def read(data: str | bytes) -> object:
    """The tree as plain values."""
    raw = data.encode() if isinstance(data, str) else data
    return plain(tree.read(decode(SourceFile("f.yml", raw))))


def plain(node: tree.Node) -> object:
    if isinstance(node, tree.Mapping):
        return {name: plain(entry.node) for name, entry in node.entries.items()}
    return [plain(item) for item in node.items] if isinstance(node, tree.Items) else node.value


@pytest.mark.parametrize(
    ("data", "code", "line", "column"),
    [
        ("a:\n\tb: 1\n", "yaml-tab", 2, 1),
        ("a: 1\nb:\n  c: 1\n \td: 2\n", "yaml-tab", 4, 2),
        (b"a: \xe9\n", "not-utf-8", 1, 0),
        (b"a: 1\nb: \xc3(\n", "not-utf-8", 2, 0),
        ("a: 1".encode("utf-16"), "not-utf-8", 1, 0),
        (b"\x7fELF\0\0", "not-text", 1, 0),
        ("a: \x07\n", "not-text", 1, 4),
        ("a: 1\n---\nb: 1\n", "yaml-documents", 2, 1),
        ("", "yaml-empty", 1, 1),
        ("# nothing\n\n", "yaml-empty", 1, 1),
        ("---\n", "yaml-empty", 1, 1),
        ("- a\n", "yaml-top", 1, 1),
        ("words", "yaml-top", 1, 1),
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", 3, 1),
        ("a: {b: 1, b: 2}\n", "duplicate-key", 1, 11),
        ("a: b: c\n", "yaml-syntax", 1, 5),
        ("a: [1, 2\n", "yaml-syntax", 1, 4),
        ("a: 'b\n", "yaml-syntax", 1, 4),
        ("a: @b\n", "yaml-syntax", 1, 4),
        ("- a\nb: c\n", "yaml-syntax", 2, 1),
        ("a: *b\n", "yaml-alias", 1, 4),
        ("a: &a [*a]\n", "yaml-alias", 1, 8),
        ("a: !env X\n", "yaml-tag", 1, 4),
        ("? [a]\n: b\n", "yaml-key", 1, 3),
        ("<<: 3\na: 1\n", "yaml-merge", 1, 5),
        ("[" * 200, "yaml-too-deep", 1, 101),
        ("a: " + "{a: " * 150, "yaml-too-deep", 1, 400),
        (BOMB, "yaml-too-big", 4, 4),
        ("a: [" + "x," * 150_000 + "]", "yaml-too-big", 1, 200_003),
        ("a: 1\n" * 150_000, "yaml-too-big", 100_000, 4),
        (b"a: " + b"x" * 10_000_000, "file-too-big", 0, 0),
    ],
)
def test_refused(data: str | bytes, code: str, line: int, column: int) -> None:
    with pytest.raises(BadInput) as caught:
        read(data)
    (problem,) = caught.value.problems
    assert (problem.code, problem.line, problem.column, problem.file) == (code, line, column, "f.yml")
    assert problem.message
    assert problem.hint


def test_depth_through_aliases_is_counted() -> None:
    deep = "".join(f"k{n}: &k{n} {'[' * 40}{f'*k{n - 1}' if n else 'x'}{']' * 40}\n" for n in range(5))
    with pytest.raises(BadInput) as caught:
        read(deep)
    assert [problem.code for problem in caught.value.problems] == ["yaml-too-deep"]


def test_every_duplicate_key_is_told_in_one_go() -> None:
    with pytest.raises(BadInput) as caught:
        read("a: 1\na: 2\nb: 1\nb: 2\n")
    assert [problem.line for problem in caught.value.problems] == [2, 4]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("a: '\t'\n", {"a": "\t"}),
        ("a:\tb\n", {"a": "b"}),
        ("a: |\n  x\n  \ty\n", {"a": "x\n\ty\n"}),
        ("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\n", {"x": {"a": 1, "b": 2}, "y": {"b": 3, "a": 1}}),
        ("x: &x {a: 1}\nz: &z {a: 2, c: 3}\ny: {<<: [*x, *z]}\n",
         {"x": {"a": 1}, "z": {"a": 2, "c": 3}, "y": {"a": 1, "c": 3}}),
        ("a: {'<<': 1}\n", {"a": {"<<": 1}}),
        ("1: a\ntrue: b\n", {"1": "a", "true": "b"}),
        ("a: !!str 1\nb: !!int '2'\n", {"a": "1", "b": 2}),
        ("a: '1'\nb: \"no\"\n", {"a": "1", "b": "no"}),
    ],
)  # fmt: skip
def test_read(data: str | bytes, value: object) -> None:
    assert read(data) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("nil", "nil"), ("true", True), ("False", False), ("yes", "yes"),
        ("on", "on"), ("12", 12), ("-3", -3), ("+5", 5), ("0440", 288), ("0o440", 288), ("0x1F", 31), ("0b11", 3),
        ("1_000", 1000), ("08", 8.0), ("1:30", "1:30"), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0), ("1.2.3", "1.2.3"),
        ("2001-01-01", "2001-01-01"), ("1e999", "1e999"), ("-", "-"), (".", "."), ("0x", "0x"), ("_1", "_1"),
        ("9" * 5000, "9" * 5000), ("18446744073709551615", 2**64 - 1), ("node.id", "node.id"), ("0", 0), ("-0", 0),
    ],
)  # fmt: skip
def test_what_an_unquoted_word_means(text: str, value: object) -> None:
    found = scalars.plain(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("written", "arrives"),
    [
        ("1.10", "1.1"), ("0777", "511"), ("1_000", "1000"), ("1e3", "1000"), ("123456.5", "123456.5"),
        ("1234567.5", "1.2345675e+06"), ("1000000.0", "1e+06"), ("100000.0", "100000"), ("0.0001", "0.0001"),
        ("0.00001", "1e-05"), ("08", "8"), ("1e20", "1e+20"), ("1e30", "1e+30"), ("-0.0", "-0"), (".5", "0.5"),
        ("18446744073709551616", "1.8446744073709552e+19"), ("-0x10", "-16"), ("2.", "2"),
        ("21000000.5", "2.10000005e+07"),
    ],
)  # fmt: skip
def test_numbers_arrive_as_the_docker_cli_hands_them_over(written: str, arrives: str) -> None:
    """The right column is what `docker stack config` (28.2) prints for an environment value."""
    value = scalars.plain(written)
    assert isinstance(value, int | float)
    assert scalars.shown(value) == arrives
