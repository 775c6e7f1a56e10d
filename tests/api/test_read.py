"""What the API shows, by value: cards, nodes, models, jobs, the queue, one job, history, why."""

from pathlib import Path

from berth.model.change import Give, PutCard, PutJob, PutTask
from berth.model.plan import Wait
from tests import build
from tests.api.lab import lab, node_with, running, waiting


async def test_a_card_shows_its_state_and_what_holds_it(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(cards=3), *running(name="train")]) as api:
        await api.commit(PutCard(build.card(index=2, fence="fan broken")))
        first, second, third = (await api.get("/v1/cards"))["items"]
    assert first | {"cuda": "", "driver": ""} == {
        "uuid": "GPU-gpu-1-0",
        "node": "gpu-1",
        "index": 0,
        "vendor": "nvidia",
        "model": "A100-SXM4-80GB",
        "memory_mib": 81920,
        "driver": "",
        "cuda": "",
        "state": "used",
        "reason": "",
        "job": "j1",
        "job_name": "train",
        "task": "j1.1",
        "share": 1.0,
        "holders": [{"job": "j1", "task": "j1.1", "milli": 1000, "mib": 81920}],
        "declared": False,
        "numa": None,
        "nvlink": [],
    }
    assert (second["state"], second["share"], second["job"]) == ("free", 0.0, None)
    assert (third["state"], third["reason"]) == ("fenced", "fan broken")


async def test_a_list_without_query_is_right_after_every_change(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(cards=1), *running()]) as api:
        assert [card["state"] for card in (await api.get("/v1/cards"))["items"]] == ["used"]
        assert [node["free"] for node in (await api.get("/v1/nodes"))["items"]] == [0]
        await api.commit(Give("j1.1"))
        assert [card["state"] for card in (await api.get("/v1/cards"))["items"]] == ["free"]
        assert [node["free"] for node in (await api.get("/v1/nodes"))["items"]] == [1]
        await api.commit(*node_with("gpu-2", drain="new driver"))
        assert [node["state"] for node in (await api.get("/v1/nodes"))["items"]] == ["ready", "draining"]
        cards = (await api.get("/v1/cards"))["items"]
        assert [card["reason"] for card in cards] == ["", *["node gpu-2: draining: new driver"] * 2]


async def test_lists_come_in_pages(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(cards=3), *node_with("gpu-2", cards=2)]) as api:
        seen, cursor, pages = [], "", 0
        while cursor is not None:
            page = await api.get(f"/v1/cards?limit=2&cursor={cursor}")
            seen += [(card["node"], card["index"]) for card in page["items"]]
            cursor, pages = page["next"], pages + 1
        assert seen == [("gpu-1", 0), ("gpu-1", 1), ("gpu-1", 2), ("gpu-2", 0), ("gpu-2", 1)]
        assert pages == 3


async def test_models_count_what_is_free_used_and_waited_for(tmp_path: Path) -> None:
    put = [*node_with(cards=3), *running(), *node_with("gpu-2", cards=1, drain="x")]
    put += [PutCard(build.card("gpu-1", 7, model="A10-24GB", memory_mib=24576))]
    put += waiting("j2", spec=build.spec(request=build.spec(2).request))
    put += waiting("j3", spec=build.spec(request=build.Request(gpus=1, constraints=("gpu.model == A10",))))
    async with lab(tmp_path, put) as api:
        small, large = (await api.get("/v1/gpus"))["items"]
    assert small == {
        "model": "A10-24GB", "memory_mib": 24576, "total": 1, "free": 1, "used": 0, "waiting": 3, "nodes": 1
    }  # fmt: skip
    assert large == {
        "model": "A100-SXM4-80GB", "memory_mib": 81920, "total": 4, "free": 2, "used": 1, "waiting": 2, "nodes": 2
    }  # fmt: skip


