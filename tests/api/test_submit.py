"""Jobs and stacks through the API: one, many, a file, a bundle; plans; what comes twice; how fast."""

import asyncio
import base64
import time
from pathlib import Path
from typing import Any

import pytest

from tests.api.lab import Lab, lab, node_with, running

JOB = {"image": "busybox:1", "command": ["sleep", "1"], "gpus": 1, "name": "train"}


async def test_one_job_is_accepted_and_waits(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with()) as api:
        status, job, _ = await api.call("POST", "/v1/jobs", "user", json=JOB)
        assert (status, job["name"], job["state"], job["user"], job["gpus"]) == (201, "train", "waiting", "user", 1)
        assert [task["slot"] for task in job["tasks"]] == [1]
        assert (await api.get(f"/v1/jobs/{job['id']}"))["image"] == "busybox:1"
        assert [event["kind"] for event in (await api.get("/v1/events"))["items"]] == ["submitted"]


async def test_a_list_is_taken_whole_or_not_at_all(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with()) as api:
        status, jobs, _ = await api.call("POST", "/v1/jobs", json=[JOB, {**JOB, "name": "eval"}])
        assert (status, [job["name"] for job in jobs]) == (201, ["train", "eval"])
        status, value, _ = await api.call("POST", "/v1/jobs", json=[JOB, {**JOB, "constraints": ["node.label.x == 1"]}])
        assert status == 422
        assert value["errors"][0]["field"].startswith("[1].constraints")
        assert len(api.control.cluster.jobs) == 2


async def test_a_job_file_is_read_with_its_lines(tmp_path: Path) -> None:
    headers = {"Content-Type": "application/yaml", "X-Berth-File": "jobs/train.yaml"}
    async with lab(tmp_path, node_with()) as api:
        good = b"name: train\nimage: busybox:1\ngpus: 2\n"
        status, job, _ = await api.call("POST", "/v1/jobs", data=good, headers=headers)
        assert (status, job["name"], job["gpus"]) == (201, "train", 2)
        bad = b"name: train\nimage: busybox:1\ngpuss: 2\n"
        status, value, _ = await api.call("POST", "/v1/jobs", data=bad, headers=headers)
    assert status == 422
    assert (value["errors"][0]["file"], value["errors"][0]["line"]) == ("jobs/train.yaml", 3)


async def test_more_cards_than_any_node_has_is_refused(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(cards=2)) as api:
        status, value, _ = await api.call("POST", "/v1/jobs", json={**JOB, "gpus": 3})
        assert (status, value["exit_code"], value["errors"][0]["code"]) == (422, 2, "too-many-cards")
        assert api.control.cluster.jobs == {}


async def test_what_gives_way_is_told_with_the_job_and_with_its_plan(tmp_path: Path) -> None:
    greedy = {**JOB, "gpus": 1, "env": {"NVIDIA_VISIBLE_DEVICES": "all", "DOCKER_RESOURCE_GPU": "0"}}
    async with lab(tmp_path, node_with(cards=2)) as api:
        _, plan, _ = await api.call("POST", "/v1/jobs?plan=1", json=greedy)
        assert [one["code"] for one in plan["warnings"]] == ["gpu-overwritten", "gpu-variable"]
        status, job, _ = await api.call("POST", "/v1/jobs", json=greedy)
    assert status == 201
    assert [text.split()[0] for text in job["warnings"]] == ["NVIDIA_VISIBLE_DEVICES=all", "DOCKER_RESOURCE_GPU"]


async def test_a_plan_creates_nothing(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(cards=2), *running()]) as api:
        status, plan, _ = await api.call("POST", "/v1/jobs?plan=1", json=[JOB, {**JOB, "name": "eval"}])
        assert status == 200
        assert [(job["name"], job["change"]) for job in plan["jobs"]] == [("train", "create"), ("eval", "create")]
        starts = [task["starts"] for job in plan["jobs"] for task in job["tasks"]]
        assert starts == ["now", "waits"]
        assert plan["jobs"][0]["tasks"][0]["cards"] == ["GPU-gpu-1-1"]
        assert list(api.control.cluster.jobs) == ["j1"]


