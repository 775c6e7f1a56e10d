"""Streams over connections that break: each line and event once, none lost."""

import json

import pytest

from berth.client.config import Target
from berth.client.errors import ClientError
from berth.client.http import Client, Lost
from berth.client.streams import LogFollower, Patience, events
from tests.client.peer import answer, chunked, peer


def _line(second: int, text: str) -> bytes:
    stamp = f"2026-01-31T08:00:{second:02d}Z"
    return json.dumps({"time": stamp, "stream": "stdout", "text": text, "task": "j.1", "attempt": 1}).encode() + b"\n"


def _job(ended: bool) -> bytes:
    return answer(json.dumps({"id": "j", "ended_at": "2026-01-31T09:00:00Z" if ended else None}).encode())


def test_logs_go_on_after_a_break_each_line_once() -> None:
    first = chunked(_line(1, "a\n"), _line(1, "a\n"), _line(2, "b\n"), whole=False)
    second = chunked(_line(1, "a\n"), _line(1, "a\n"), _line(2, "b\n"), _line(2, "b\n"), _line(3, "c\n"))
    told: list[str] = []
    with peer(first, second, _job(ended=True)) as server:
        lines = list(LogFollower(Client(Target(server.url)), "j", {"tail": None, "since": None}, told.append))
    assert [line["text"] for line in lines] == ["a\n", "a\n", "b\n", "b\n", "c\n"]
    assert told == ["the connection to the server is gone; trying again"]


def test_after_a_tail_the_next_connection_asks_by_time() -> None:
    with peer(chunked(_line(7, "x\n"), whole=False), chunked(_line(7, "x\n")), _job(ended=True)) as server:
        lines = list(LogFollower(Client(Target(server.url)), "j", {"tail": 1}, lambda _: None))
    assert [line["text"] for line in lines] == ["x\n"]
    assert b"tail=1" in server.asked[0]
    assert b"tail" not in server.asked[1]
    assert b"since=2026-01-31T08%3A00%3A07Z" in server.asked[1]


def test_a_stream_that_the_server_ends_while_the_job_goes_on_is_taken_up_again() -> None:
    with peer(chunked(_line(1, "a\n")), _job(False), chunked(_line(1, "a\n"), _line(2, "b\n")), _job(True)) as server:
        lines = list(LogFollower(Client(Target(server.url)), "j", {}, lambda _: None))
    assert [line["text"] for line in lines] == ["a\n", "b\n"]


def test_a_refusal_is_not_retried() -> None:
    body = json.dumps({"errors": [{"code": "no-such-job", "message": "no"}], "exit_code": 3}).encode()
    with peer(answer(body, "404 Not Found")) as server, pytest.raises(ClientError) as caught:
        list(LogFollower(Client(Target(server.url)), "j", {}, lambda _: None))
    assert caught.value.exit_code == 3


def _event(seq: int) -> bytes:
    return b"id: %d\nevent: job\ndata: %s\n\n" % (seq, json.dumps({"seq": seq}).encode())


def test_events_go_on_after_the_last_one_that_was_seen() -> None:
    first = chunked(b"retry: 1000\n\n: still here\n\n", _event(1), _event(2)[:-6], whole=False)
    second = chunked(b"id: 4\nevent: reset\ndata: {}\n\n", _event(5))
    told: list[str] = []
    with peer(first, second) as server:
        stream = events(Client(Target(server.url)), {}, told.append)
        assert [next(stream)["seq"], next(stream)["seq"]] == [1, 5]
        stream.close()  # type: ignore[attr-defined]
    assert b"Last-Event-ID: 1\r\n" in server.asked[1]
    assert told[1] == "some events were missed: the server no longer has them"


def test_a_stream_that_breaks_again_and_again_without_a_line_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    answers = [answer for _ in range(5) for answer in (chunked(), _job(ended=False))]
    told: list[str] = []
    with peer(*answers, chunked(_line(1, "a\n")), _job(ended=True)) as server:
        lines = list(LogFollower(Client(Target(server.url)), "j", {}, told.append))
    assert [line["text"] for line in lines] == ["a\n"]
    assert told[0] == "the connection to the server is gone; trying again"
    assert told[1].startswith("the stream has broken 5 times and brought nothing; trying again")
    assert len(told) == 2


def test_a_server_that_answers_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    now = [0.0]
    patience = Patience(lambda _: None, lambda: now[0])
    gone = Lost("s", EOFError())
    for _ in range(3):
        now[0] += 50
        patience.wait(gone)
        patience.answered()
    patience.wait(gone)
    now[0] += 61
    with pytest.raises(Lost):
        patience.wait(gone)