async def test_a_job_is_found_by_id_name_and_engine_name(tmp_path: Path) -> None:
    put = [*node_with(), *running(name="s_web", stack="s", service="web", user="ann")]
    async with lab(tmp_path, put) as api:
        by_id = await api.get("/v1/jobs/j1")
        assert await api.get("/v1/jobs/s_web") == by_id
        status, value, _ = await api.call("GET", "/v1/jobs/nothing")
    assert (by_id["state"], by_id["stack"], by_id["service"], by_id["user"]) == ("running", "s", "web", "ann")
    assert (by_id["submitted_at"], by_id["started_at"]) == ("2023-11-14T22:13:10Z", "2023-11-14T22:13:20Z")
    assert by_id["tasks"][0]["cards"] == ["GPU-gpu-1-0"]
    assert by_id["tasks"][0]["node"] == "gpu-1"
    assert status == 404
    assert value["errors"][0]["code"] == "no-such-job"
    assert value["exit_code"] == 3


async def test_a_name_that_fits_two_jobs_is_refused_with_the_candidates(tmp_path: Path) -> None:
    async with lab(tmp_path, [*waiting("j1", name="twice"), *waiting("j2", name="twice")]) as api:
        status, value, _ = await api.call("GET", "/v1/jobs/twice")
    assert status == 409
    assert "j1" in value["errors"][0]["message"]
    assert "j2" in value["errors"][0]["message"]


async def test_the_queue_is_in_the_order_of_service_with_reasons(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *running(), *waiting("j2"), *waiting("j3"), *waiting("j4")]) as api:
        api.control.cluster.waits = {
            "j3.1": Wait("j3.1", "free-cards", "0 of 2 free", 1),
            "j2.1": Wait("j2.1", "behind", "j3 is served first", 2),
        }
        api.control.cluster.changed.counts["jobs"] += 1
        found = (await api.get("/v1/queue"))["items"]
        assert [(job["id"], job["reason"], job["position"]) for job in found] == [
            ("j3", "free-cards", 1),
            ("j2", "behind", 2),
            ("j4", None, None),
        ]
        assert found[0]["tasks"][0]["message"] == "0 of 2 free"
        assert [job["id"] for job in (await api.get("/v1/queue?limit=1"))["items"]] == ["j3"]


async def test_a_running_job_of_which_a_slot_waits_is_in_the_queue_too(tmp_path: Path) -> None:
    slot = PutTask(build.task("j1", slot=2, state="waiting"))
    async with lab(tmp_path, [*node_with(), *running(), slot]) as api:
        api.control.cluster.waits = {"j1.2": Wait("j1.2", "free-cards", "0 of 2 free", 1)}
        api.control.cluster.changed.counts["jobs"] += 1
        (found,) = (await api.get("/v1/queue"))["items"]
    assert (found["id"], found["state"], found["message"], found["position"]) == ("j1", "running", "0 of 2 free", 1)


async def test_ended_jobs_follow_the_live_ones_newest_end_first(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *running()]) as api:
        for number in range(5):
            job = build.job(f"e{number}", ended_at=1_700_000_000.0 + number // 2)
            await api.commit(PutJob(job), PutTask(build.task(job.id, state="ended", reason="exit", exit_code=0)))
        assert [job["id"] for job in (await api.get("/v1/jobs"))["items"]] == ["j1"]
        seen, cursor = [], ""
        while cursor is not None:
            page = await api.get(f"/v1/jobs?all=1&limit=2&cursor={cursor}")
            seen += [job["id"] for job in page["items"]]
            cursor = page["next"]
        assert seen[0] == "j1"
        assert sorted(seen) == ["e0", "e1", "e2", "e3", "e4", "j1"]
        assert seen[1] == "e4"
        assert seen.index("e0") > seen.index("e2")
        ended = await api.get("/v1/jobs/e3")
    assert (ended["state"], ended["reason"], ended["exit_code"]) == ("succeeded", "exit", 0)


async def test_history_lists_attempts(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *running()]) as api:
        found = (await api.get("/v1/jobs/j1/history"))["items"]
    assert [(one["slot"], one["attempt"], one["node"]) for one in found] == [(1, 1, "gpu-1")]


async def test_why_tells_what_stands_against_a_waiting_job(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(cards=1), *running(), *waiting("j2")]) as api:
        found = await api.get("/v1/jobs/j2/why")
        assert found["job"] == "j2"
        assert found["reason"] == "free-cards"
        assert found["never"] is False
        assert [node["node"] for node in found["nodes"]] == ["gpu-1"]
        assert (await api.get("/v1/jobs/j1/why"))["message"] == "train is running on gpu-1."
