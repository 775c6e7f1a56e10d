"""What is changed through the API: jobs, nodes, cards, tokens; and a POST that comes twice."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from berth.api.answers import as_berth_error
from berth.engines.simulated import SimulatedEngine
from berth.main.clock import SystemClock
from berth.model.change import PutJob
from berth.ports import StoreBroken
from tests import build
from tests.api.lab import lab, node_with, running, waiting


async def test_hold_and_release_a_waiting_job(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *waiting("j1", user="user"), *running("j2", user="user")]) as api:
        status, job, _ = await api.call("POST", "/v1/jobs/j1/hold", "user")
        assert (status, job["state"], job["reason"], job["held"]) == (200, "waiting", "held", True)
        status, job, _ = await api.call("POST", "/v1/jobs/j1/release", "user")
        assert (status, job["held"]) == (200, False)
        status, value, _ = await api.call("POST", "/v1/jobs/j2/hold", "user")
        assert (status, value["exit_code"], value["errors"][0]["code"]) == (403, 4, "hold-running")


async def test_a_user_changes_only_own_jobs(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *waiting("j1", user="ann")]) as api:
        for method, path in (("DELETE", "/v1/jobs/j1"), ("POST", "/v1/jobs/j1/hold"), ("POST", "/v1/jobs/j1/requeue")):
            status, value, _ = await api.call(method, path, "user")
            assert (status, value["errors"][0]["code"]) == (403, "not-yours")


async def test_cancel_is_repeatable(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *waiting("j1", user="user")]) as api:
        for _ in range(2):
            status, job, _ = await api.call("DELETE", "/v1/jobs/j1", "user")
            assert (status, job["state"]) == (200, "cancelled")


async def test_what_swarm_places_itself_is_neither_held_nor_put_back(tmp_path: Path) -> None:
    async with lab(tmp_path, [PutJob(build.job("j1", native=True))]) as api:
        for path in ("hold", "requeue"):
            status, value, _ = await api.call("POST", f"/v1/jobs/j1/{path}")
            assert (status, value["errors"][0]["code"]) == (403, "native-service")


async def test_the_output_of_what_swarm_places_is_not_kept_once_the_service_is_gone(tmp_path: Path) -> None:
    async with lab(tmp_path, [PutJob(build.job("j1", native=True))]) as api:
        assert (await api.call("GET", "/v1/jobs/j1/logs"))[:2] == (200, b"")
        await api.commit(PutJob(build.job("j1", native=True, ended_at=2.0, version=2), was=1))
        status, value, _ = await api.call("GET", "/v1/jobs/j1/logs")
        assert (status, value["errors"][0]["code"]) == (403, "native-service")


async def test_scale_takes_a_number_from_zero_up(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *waiting("j1", user="user")]) as api:
        status, job, _ = await api.call("POST", "/v1/jobs/j1/scale", "user", json={"replicas": 3})
        assert (status, job["replicas"], [task["slot"] for task in job["tasks"]]) == (200, 3, [1, 2, 3])
        status, value, _ = await api.call("POST", "/v1/jobs/j1/scale", "user", json={"replicas": -1})
        assert (status, value["errors"][0]["code"]) == (422, "scale-negative")
        status, value, _ = await api.call("POST", "/v1/jobs/j1/scale", "user", json={"replicas": "many"})
        assert (status, value["errors"][0]["field"]) == (422, "replicas")


async def test_drain_and_undrain(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with()) as api:
        status, node, _ = await api.call("POST", "/v1/nodes/gpu-1/drain", json={"reason": "driver"})
        assert (status, node["state"], node["reason"]) == (200, "draining", "draining: driver")
        status, node, _ = await api.call("POST", "/v1/nodes/gpu-1/undrain")
        assert (status, node["state"]) == (200, "ready")
        status, value, _ = await api.call("POST", "/v1/nodes/gpu-1/fence", json={"reason": "off"})
        assert (status, value["errors"][0]["code"]) == (403, "fence-alive")


async def test_a_card_with_a_slash_in_its_uuid_is_fenced(tmp_path: Path) -> None:
    from berth.model.change import PutCard
    from tests import build

    put = [*node_with(cards=0), PutCard(build.card(uuid="gpu-1/0", declared=True))]
    async with lab(tmp_path, put) as api:
        status, card, _ = await api.call("POST", "/v1/cards/fence", json={"uuid": "gpu-1/0", "reason": "hot"})
        assert (status, card["state"], card["reason"]) == (200, "fenced", "hot")
        status, card, _ = await api.call("POST", "/v1/cards/unfence", json={"uuid": "gpu-1/0"})
        assert (status, card["state"]) == (200, "free")


async def test_a_removed_node_is_shown_as_it_was(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(gone=True)) as api:
        status, node, _ = await api.call("DELETE", "/v1/nodes/gpu-1")
        assert (status, node["name"]) == (200, "gpu-1")
        assert (await api.get("/v1/nodes"))["items"] == []
        assert (await api.get("/v1/cards"))["items"] == []


async def test_a_token_is_made_used_listed_and_revoked(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        status, made, _ = await api.call("POST", "/v1/tokens", json={"role": "user", "name": "bob"})
        assert (status, made["role"], made["name"]) == (201, "user", "bob")
        api.secrets["bob"] = made["token"]
        assert (await api.get("/v1/jobs", "bob"))["items"] == []
        listed = (await api.get("/v1/tokens"))["items"]
        assert [token["id"] for token in listed][-1] == made["id"]
        assert made["token"] not in str(listed)
        assert (await api.call("DELETE", f"/v1/tokens/{made['id']}"))[0] == 200
        assert (await api.call("GET", "/v1/jobs", "bob"))[0] == 401


@pytest.mark.parametrize("store", ["memory:", "sqlite:///{}/berth.db"])
async def test_a_post_under_one_key_happens_once(tmp_path: Path, store: str) -> None:
    async with lab(tmp_path, [*node_with(), *waiting("j1")], store.format(tmp_path)) as api:
        key = {"Idempotency-Key": "k1"}
        first = await api.call("POST", "/v1/jobs/j1/hold", headers=key)
        await api.call("POST", "/v1/jobs/j1/release")
        again = await api.call("POST", "/v1/jobs/j1/hold", headers=key)
        assert (first[0], first[1]) == (again[0], again[1])
        assert again[2]["Idempotent-Replayed"] == "true"
        assert api.control.cluster.jobs["j1"].held is False
        status, value, _ = await api.call("POST", "/v1/jobs/j1/requeue", headers=key)
        assert (status, value["exit_code"], value["errors"][0]["code"]) == (422, 4, "key-reused")
        other = await api.call("POST", "/v1/jobs/j1/requeue", "user", headers=key)
        assert other[1]["errors"][0]["code"] == "not-yours"


async def test_the_same_key_at_the_same_time_happens_once(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        body, key = {"role": "user", "name": "bob"}, {"Idempotency-Key": "k1"}
        answers = await asyncio.gather(*(api.call("POST", "/v1/tokens", json=body, headers=key) for _ in range(8)))
        assert {(status, value["token"]) for status, value, _ in answers} == {(201, answers[0][1]["token"])}
        assert [token.name for token in api.control.cluster.tokens.values()].count("bob") == 1


async def test_a_secret_is_not_written_down_for_its_key(tmp_path: Path) -> None:
    async with lab(tmp_path, store=f"sqlite:///{tmp_path}/berth.db") as api:
        body, key = {"role": "user", "name": "bob"}, {"Idempotency-Key": "k1"}
        _, made, _ = await api.call("POST", "/v1/tokens", json=body, headers=key)
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("berth.db*"))
    assert made["token"].encode() not in kept
    assert b"token-shown" in kept


async def test_a_refused_post_is_not_kept(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *waiting("j1")]) as api:
        key = {"Idempotency-Key": "k1"}
        status, _, _ = await api.call("POST", "/v1/jobs/j1/scale", json={"replicas": -1}, headers=key)
        assert status == 422
        status, _, _ = await api.call("POST", "/v1/jobs/j1/scale", json={"replicas": 2}, headers=key)
        assert status == 200


async def test_a_body_of_very_many_levels_is_a_bad_body(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *waiting("j1", user="user")]) as api:
        deep = b"[" * 100_000
        status, value, _ = await api.call(
            "POST", "/v1/jobs/j1/scale", "user", data=deep, headers={"Content-Type": "application/json"}
        )
        assert (status, value["errors"][0]["code"]) == (422, "bad-json")


def test_a_database_that_cannot_be_written_says_so_and_what_to_do() -> None:
    told = as_berth_error(StoreBroken("The database berth.db failed: database or disk is full. Free some space."))
    assert (told.http_status, told.exit_code, told.problems[0].code) == (503, 5, "store-broken")
    assert "disk is full" in told.problems[0].message
    assert "Nothing of this request was kept" in told.problems[0].hint


async def test_a_token_for_an_unknown_node_warns_and_its_event_names_the_node(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with()) as api:
        _, made, _ = await api.call("POST", "/v1/tokens", json={"role": "agent", "node": "gpu-2"})
        assert [(one["code"], one["message"]) for one in made["warnings"]] == [
            ("token-node-unknown", "node gpu-2 is not known; the nodes are: gpu-1.")
        ]
        assert f"berth token revoke {made['id']}" in made["warnings"][0]["hint"]
        _, known, _ = await api.call("POST", "/v1/tokens", json={"role": "agent", "node": "gpu-1"})
        assert known["warnings"] == []
        assert [event.message for event in api.control.cluster.events][-2:] == [
            f"agent token {made['id']} for node gpu-2", f"agent token {known['id']} for node gpu-1",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("node", "labels", "hint"),
    [
        ({}, {"gpu.free": "7"}, "berth node label gpu-1 gpu.enable=true gpu.model=MODEL gpu.count=N"),
        ({"agent": "a"}, {"gpu.free": "7"}, "berth node label gpu-1 zone=idc"),
        ({"agent": "a"}, {"gpu.count": "7"}, "berth node label gpu-1 zone=idc"),
        ({"agent": "a"}, {"gpu.model": None}, "berth node label gpu-1 zone=idc"),
        ({"adopted": True}, {"gpu.memory": "7"}, "berth node label gpu-1 gpu.count=N"),
    ],
)
async def test_labels_that_berth_writes_are_refused_on_a_node_without_cards(
    tmp_path: Path, node: dict[str, Any], labels: dict[str, Any], hint: str
) -> None:
    async with lab(tmp_path, node_with(cards=0, **node), engine=SimulatedEngine((), SystemClock())) as api:
        status, value, _ = await api.call("PATCH", "/v1/nodes/gpu-1/labels", json=labels)
        (problem,) = value["errors"]
        assert (status, problem["code"]) == (422, "label-of-berth")
        assert problem["message"].startswith(f"{next(iter(labels))} of gpu-1 is written by Berth itself")
        assert problem["hint"].endswith(hint)
