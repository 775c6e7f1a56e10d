"""Job files and job bodies: what each key means, what is refused, and the time that a thousand take."""

import time
from typing import Any

import msgspec
import pytest

from berth.compose import decode_jobs, draft_job
from berth.model.errors import BadInput, Refused
from berth.model.spec import FileRef, Limits, Mount, Restart, TaskSpec
from tests.compose.loading import ADMIN, FACTS, job, job_problems

S = 10**9


def body(**fields: Any) -> bytes:
    return msgspec.json.encode({"image": "x", **fields})


def test_an_image_is_enough() -> None:
    draft = job("image: x\n")
    assert (draft.name, draft.service, draft.queue, draft.priority, draft.native) == ("", "", "default", 50, False)
    assert draft.spec == TaskSpec(image="x")


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("command: [python, a.py, 3]", "args", ("python", "a.py", "3")),
        ("command: python a.py 'b c'", "args", ("python", "a.py", "b c")),
        ("env: {B: x, A: 1, F: 1.10}", "env", (("A", "1"), ("B", "x"), ("F", "1.10"))),
        ("env: [A=1, B]", "env", (("A", "1"), ("B", None))),
        ("volumes: ['/a:/b:ro', 'data:/d']", "mounts",
         (Mount(kind="bind", source="/a", target="/b", read_only=True),
          Mount(kind="volume", source="data", target="/d"))),
        ("secrets: [a]", "secrets", (FileRef(source="a", target="a"),)),
        ("user: 1001", "user", "1001"),
        ("shm_size: 8g", "shm_bytes", 2**33),
        ("resources: {limits: {cpus: 4, memory: 16G, pids: 9}}", "limits", Limits(4 * S, 2**34, 9)),
        ("restart: {condition: on-failure, delay: 1m, max_attempts: 3}", "restart", Restart("on-failure", 60.0, 3)),
        ("restart: {condition: any, window: 5s}", "restart", Restart("any", 5.0, None, 5.0)),
        ("time: 1h30m", "time_limit_s", 5400.0),
        ("", "restart", Restart()),
    ],
)  # fmt: skip
def test_carried(text: str, field: str, value: object) -> None:
    assert getattr(job(f"image: x\n{text}\n").spec, field) == value


@pytest.mark.parametrize(
    ("fields", "cards", "constraints"),
    [
        ({"gpus": 2}, 2, ()),
        ({"gpus": "2"}, 2, ()),
        ({"gpus": 2.0}, 2, ()),
        ({"gpus": 0}, 0, ()),
        ({"gpus": "all"}, "all", ()),
        ({}, 0, ()),
        ({"model": "A100"}, 1, ("gpu.model == A100",)),
        ({"model": "NVIDIA Tesla V100", "gpus": 2}, 2, ("gpu.model == Tesla-V100",)),
        ({"constraints": ["gpu.free >= 2"]}, 2, ("gpu.free >= 2",)),
        ({"env": {"NV_GPU": "0,3"}}, ("0", "3"), ()),
        ({"env": {"NVIDIA_VISIBLE_DEVICES": "1"}}, ("1",), ()),
        ({"env": {"NVIDIA_VISIBLE_DEVICES": "1"}, "gpus": 1}, 1, ()),
    ],
)
def test_cards(fields: dict[str, Any], cards: object, constraints: tuple[str, ...]) -> None:
    (read,), _ = decode_jobs(body(**fields))
    request = draft_job(read, FACTS).spec.request
    assert ("all" if request.all_matching else request.named or request.gpus) == cards
    assert request.constraints == constraints


def test_warnings_are_kept_with_the_draft() -> None:
    (read,), _ = decode_jobs(body(gpus=1, env={"NVIDIA_VISIBLE_DEVICES": "all", "DOCKER_RESOURCE_GPU": "x"}))
    draft = draft_job(read, FACTS)
    assert [warning.code for warning in draft.warnings] == ["gpu-overwritten", "gpu-variable"]
    assert draft.spec.env == ()


@pytest.mark.parametrize(
    ("text", "code", "field", "line", "column"),
    [
        ("imag: y", "unknown-key", "imag", 2, 1),
        ("array: {from: 1, to: 9}", "key-not-carried", "array", 2, 1),
        ("roles: []", "key-not-carried", "roles", 2, 1),
        ("resources: {limits: {cpu: 3}}", "unknown-key", "resources.limits.cpu", 2, 22),
        ("restart: {retries: 3}", "unknown-key", "restart.retries", 2, 11),
        ("name: [a]", "wrong-type", "name", 2, 1),
        ("name: a b", "bad-job-name", "name", 2, 7),
        ("gpus: -1", "gpu-count", "gpus", 2, 7),
        ("gpus: 0.5", "gpu-count", "gpus", 2, 7),
        ("gpus: 8GiB", "gpu-count", "gpus", 2, 7),
        ("gpus: 2x0.5", "gpu-count", "gpus", 2, 7),
        ("gpus: {min: 1, max: 2}", "gpu-count", "gpus", 2, 1),
        ("gpus: few", "gpu-count", "gpus", 2, 7),
        ("env: {A: true}", "wrong-type", "env.A", 2, 10),
        ("env: {A: [1]}", "wrong-type", "env", 2, 1),
        ("env: ['=3']", "bad-value", "env", 2, 1),
        ("constraints: [node.role = a]", "bad-constraint", "constraints.0", 2, 25),
        ("volumes: ['./a:/b']", "bad-mount", "volumes.0", 2, 12),
        ("secrets: ['a/b']", "bad-value", "secrets.0", 2, 12),
        ("resources: {reservations: {memory: much}}", "bad-value", "resources.reservations.memory", 2, 36),
        ("restart: {condition: always}", "bad-value", "restart.condition", 2, 22),
        ("restart: {max_attempts: -1}", "out-of-range", "restart.max_attempts", 2, 25),
        ("time: 7200", "bad-value", "time", 2, 7),
        ("time: 0s", "bad-value", "time", 2, 7),
        ("queue: vision", "unknown-queue", "queue", 2, 8),
        ("priority: 90", "key-not-carried", "priority", 2, 11),
        ("command: \"a 'b\"", "bad-value", "command", 2, 11),
        ("model: '***'", "bad-value", "model", 2, 9),
    ],
)  # fmt: skip
def test_refused_with_the_line(text: str, code: str, field: str, line: int, column: int) -> None:
    (problem,) = job_problems(f"image: x\n{text}\n")
    assert (problem.code, problem.field, problem.line, problem.column) == (code, field, line, column)
    assert (problem.file, problem.excerpt) == ("job.yml", text)
    assert problem.hint


