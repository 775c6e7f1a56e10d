"""What goes on for a while: long polls, events, output; and the end of the server while they are open."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from berth.control.keeper import LogKeeper
from berth.model.change import PutAttempt, PutJob, PutTask
from berth.model.job import Attempt
from berth.model.launch import Handle
from berth.ports import LogLine
from tests import build
from tests.api.lab import Lab, lab, node_with, running, waiting

SLACK_S = 5.0


def _ended(job_id: str = "j1") -> list[Any]:
    job = build.job(job_id, submitted_at=1_700_000_000.0, ended_at=1_700_000_100.0, version=2)
    return [
        PutJob(job, was=1),
        PutTask(build.task(job_id, state="ended", reason="exit", exit_code=0, version=2), was=1),
    ]


async def test_a_long_poll_answers_when_it_is_so(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *running()]) as api:
        poll = asyncio.create_task(api.call("GET", "/v1/jobs/j1?wait=ended&timeout=20"))
        await asyncio.sleep(0.2)
        assert not poll.done()
        await api.commit(*_ended())
        async with asyncio.timeout(SLACK_S):
            status, job, headers = await poll
    assert (status, job["state"]) == (200, "succeeded")
    assert "X-Berth-Timeout" not in headers


async def test_a_long_poll_says_when_the_time_is_over(tmp_path: Path) -> None:
    async with lab(tmp_path, waiting("j1")) as api:
        status, job, headers = await api.call("GET", "/v1/jobs/j1?wait=running&timeout=0.1")
        assert (status, job["state"], headers["X-Berth-Timeout"]) == (200, "waiting", "1")
        await api.commit(*_ended())
        status, job, headers = await api.call("GET", "/v1/jobs/j1?wait=running&timeout=20")
    assert (status, job["state"]) == (200, "succeeded")


async def _sse(answer: Any) -> AsyncIterator[dict[str, str]]:
    fields: dict[str, str] = {}
    async for raw in answer.content:
        line = raw.decode().rstrip("\n")
        if not line and "data" in fields:
            yield fields
        if not line:
            fields = {}
        elif not line.startswith(":"):
            key, _, value = line.partition(": ")
            fields[key] = value


async def _note(api: Lab, *words: str, job: str = "") -> None:
    await api.commit(*(api.control.note("test", word, job=job) for word in words))


async def _first(api: Lab, count: int, path: str = "/v1/events", **headers: str) -> list[tuple[str, str, str]]:
    sent = api.headers(Accept="text/event-stream", **headers)
    found: list[tuple[str, str, str]] = []
    async with asyncio.timeout(SLACK_S), api.http.get(path, headers=sent) as answer:
        assert answer.content_type == "text/event-stream"
        async for event in _sse(answer):
            found.append((event["id"], event["event"], json.loads(event["data"]).get("message", "")))
            if len(found) == count:
                break
    return found


async def test_events_stream_from_now_on_and_from_any_number(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        await _note(api, "one", "two", "three")
        reading = asyncio.create_task(_first(api, 1))
        await asyncio.sleep(0.3)
        await _note(api, "four")
        assert await reading == [("4", "test", "four")]
        assert await _first(api, 2, **{"Last-Event-ID": "2"}) == [("3", "test", "three"), ("4", "test", "four")]
        assert (await _first(api, 1, "/v1/events?after=0"))[0] == ("1", "test", "one")


async def test_a_gap_is_told_by_reset(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        await _note(api, "one")
        reading = asyncio.create_task(_first(api, 2, **{"Last-Event-ID": "77"}))
        await asyncio.sleep(0.3)
        await _note(api, "two")
        assert await reading == [("1", "reset", ""), ("2", "test", "two")]


async def test_events_of_one_job(tmp_path: Path) -> None:
    async with lab(tmp_path, waiting("j1")) as api:
        await _note(api, "of all")
        await _note(api, "of j1", job="j1")
        assert [event["message"] for event in (await api.get("/v1/events?job=train"))["items"]] == ["of j1"]
        assert await _first(api, 1, "/v1/events?job=j1&after=0") == [("2", "test", "of j1")]


async def test_events_come_in_pages_from_store_and_memory(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        await _note(api, *(str(n) for n in range(1, 6)))
        seen, path = [], "/v1/events?limit=2"
        while path:
            page = await api.get(path)
            seen += [event["message"] for event in page["items"]]
            path = f"/v1/events?limit=2&cursor={page['next']}" if page["next"] else ""
        assert seen == ["1", "2", "3", "4", "5"]
        api.control.cluster.events.clear()
        assert [event["message"] for event in (await api.get("/v1/events?after=3"))["items"]] == ["4", "5"]


class _Output:
    """An engine of which only the output is asked: lines are put in, and come out while it is followed."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[LogLine | None] = asyncio.Queue()

    async def logs(self, handle: Handle, since: float, follow: bool) -> AsyncIterator[LogLine]:
        while follow and (line := await self.queue.get()) is not None:
            yield line


