"""Whatever is sent, the answer is one of the API's own: never a 500, never another form."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from berth.engines.simulated import SimulatedEngine
from berth.main.clock import SystemClock
from tests.api.lab import Lab, lab, node_with, running, waiting
from tests.effort import examples

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
WORDS = ["image", "gpus", "model", "constraints", "env", "volumes", "secrets", "user", "resources", "restart", "time",
         "name", "queue", "priority", "command", "shm_size", "replicas", "reason", "move", "grace_s", "uuid", "role",
         "node", "bundle", "auth", "files", "variables", "path", "data"]  # fmt: skip
BODY = st.dictionaries(st.sampled_from(WORDS), PLAIN, max_size=6)
NAMED = st.text(max_size=30) | st.sampled_from(["user", "gpu-1", "GPU-gpu-1-0", "j1"])
NEARLY = st.one_of(
    BODY.map(lambda body: {"image": "a:1"} | body),
    st.fixed_dictionaries({"image": NAMED, "name": NAMED, "constraints": st.lists(NAMED, max_size=2)}),
    st.fixed_dictionaries({"role": st.sampled_from(["user", "admin", "agent"]), "name": NAMED, "node": NAMED}),
    st.fixed_dictionaries({"uuid": NAMED, "reason": NAMED}),
    st.fixed_dictionaries({"replicas": st.integers(-(2**70), 50)}),
    st.fixed_dictionaries({"reason": NAMED, "move": st.booleans(), "grace_s": st.floats(-5, 1e300) | st.none()}),
)
LINES = ["services:", "  web:", "    image: a:1", "    gpus: all", "  x: &a [1]", "    deploy: {replicas: 2}", "\t",
         "<<: *a", "    environment: ['A=${B:-c}']", "    command: |", "---", "    x-berth: {gpus: 2}", "    gpus: -1",
         "\xe9"]  # fmt: skip
TEXTS = st.lists(st.sampled_from(LINES), max_size=9).map(lambda lines: "\n".join(lines).encode("latin-1"))
FILES = st.lists(
    st.fixed_dictionaries(
        {"path": NAMED, "data": (TEXTS | st.binary(max_size=40)).map(lambda data: base64.b64encode(data).decode())}
    ),
    max_size=2,
)
NEARLY |= st.fixed_dictionaries({"name": NAMED, "bundle": st.fixed_dictionaries({"files": FILES})})
JSON = (NEARLY | BODY | st.lists(BODY, max_size=3) | PLAIN).map(lambda value: json.dumps(value).encode())
BYTES = JSON | st.binary(max_size=60)
POSTS = ["/v1/jobs", "/v1/jobs?plan=1", "/v1/stacks", "/v1/stacks?plan=1", "/v1/tokens", "/v1/jobs/j1/scale",
         "/v1/jobs/j2/hold", "/v1/nodes/gpu-1/drain", "/v1/nodes/gpu-1/fence", "/v1/cards/fence",
         "/v1/cards/unfence"]  # fmt: skip
GETS = ["/v1/cards", "/v1/nodes", "/v1/jobs", "/v1/queue", "/v1/gpus", "/v1/stacks", "/v1/tokens", "/v1/events",
        "/v1/jobs/j1/logs", "/v1/jobs/j1/history", "/v1/jobs/j1"]  # fmt: skip
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30) | st.integers(-3, 2**70).map(str)
MANY = settings(
    max_examples=examples(400),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@pytest.fixture
async def api(tmp_path: Any) -> AsyncIterator[Lab]:
    put = [*node_with(), *running(), *waiting("j2")]
    async with lab(tmp_path, put, engine=SimulatedEngine((), SystemClock())) as found:
        yield found


def _one_of_ours(status: int, value: Any) -> None:
    assert status < 500, value
    if status >= 400:
        assert set(value) == {"errors", "exit_code"}
        assert value["exit_code"] in (2, 3, 4)
        assert all(error["code"] and error["message"] for error in value["errors"])
        assert all(error["code"] != "bug" for error in value["errors"])


LONE = b'{"image": "\\ud800", "name": "\\u0000", "reason": "\\ud800", "uuid": "\\ud800", "role": "user"}'


@example(path="/v1/jobs", body=LONE, kind="application/json")
@example(path="/v1/tokens", body=LONE, kind="application/json")
@example(path="/v1/cards/fence", body=LONE, kind="application/json")
@example(path="/v1/jobs", body=b"image: a\nname: \x00", kind="application/yaml")
@example(path="/v1/jobs", body=b"[" * 100_000, kind="application/json")
@example(path="/v1/jobs", body=b"[" * 10_000, kind="application/yaml")
@given(
    path=st.sampled_from(POSTS), body=BYTES, kind=st.sampled_from(["application/json", "application/yaml", "", "x/y"])
)
@MANY
async def test_any_body(api: Lab, path: str, body: bytes, kind: str) -> None:
    status, value, _ = await api.call("POST", path, data=body, headers={"Content-Type": kind})
    _one_of_ours(status, value)


@given(path=st.sampled_from(GETS), name=st.sampled_from(["limit", "cursor", "after", "since", "tail", "slot", "all",
       "wait", "timeout", "stack", "user", "job", "follow"]), value=TEXT)  # fmt: skip
@MANY
async def test_any_query(api: Lab, path: str, name: str, value: str) -> None:
    if (name, path[-5:]) == ("follow", "/logs") or (name == "wait" and path.endswith("j1")):
        return  # these wait, as they should
    status, body, _ = await api.call("GET", path, params={name: value})
    _one_of_ours(status, body)


@given(rest=TEXT, method=st.sampled_from(["GET", "POST", "DELETE", "PATCH", "PUT"]))
@MANY
async def test_any_path(api: Lab, rest: str, method: str) -> None:
    for path in ("/", "/v1/", "/v1/jobs/", "/v1/nodes/", "/v1/stacks/", "/v1/tokens/"):
        status, body, _ = await api.call(method, path + rest.replace("?", "").replace("#", "").lstrip("/"))
        _one_of_ours(status, body)


@given(
    cursor=st.lists(PLAIN, max_size=4).map(lambda rows: base64.urlsafe_b64encode(json.dumps(rows).encode()).decode())
)
@MANY
async def test_any_cursor(api: Lab, cursor: str) -> None:
    for path in ("/v1/cards", "/v1/nodes", "/v1/jobs?all=1&", "/v1/queue", "/v1/tokens", "/v1/jobs/j1/history"):
        status, body, _ = await api.call("GET", f"{path}{'' if '?' in path else '?'}cursor={cursor}")
        _one_of_ours(status, body)
