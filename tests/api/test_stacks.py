"""Stacks through the API, on the simulated engine: plan, deploy, deploy again, list, remove."""

import base64
from pathlib import Path
from typing import Any

from berth.engines.simulated import SimulatedEngine
from berth.main.clock import SystemClock
from tests.api.lab import Lab, lab, node_with

FILE = """\
services:
  web:
    image: registry.example.org/web:1
    gpus: 1
    deploy: {replicas: 2, restart_policy: {condition: none}}
  db:
    image: postgres:16
    deploy: {restart_policy: {condition: none}}
"""


def engine() -> SimulatedEngine:
    return SimulatedEngine((), SystemClock())


def body(text: str = FILE, **more: Any) -> dict[str, Any]:
    """A deployment of one file."""
    file = {"path": "stack.yml", "data": base64.b64encode(text.encode()).decode()}
    return {"name": "s", "bundle": {"files": [file]}, **more}


async def _deploy(api: Lab, text: str = FILE, query: str = "", role: str = "user", **more: Any) -> tuple[int, Any]:
    status, value, _ = await api.call("POST", f"/v1/stacks{query}", role, json=body(text, **more))
    return status, value


async def test_a_plan_says_what_each_task_would_do(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(cards=1), engine=engine()) as api:
        status, plan = await _deploy(api, query="?plan=1")
        assert status == 200
        found = {job["name"]: [task["starts"] for task in job["tasks"]] for job in plan["jobs"]}
        assert found == {"s_web": ["now", "waits"], "s_db": ["now"]}
        assert {job["change"] for job in plan["jobs"]} == {"create"}
        assert (await api.get("/v1/stacks"))["items"] == []


async def test_deploying_again_changes_only_what_changed(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(), engine=engine()) as api:
        status, first = await _deploy(api)
        assert (status, first["name"], first["changes"]) == (201, "s", {"s_db": "create", "s_web": "create"})
        assert [job["stack"] for job in first["jobs"]] == ["s", "s"]
        status, again = await _deploy(api)
        assert (status, again["changes"]) == (200, {"s_db": "keep", "s_web": "keep"})
        status, changed = await _deploy(api, FILE.replace("web:1", "web:2").replace("replicas: 2", "replicas: 3"))
        assert (status, changed["changes"]) == (200, {"s_db": "keep", "s_web": "update"})
        assert [job["id"] for job in changed["jobs"]] == [job["id"] for job in first["jobs"]]
        assert [job["replicas"] for job in changed["jobs"]] == [1, 3]


async def test_credentials_go_to_the_jobs_whose_registry_they_are_for(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(), engine=engine()) as api:
        _, made = await _deploy(api, auth={"registry.example.org": "bG9naW4"})
        ids = {job["name"]: job["id"] for job in made["jobs"]}
        assert api.control.credentials == {ids["s_web"]: "bG9naW4"}


async def test_stacks_are_listed_shown_and_removed(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(), engine=engine()) as api:
        await _deploy(api)
        (listed,) = (await api.get("/v1/stacks"))["items"]
        figures = {key: listed[key] for key in ("name", "user", "services", "tasks", "running", "waiting")}
        assert figures == {"name": "s", "user": "user", "services": 2, "tasks": 3, "running": 0, "waiting": 3}
        assert [job["name"] for job in (await api.get("/v1/stacks/s"))["items"]] == ["s_db", "s_web"]
        status, plan, _ = await api.call("DELETE", "/v1/stacks/s", "user")
        assert (status, {job["change"] for job in plan["jobs"]}) == (200, {"remove"})
        assert {job["state"] for job in (await api.get("/v1/jobs?all=1"))["items"]} == {"cancelled"}
        status, value, _ = await api.call("DELETE", "/v1/stacks/none", "user")
        assert (status, value["errors"][0]["code"]) == (404, "no-such-stack")


async def test_anothers_stack_is_not_changed(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(), engine=engine()) as api:
        await _deploy(api, role="admin")
        status, value = await _deploy(api, FILE.replace("web:1", "web:2"))
        assert (status, value["errors"][0]["code"]) == (403, "not-yours")
        status, value, _ = await api.call("DELETE", "/v1/stacks/s", "user")
        assert (status, value["errors"][0]["code"]) == (403, "not-yours")
