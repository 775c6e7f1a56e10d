"""The server itself: addresses, TLS, and an agent's stream over a real WebSocket."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest

from berth.agent.link import HttpLink, LinkDown
from berth.api.serve import Tls, serve
from berth.model.errors import BadInput
from berth.model.wire import Heartbeat, Hello, Welcome
from tests import build
from tests.api.lab import Lab, lab, node_with
from tests.client.tls import authority


async def test_a_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        assert api.server.port > 0
        with pytest.raises(OSError, match=r"[Aa]ddress already in use"):
            await serve(api.server._app, "127.0.0.1", api.server.port)


async def test_tls_with_a_certificate_and_what_is_none(tmp_path: Path) -> None:
    ca, _ = authority(tmp_path)
    tls = Tls(ca, tmp_path / "key.pem")
    async with lab(tmp_path, node_with()) as api:
        server = await serve(api.server._app, "127.0.0.1", 0, tls)
        trusted = ssl.create_default_context(cafile=str(ca))
        async with aiohttp.ClientSession() as http:
            url = f"https://127.0.0.1:{server.port}/v1/cards"
            async with http.get(url, headers=api.headers(), ssl=trusted) as answer:
                assert len((await answer.json())["items"]) == 2
        await server.stop()
        with pytest.raises(BadInput, match="cannot be used for TLS"):
            await serve(api.server._app, "127.0.0.1", 0, Tls(tmp_path / "none.pem", tmp_path / "key.pem"))


async def test_stopping_twice_is_harmless_and_the_port_is_free_again(tmp_path: Path) -> None:
    async with lab(tmp_path) as api:
        await api.server.stop()
        await api.server.stop()
        with socket.create_server(("127.0.0.1", api.server.port)):
            pass


def _link(api: Lab, folder: Path, role: str) -> HttpLink:
    file = folder / f"{role}.token"
    file.write_text(api.secrets[role])
    return HttpLink(f"http://127.0.0.1:{api.server.port}", file)


async def _until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not what():
            await asyncio.sleep(0.01)


async def test_an_agent_says_hello_over_its_stream(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(cards=0)) as api:
        stream = await _link(api, tmp_path, "agent").connect()
        card = build.card(index=0)
        await stream.send(Hello(hostname="gpu-1", instance="i1", agent="0.1", vendor="nvidia", cards=(card,)))
        welcome = await stream.receive()
        assert isinstance(welcome, Welcome)
        assert welcome.node == "gpu-1"
        await stream.send(Heartbeat())
        await _until(lambda: card.uuid in api.control.cluster.cards)
        node = (await api.get("/v1/nodes"))["items"][0]
        assert (node["agent"], node["agent_up"], node["cards"]) == ("0.1", True, 1)
        await stream.close()
        await _until(lambda: not api.control.cluster.nodes["gpu-1"].agent_up)


@pytest.mark.parametrize("role", ["admin", "user"])
async def test_the_agents_stream_takes_agents_only(tmp_path: Path, role: str) -> None:
    async with lab(tmp_path) as api:
        with pytest.raises(LinkDown) as failed:
            await _link(api, tmp_path, role).connect()
    assert failed.value.refused


async def test_an_agent_for_another_node_is_sent_away(tmp_path: Path) -> None:
    async with lab(tmp_path, [*node_with(), *node_with("gpu-2")]) as api:
        stream = await _link(api, tmp_path, "agent").connect()
        await stream.send(Hello(hostname="gpu-2", instance="i1", agent="0.1"))
        refusal = await stream.receive()
        assert refusal.problem.code == "agent-wrong-node"  # type: ignore[union-attr]
        with pytest.raises(LinkDown):
            await stream.receive()
        await stream.close()


async def test_the_server_stops_while_an_agent_is_connected(tmp_path: Path) -> None:
    async with lab(tmp_path, node_with(cards=0)) as api:
        stream = await _link(api, tmp_path, "agent").connect()
        await stream.send(Hello(hostname="gpu-1", instance="i1", agent="0.1"))
        await stream.receive()
        async with asyncio.timeout(3):
            await api.server.stop()
            with pytest.raises(LinkDown):
                await stream.receive()
        await stream.close()


async def test_a_body_that_breaks_off_is_no_fault_of_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with lab(tmp_path, node_with()) as api:
        reader, writer = await asyncio.open_connection("127.0.0.1", api.server.port)
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: {api.headers()['Authorization']}\r\n"
        writer.write(head.encode() + b"Transfer-Encoding: chunked\r\n\r\nnot a length\r\n\r\n")
        assert (await reader.readline()).split()[1] == b"422"
        writer.close()
    assert not [record for record in caplog.records if record.name == "berth"]
