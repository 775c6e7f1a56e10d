"""All that is wrong comes in one answer: of the files, of what runs already, of the ledger and of the engine."""

from collections.abc import AsyncIterator

import pytest

from berth.compose import read_stack
from berth.control.commands import stacks
from berth.control.gather import Gathered
from berth.model.draft import LoadedStack
from berth.model.errors import BadInput, EngineError, Problem, Refused
from berth.store import make_store
from tests.compose.loading import FACTS, bundle
from tests.control.bench import ADMIN, Bench, bench

BEFORE = "services:\n  a: {image: x}\n  b: {image: x}\n"
AFTER = """services:
  a: {image: x, deploy: {mode: global}}
  b: {image: x, gpus: 99}
  c: {image: x, comand: y}
  d: {image: x, environment: {NV_GPU: 'GPU-ffff,31'}}
"""


def loaded(text: str) -> LoadedStack:
    """A stack file, with all that is wrong in it."""
    return read_stack(bundle(text), "app", FACTS)


@pytest.fixture
async def eight() -> AsyncIterator[Bench]:
    """A server with eight free cards."""
    async with bench(make_store("memory:")) as found:
        yield found


@pytest.mark.parametrize("act", [stacks.deploy, stacks.plan_stack])
async def test_files_what_runs_and_the_ledger_are_told_together_and_nothing_changes(eight: Bench, act: object) -> None:
    await stacks.deploy(eight.control, ADMIN, "app", loaded(BEFORE))
    jobs = dict(eight.control.cluster.jobs)
    with pytest.raises(BadInput) as caught:
        await act(eight.control, ADMIN, "app", loaded(AFTER))  # type: ignore[operator]
    assert [(one.line, one.code, one.field) for one in caught.value.problems] == [
        (2, "service-mode-changed", "services.a.deploy.mode"),
        (3, "too-many-cards", "services.b.gpus"),
        (4, "unknown-key", "services.c.comand"),
        (5, "unknown-card", "services.d.environment.NV_GPU"),
        (5, "unknown-card", "services.d.environment.NV_GPU"),
    ]
    assert all(one.file == "a.yml" and one.excerpt for one in caught.value.problems)
    assert eight.control.cluster.jobs == jobs


def problem(code: str, line: int) -> Problem:
    return Problem(code=code, message=code, file="f", line=line)


def test_refusals_alone_are_a_refusal_and_with_bad_input_bad_input() -> None:
    wrong = Gathered()
    with wrong.noting():
        raise Refused(problem("a", 2))
    with pytest.raises(Refused):
        wrong.finish()
    with wrong.noting():
        raise BadInput(problem("b", 1))
    with pytest.raises(BadInput) as caught:
        wrong.finish()
    assert [one.code for one in caught.value.problems] == ["b", "a"]


def test_an_engine_that_fails_is_told_only_where_nothing_else_is_wrong() -> None:
    with pytest.raises(EngineError), Gathered().noting():
        raise EngineError(problem("engine-away", 0))
    wrong = Gathered([problem("a", 1)])
    with wrong.noting():
        raise EngineError(problem("engine-away", 0))
    with pytest.raises(BadInput) as caught:
        wrong.finish()
    assert [one.code for one in caught.value.problems] == ["a"]


def test_nothing_wrong_raises_nothing() -> None:
    Gathered().finish()
