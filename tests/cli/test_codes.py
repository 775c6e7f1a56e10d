"""Every error code is explained, and every explanation is of a code in use."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import berth
from berth.cli.main import run
from berth.model.codes import CODES
from berth.model.job import EndReason
from berth.model.plan import WaitReason
from berth.model.reasons import ENDED, REASONS, WAITING

SOURCES = Path(berth.__file__).parent


def _trees() -> Iterator[ast.Module]:
    for path in SOURCES.rglob("*.py"):
        if path.name != "codes.py":
            yield ast.parse(path.read_text(encoding="utf-8"), str(path))


def _literal(node: ast.expr | None) -> Iterator[str]:
    """The strings that an expression can be: a constant, or either side of `a if x else b`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _literal(node.body)
        yield from _literal(node.orelse)


def _takes_code(trees: list[ast.Module]) -> dict[str, int]:
    """Functions with a parameter called `code`, and its place among those that are given."""
    found = {"of": 0}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [arg.arg for arg in node.args.args if arg.arg not in ("self", "cls")]
                annotations = {arg.arg: arg.annotation for arg in node.args.args}
                if "code" in names and getattr(annotations["code"], "id", "") == "str":
                    found[node.name] = names.index("code")
    return found


def _used() -> set[str]:
    """Codes that the sources write: `code=...`, `{"code": ...}`, and calls of functions that take a `code`."""
    trees = list(_trees())
    takers = _takes_code(trees)
    found: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            found |= {code for key, value in pairs if "code" in _literal(key) for code in _literal(value)}
        if isinstance(node, ast.Call):
            found |= {code for keyword in node.keywords if keyword.arg == "code" for code in _literal(keyword.value)}
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in takers and len(node.args) > takers[name]:
                found |= set(_literal(node.args[takers[name]]))
    return found


def _strings() -> set[str]:
    return {
        node.value
        for tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _made() -> list[re.Pattern[str]]:
    """Patterns of the codes that are put together: `code=f"{word}-missing"`."""
    keywords = (node for tree in _trees() for node in ast.walk(tree) if isinstance(node, ast.keyword))
    joined = (word.value for word in keywords if word.arg == "code" and isinstance(word.value, ast.JoinedStr))
    return [
        re.compile(
            "".join(re.escape(part.value) if isinstance(part, ast.Constant) else "[a-z]+" for part in text.values)
        )
        for text in joined
    ]


def test_every_code_in_use_is_explained() -> None:
    assert sorted(_used() - CODES.keys()) == []


def test_every_explained_code_is_in_use() -> None:
    unused = CODES.keys() - _strings()
    assert sorted(code for code in unused if not any(made.fullmatch(code) for made in _made())) == []


def test_the_table_is_sorted() -> None:
    assert list(CODES) == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_an_explanation_is_whole_sentences(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
    text = CODES[code]
    assert len(text.split()) >= 8
    assert "  " not in text
    assert run(["explain", code], {}) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown == f"{code} {' '.join(text.split())}"


def test_an_unknown_code_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "no-serve"], {}) == 3
    assert "the nearest is no-server: berth explain no-server" in capsys.readouterr().err


def test_every_reason_of_the_surface_is_explained() -> None:
    assert set(get_args(WaitReason)) == WAITING.keys()
    assert set(get_args(EndReason)) - {""} == ENDED.keys()
    assert {word: REASONS[word] for word in REASONS.keys() & CODES.keys()} == {"wrong-cards": CODES["wrong-cards"]}


@pytest.mark.parametrize("word", REASONS)
def test_a_reason_is_explained_as_a_code_is(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", word], {}) == 0
    assert " ".join(capsys.readouterr().out.split()) == f"{word} {REASONS[word]}"


def test_a_misspelled_reason_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "free-card"], {}) == 3
    assert "the nearest is free-cards: berth explain free-cards" in capsys.readouterr().err