@pytest.mark.parametrize("store", ["memory:", "sqlite:///{}/berth.db"])
async def test_a_submit_under_one_key_creates_once_and_outlives_the_server(tmp_path: Path, store: str) -> None:
    key = {"Idempotency-Key": "k1"}
    url = store.format(tmp_path)
    async with lab(tmp_path, node_with(), url) as api:
        answers = await asyncio.gather(*(api.call("POST", "/v1/jobs", json=JOB, headers=key) for _ in range(4)))
        assert {status for status, _, _ in answers} == {201}
        assert len({value["id"] for _, value, _ in answers}) == 1
        assert len(api.control.cluster.jobs) == 1
        secrets = api.secrets
    if store == "memory:":
        return
    async with lab(tmp_path, (), url) as api:
        api.secrets = secrets
        status, value, headers = await api.call("POST", "/v1/jobs", json=JOB, headers=key)
        assert (status, value["id"], headers["Idempotent-Replayed"]) == (201, answers[0][1]["id"], "true")
        assert len(api.control.cluster.jobs) == 1


async def test_credentials_travel_in_a_header_and_are_kept_in_memory_only(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(), f"sqlite:///{tmp_path}/berth.db") as api:
        _, job, _ = await api.call("POST", "/v1/jobs", json=JOB, headers={"X-Registry-Auth": "c2VjcmV0LWxvZ2lu"})
        assert api.control.credentials == {job["id"]: "c2VjcmV0LWxvZ2lu"}
    assert b"c2VjcmV0LWxvZ2lu" not in b"".join(path.read_bytes() for path in tmp_path.glob("berth.db*"))


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 422), (b"{", 422), (b"[]", 422), (b"null", 422), (b'{"image": 3}', 422), (b"\xff\xfe", 422)],
)
async def test_a_body_that_is_no_job_is_refused(tmp_path: Path, body: bytes, status: int) -> None:
    async with lab(tmp_path) as api:
        got, value, _ = await api.call("POST", "/v1/jobs", data=body, headers={"Content-Type": "application/json"})
        assert (got, value["exit_code"]) == (status, 2)


def bundle(text: str, **more: Any) -> dict[str, Any]:
    """A bundle of one file."""
    return {"files": [{"path": "stack.yml", "data": base64.b64encode(text.encode()).decode()}], **more}


async def _plan_stack(api: Lab, text: str, **more: Any) -> tuple[int, Any, Any]:
    return await api.call("POST", "/v1/stacks?plan=1", json={"name": "s", "bundle": bundle(text, **more)})


async def test_a_stack_is_parsed_by_the_server_which_says_what_it_must_see(tmp_path: Path) -> None:
    text = "services:\n  web:\n    image: busybox:${TAG}\n    gpus: 1\n"
    async with lab(tmp_path, node_with()) as api:
        status, value, _ = await _plan_stack(api, text)
        assert (status, value) == (200, {"needs": {"files": [], "variables": ["TAG"], "contents": []}})
        status, value, _ = await _plan_stack(api, "services:\n  web:\n    image: a\n    gpuz: 1\n")
        assert (status, value["errors"][0]["file"], value["errors"][0]["line"]) == (422, "stack.yml", 4)


async def test_a_thousand_jobs_in_one_list_and_by_eight_clients(tmp_path: Path) -> None:
    """The figures are for two idle cores; here they only have to be of that order."""
    async with lab(tmp_path, node_with(), f"sqlite:///{tmp_path}/berth.db") as api:
        began = time.perf_counter()
        status, jobs, _ = await api.call("POST", "/v1/jobs", json=[{**JOB, "name": f"n{n}"} for n in range(1000)])
        listed = time.perf_counter() - began
        assert (status, len(jobs)) == (201, 1000)

        async def client(mine: int) -> None:
            for n in range(125):
                key = {"Idempotency-Key": f"{mine}-{n}"}
                assert (await api.call("POST", "/v1/jobs", json={**JOB, "name": f"c{mine}-{n}"}, headers=key))[0] == 201

        began = time.perf_counter()
        await asyncio.gather(*(client(mine) for mine in range(8)))
        single = time.perf_counter() - began
        assert len(api.control.cluster.jobs) == 2000
    print(f"list {listed:.3f} s, single {single:.3f} s")
    assert listed < 5.0
    assert single < 20.0