def _keep_output(api: Lab) -> _Output:
    output = _Output()
    control = api.control
    control.keeper = LogKeeper(control.cluster, output, control.logs, control.clock, lambda *_: None)  # type: ignore[arg-type]
    return output


def _texts(raw: bytes) -> list[str]:
    return [json.loads(line)["text"] for line in raw.splitlines()]


async def test_kept_output_is_read_by_time_tail_and_slot(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *running()]) as api:
        logs = api.control.logs
        logs.append("j1.1", 1, [LogLine(1_700_000_001.0, "stdout", "a\n"), LogLine(1_700_000_003.0, "stderr", "c\n")])
        logs.append("j1.2", 1, [LogLine(1_700_000_002.0, "stdout", "b\n")])
        await api.commit(PutTask(build.task("j1", 2)), PutAttempt(Attempt(task="j1.2", attempt=1, node="n", cards=())))
        whole = await api.get("/v1/jobs/j1/logs")
        assert json.loads(whole.splitlines()[0]) == {
            "time": "2023-11-14T22:13:21Z", "stream": "stdout", "text": "a\n", "task": "j1.1", "attempt": 1
        }  # fmt: skip
        assert _texts(whole) == ["a\n", "b\n", "c\n"]
        assert _texts(await api.get("/v1/jobs/j1/logs?tail=2")) == ["b\n", "c\n"]
        assert _texts(await api.get("/v1/jobs/j1/logs?tail=0")) == []
        assert _texts(await api.get("/v1/jobs/j1/logs?slot=2")) == ["b\n"]
        assert _texts(await api.get("/v1/jobs/j1/logs?since=2023-11-14T22:13:21Z")) == ["b\n", "c\n"]
        assert _texts(await api.get("/v1/jobs/j1/logs?since=10m")) == []


async def test_following_output_ends_with_the_job_and_shows_each_line_once(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *running()]) as api:
        output = _keep_output(api)
        api.control.logs.append("j1.1", 1, [LogLine(1_700_000_001.0, "stdout", "0\n")])
        api.control.keeper.follow("j1.1")
        reading = asyncio.create_task(api.get("/v1/jobs/j1/logs?follow=1"))
        for number in range(1, 200):
            output.queue.put_nowait(LogLine(1_700_000_001.0 + number, "stdout", f"{number}\n"))
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.2)
        assert not reading.done()
        await api.commit(*_ended())
        output.queue.put_nowait(LogLine(1_700_001_000.0, "stdout", "last\n"))
        output.queue.put_nowait(None)
        async with asyncio.timeout(SLACK_S):
            assert _texts(await reading) == [*(f"{number}\n" for number in range(200)), "last\n"]
        await api.control.keeper.close()


async def test_following_a_silent_job_is_answered_at_once(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *running()]) as api:
        asked = api.http.get("/v1/jobs/j1/logs?follow=1", headers=api.headers())
        async with asyncio.timeout(SLACK_S), asked as answer:
            assert answer.status == 200


@pytest.mark.parametrize("path", ["/v1/events", "/v1/jobs/j1/logs?follow=1", "/v1/jobs/j1?wait=ended&timeout=60"])
async def test_the_server_stops_while_streams_are_open(tmp_path: Path, path: str) -> None:
    async with lab(tmp_path, [*node_with(), *running()]) as api:
        sent = api.headers(Accept="text/event-stream" if "events" in path else "*/*")
        reading = asyncio.create_task(api.call("GET", path, headers=sent))
        await asyncio.sleep(0.3)
        began = time.monotonic()
        await api.server.stop()
        assert time.monotonic() - began < 2.0
        async with asyncio.timeout(SLACK_S):
            await asyncio.wait([reading])
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", api.server.port)


async def test_a_line_of_output_keeps_its_micros(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *running()]) as api:
        api.control.logs.append("j1.1", 1, [LogLine(1_700_000_001.123456, "stdout", "a\n")])
        line = msgspec.json.decode(await api.get("/v1/jobs/j1/logs"))
    assert line["time"] == "2023-11-14T22:13:21.123456Z"