def test_a_file_without_an_image_and_with_more_mistakes() -> None:
    found = job_problems("name: 3.5\ngpu: 1\nenv: 3\nuser: [1]\n")
    assert [problem.code for problem in found] == ["image-missing", "unknown-key", "wrong-type", "wrong-type"]
    assert found[1].hint == "Write gpus"


def test_mounts_of_a_job_are_guarded_like_those_of_a_stack() -> None:
    (read,), _ = decode_jobs(body(volumes=["/var/run/docker.sock:/s"]))
    assert draft_job(read, ADMIN).spec.mounts[0].source == "/var/run/docker.sock"
    with pytest.raises(Refused):
        draft_job(read, FACTS)
    (read,), _ = decode_jobs(body(volumes=["/dev/nvidia0:/dev/nvidia0"]))
    with pytest.raises(Refused):
        draft_job(read, ADMIN)


@pytest.mark.parametrize(
    ("data", "code", "field", "hint"),
    [
        (b'{"imag": "x"}', "unknown-key", "imag", "Write image"),
        (b"{}", "image-missing", "image", "Write image: NAME:TAG"),
        (b'{"image": "x", "array": {}}', "key-not-carried", "array", "It comes with a later version; leave it out."),
        (b'{"image": 5}', "wrong-type", "image", "Write text."),
        (b'[{"image": "x"}, {"image": "x", "gpus": [1]}]', "gpu-count", "[1].gpus", None),
        (b'[{"image": "x", "resources": {"limits": {"cpu": 1}}}]',
         "unknown-key", "[0].resources.limits.cpu", "Write cpus"),
        (b"{", "bad-json", "", None),
        (b"\xff\xff", "bad-json", "", None),
        (b"", "bad-json", "", None),
        (b"[" * 100_000, "wrong-type", "[0]", None),
        (b'"x"', "wrong-type", "", None),
    ],
)  # fmt: skip
def test_bodies_that_are_refused(data: bytes, code: str, field: str, hint: str | None) -> None:
    with pytest.raises(BadInput) as caught:
        decode_jobs(data)
    (problem,) = caught.value.problems
    assert (problem.code, problem.field) == (code, field)
    assert hint in (None, problem.hint)
    assert problem.message


def test_one_job_or_a_list() -> None:
    assert decode_jobs(body())[1] is False
    found, many = decode_jobs(b"[" + body() + b"," + body(name="b") + b"]")
    assert ([one.name for one in found], many) == (["", "b"], True)


def test_a_thousand_jobs_are_read_fast() -> None:
    """The promise is 150 ms on an idle machine; a busy one gets the best of several tries."""
    one = {
        "image": "busybox:1.36", "command": ["sleep", "5"], "gpus": 1, "constraints": ["gpu.memory >= 40GiB"],
        "env": {"A": "1"}, "volumes": ["/data:/data:ro"], "resources": {"limits": {"cpus": "4", "memory": "16G"}},
        "restart": {"condition": "on-failure", "delay": "5s", "max_attempts": 3}, "time": "2h",
    }  # fmt: skip
    data = msgspec.json.encode([one | {"name": f"j{n}"} for n in range(1000)])

    def seconds() -> float:
        began = time.perf_counter()
        drafts = [draft_job(read, FACTS) for read in decode_jobs(data)[0]]
        assert len(drafts) == 1000
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) < 0.150


def test_more_constraints_than_a_hundred_are_refused_at_the_first_too_many() -> None:
    rules = [f"node.labels.zone != z{n}" for n in range(101)]
    lines = "".join(f"  - {rule}\n" for rule in rules)
    (problem,) = job_problems(f"image: x\nconstraints:\n{lines}")
    assert (problem.code, problem.field, problem.line) == ("too-many-constraints", "constraints", 103)
    kept = job("image: x\nconstraints:\n" + "".join(f"  - {rule}\n" for rule in rules[:100]))
    assert kept.spec.request.constraints == tuple(rules[:100])


def test_a_value_of_env_that_is_no_text_is_told_in_plain_words() -> None:
    (problem,) = job_problems("image: x\nenv: {A: [1]}\n")
    assert (problem.message, problem.hint) == ("a value of env is a list, not text.", "Write text.")
