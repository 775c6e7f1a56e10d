"""Whatever is done to a file, the answer is a draft or problems with codes and places: never a traceback."""

import random
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from berth.compose import decode_jobs, draft_job, load_job, load_stack
from berth.compose.template import BadTemplate, substitute
from berth.model.codes import CODES
from berth.model.draft import Bundle, SourceFile
from berth.model.errors import BerthError
from tests.compose.loading import FACTS, load
from tests.effort import examples

EXAMPLES = Path(__file__).parents[2] / "examples"
SEEDS = [path.read_bytes() for path in sorted(EXAMPLES.glob("*.yml"))]
PIECES = [
    b"\t", b"\n", b": ", b"- ", b"[", b"]", b"{", b"}", b"'", b'"', b"&a ", b"*a", b"<<: ", b"|\n", b"!!int ", b"~",
    b"-1", b"0.5", b"true", b"null", b"$X", b"${X:-", b"}", b"$$", b"\x00", b"\xff",
    b"\xef\xbb\xbf", b"---\n", b"...", b"# ",
    b"deploy:", b"services:", b"gpus: all", b"count: ", b"  ", b"9" * 30, b"1e400", b".inf", b"x-berth:", b"devices:",
    b"? ",
]  # fmt: skip
MANY = settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def mutated(seed: bytes, choice: random.Random) -> bytes:
    data = bytearray(seed)
    for _ in range(choice.randint(1, 6)):
        at = choice.randrange(len(data) + 1)
        span = choice.choice([0, 0, 1, 3, 20])
        insert = choice.choice([*PIECES, bytes(data[at : at + 30]), bytes([choice.randrange(256)]), b""])
        data[at : at + span] = insert
    return bytes(data)


def checked(problems: tuple[object, ...]) -> None:
    assert problems
    for problem in problems:
        code, message = problem.code, problem.message  # type: ignore[attr-defined]
        assert code in CODES
        assert message
        assert msgspec.json.encode(problem)


@MANY
@given(st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_a_damaged_file_gives_problems_or_drafts(seed: bytes, choice: random.Random) -> None:
    data = mutated(seed, choice)
    try:
        bundle = Bundle(files=(SourceFile("f.yml", data),))
        for _ in range(3):
            loaded = load_stack(bundle, "st", FACTS)
            needs = loaded.needs
            bundle = msgspec.structs.replace(
                bundle,
                variables=bundle.variables | dict.fromkeys(needs.variables, "1"),
                extra=bundle.extra | {path: SourceFile(path, b"A=1\nB\n") for path in needs.files},
            )
        assert msgspec.json.encode([draft.spec for draft in loaded.drafts])
    except BerthError as error:
        checked(error.problems)
    try:
        assert msgspec.json.encode(load_job(data, "f.yml", FACTS).spec)
    except BerthError as error:
        checked(error.problems)


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
