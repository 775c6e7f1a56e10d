"""Calls: what is sent, what is repeated, and what a person reads when the other side is not what it should be."""

import json
import socket
from pathlib import Path

import pytest

from berth.client.config import Target
from berth.client.errors import ClientError
from berth.client.http import Client, Lost, segment
from tests.client.peer import answer, peer
from tests.client.tls import authority


def test_a_call_carries_the_token_and_its_query() -> None:
    with peer(answer(b'{"items": [], "next": null}')) as server:
        assert Client(Target(server.url, "t0ken")).items("/v1/jobs", {"all": 1, "stack": None}) == []
    head = server.asked[0].decode()
    assert head.startswith("GET /v1/jobs?all=1 HTTP/1.1\r\n")
    assert "Authorization: Bearer t0ken\r\n" in head


def test_a_list_is_read_page_after_page() -> None:
    pages = (answer(b'{"items": [1, 2], "next": "c2"}'), answer(b'{"items": [3], "next": null}'))
    with peer(*pages) as server:
        assert Client(Target(server.url)).items("/v1/cards") == [1, 2, 3]
    assert b"cursor=c2" in server.asked[1]


def test_a_post_that_broke_is_repeated_under_the_same_key() -> None:
    with peer(b"", answer(b'{"id": "j1"}')) as server:
        assert Client(Target(server.url)).post("/v1/jobs", {"image": "a"}) == {"id": "j1"}
    keys = [line for asked in server.asked for line in asked.split(b"\r\n") if line.startswith(b"Idempotency-Key")]
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_a_delete_that_broke_is_not_repeated() -> None:
    with peer(b"") as server, pytest.raises(Lost) as caught:
        Client(Target(server.url)).delete("/v1/jobs/j1")
    assert caught.value.exit_code == 5
    assert caught.value.problems[0]["code"] == "connection-lost"


def test_the_servers_problems_and_exit_code_come_through() -> None:
    body = {"errors": [{"code": "no-such-job", "message": "there is no job 'x'"}], "exit_code": 3}
    with peer(answer(json.dumps(body).encode(), "404 Not Found")) as server, pytest.raises(ClientError) as caught:
        Client(Target(server.url)).get("/v1/jobs/x")
    assert caught.value.exit_code == 3
    assert caught.value.problems == body["errors"]


def test_a_refused_token_says_how_to_log_in() -> None:
    body = {"errors": [{"code": "token-unknown", "message": "unknown", "hint": "berth login URL"}], "exit_code": 4}
    with peer(answer(json.dumps(body).encode(), "401 Unauthorized")) as server, pytest.raises(ClientError) as caught:
        Client(Target(server.url)).get("/v1/jobs")
    assert caught.value.problems[0]["hint"] == f"type 'berth login {server.url}', or add --token-file FILE"


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ClientError) as caught:
        Client(Target(f"http://127.0.0.1:{port}")).get("/v1/cards")
    assert caught.value.exit_code == 5
    assert caught.value.problems[0]["message"] == f"no Berth answers at http://127.0.0.1:{port}: connection refused"
    assert "berth up" in caught.value.problems[0]["hint"]


@pytest.mark.parametrize(
    "bytes_back", [b"SSH-2.0-OpenSSH_9.6\r\n", answer(b"<html>", "502 Bad Gateway"), answer(b"<p>")]
)
def test_somebody_else_there(bytes_back: bytes) -> None:
    with peer(bytes_back) as server, pytest.raises(ClientError) as caught:
        Client(Target(server.url)).get("/v1/cards")
    assert caught.value.exit_code == 5
    assert caught.value.problems[0]["code"] == "not-berth"


def test_tls_with_a_ca_of_its_own(tmp_path: Path) -> None:
    ca, context = authority(tmp_path)
    with peer(answer(b'{"version": "1"}'), tls=context) as server:
        assert Client(Target(server.url, ca=str(ca))).get("/v1/version") == {"version": "1"}


def test_tls_without_the_ca_is_refused_before_the_token_is_sent(tmp_path: Path) -> None:
    _, context = authority(tmp_path)
    with peer(answer(b"{}"), tls=context) as server, pytest.raises(ClientError) as caught:
        Client(Target(server.url, "secret")).get("/v1/version")
    assert caught.value.exit_code == 5
    assert caught.value.problems[0]["code"] == "untrusted-certificate"
    assert caught.value.problems[0]["hint"] == "name the CA that signed it: --ca FILE"
    assert server.asked == []


def test_a_ca_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ClientError) as caught:
        Client(Target("https://127.0.0.1:1", ca=str(tmp_path / "gone.pem"))).get("/v1/version")
    assert caught.value.problems[0]["code"] == "bad-ca"


def test_a_name_is_one_part_of_a_path() -> None:
    assert segment("node2/0 ä") == "node2%2F0%20%C3%A4"
