"""Whatever is done to a file, the answer is a draft or problems with codes and places: never a traceback."""

import random

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from berth.compose import decode_jobs, draft_job, merged_stack, read_job, read_stack
from berth.compose.template import BadTemplate, substitute
from berth.model.codes import CODES
from berth.model.draft import Bundle, Needs, SourceFile
from berth.model.errors import BerthError, settle
from tests.compose.damage import SEEDS, damaged
from tests.compose.loading import FACTS, load
from tests.compose.measured import RESET, Measured
from tests.effort import WHOLE, examples

FILES = 10_000 if WHOLE else 300
MANY = settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def checked(problems: tuple[object, ...]) -> None:
    for problem in problems:
        code, message = problem.code, problem.message  # type: ignore[attr-defined]
        assert code in CODES
        assert message
        assert msgspec.json.encode(problem)


def answered(data: bytes, lint: bool) -> None:
    """The server's answer to a file, as a stack (to deploy, or to show), and as a job: drafts, or problems."""
    given: dict[str, object] = {}
    try:
        for _ in range(3):
            loaded = read_stack(Bundle(files=(SourceFile("f.yml", data),), directory="/d", **given), "st", FACTS, lint)
            needs = loaded.needs
            given = {
                "variables": {**given.get("variables", {}), **dict.fromkeys(needs.variables, "1")},  # type: ignore[dict-item]
                "extra": {path: SourceFile(path, b"A=1\nB\n") for path in needs.files},
                "contents": {path: SourceFile(path, b"x") for path in needs.contents},
            }
        assert msgspec.json.encode([draft.spec for draft in loaded.drafts])
        told = (*loaded.problems, *loaded.refusals, *loaded.warnings)
        shown = merged_stack(Bundle(files=(SourceFile("f.yml", data),), directory="/d", **given), FACTS)
        assert shown.text or shown.needs != Needs()
        settle(loaded.problems, loaded.refusals)
    except BerthError as error:
        told = error.problems
    checked(told)
    try:
        draft = read_job(data, "f.yml", FACTS, lint)
        checked((*draft.problems, *draft.refusals, *draft.warnings))
        assert msgspec.json.encode(draft.spec)
    except BerthError as error:
        checked(error.problems)


@pytest.mark.skipif(not RESET.exists(), reason="the peak of memory is read as Linux tells it")
@pytest.mark.timeout(900)
@settings(max_examples=FILES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.sampled_from(SEEDS), st.integers(0, 2**63), st.booleans())
def test_a_damaged_file_gives_drafts_or_problems_soon_and_in_little_memory(
    seed: bytes, number: int, lint: bool
) -> None:
    data = damaged(seed, random.Random(number))
    with Measured() as measured:
        answered(data, lint)
    measured.assert_small()


KEYS = st.sampled_from(
    [
        "image", "command", "environment", "env_file", "user", "group_add", "secrets", "configs", "networks", "volumes",
        "healthcheck", "labels", "deploy", "gpus", "runtime", "x-berth", "restart", "shm_size", "stop_grace_period",
        "resources", "reservations", "devices", "placement", "constraints", "count", "device_ids", "capabilities",
        "time", "generic_resources", "discrete_resource_spec", "restart_policy", "external",
        "name", "source", "target", "test",
    ]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**65) | st.floats() | st.text(max_size=6)
    | st.sampled_from(["all", "1g", "5s", "gpu", "a=b", "/a:/b", "node.id == x", "gpu.free >= 2", "NV_GPU=0", "$$"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@MANY
@given(
    st.dictionaries(KEYS, VALUES, max_size=6), st.sampled_from(["networks", "secrets", "volumes", "x-berth"]), VALUES
)
@example({"image": "x", "deploy": {"resources": {"reservations": {"devices": [{"count": [1]}]}}}}, "volumes", None)
def test_any_values_under_any_keys(service: dict[str, object], section: str, value: object) -> None:
    import yaml

    text = yaml.safe_dump({"services": {"a": {"image": "x", **service}}, section: value})
    try:
        load(text)
    except BerthError as error:
        checked(error.problems)
    try:
        found, _ = decode_jobs(msgspec.json.encode({"image": "x", **service}))
        draft_job(found[0], FACTS)
    except BerthError as error:
        checked(error.problems)


@MANY
@given(st.text("$${}:-?+AB_1 ", max_size=40))
def test_any_template_is_substituted_or_refused_with_a_place(text: str) -> None:
    found: str | BadTemplate
    try:
        found = substitute(text, {"A": "x", "B": ""}.get)
    except BadTemplate as bad:
        found = bad
    if isinstance(found, BadTemplate):
        assert 0 <= found.at < len(text)
        assert found.hint
    else:
        assert "$" in text or found == text
