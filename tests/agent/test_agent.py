"""What the agent tells a server, and how it lives through one that is away, restarts, or says no."""

import asyncio
import json
import threading
from pathlib import Path

import msgspec
import pytest

from berth.agent.agent import AgentSettings, run_agent
from berth.agent.link import HttpLink, InProcessLink, LinkDown
from berth.dockerapi.address import Address
from berth.model.card import Card, Use
from berth.model.errors import BadInput, Problem, Refused
from berth.model.launch import CardMount
from berth.model.simulate import parse_simulate
from berth.model.wire import Cards, Heartbeat, Hello, Refresh, Refuse, Up, Uses, Welcome, frame, read_down, read_up
from berth.ports import Vendor, VendorAbsent
from berth.vendors import detect
from tests.agent.server import HttpServer, Server, agent, hello_of, token_file
from tests.client.tls import authority


def simulated(cards: Path | None = None, interval_s: float = 0.05) -> AgentSettings:
    """An agent of gpu-1 with two simulated cards, or those of a file."""
    spec = () if cards else parse_simulate("gpu-1=T4-16GB:2")
    return AgentSettings(vendor=lambda node: detect("auto", node, spec, cards), node="gpu-1", interval_s=interval_s)


class Driver:
    """A vendor whose driver the test breaks: it hangs until released, or is not there."""

    name = "nvidia"
    faults: tuple[Problem, ...] = ()

    def __init__(self, code: str = "") -> None:
        self.code, self.hang = code, threading.Event()
        self.hang.set()

    def discover(self) -> tuple[Card, ...]:
        """One card."""
        self.hang.wait(20)
        if self.code:
            raise VendorAbsent(Problem(code=self.code, message="It is broken."))
        return (Card(uuid="GPU-a", node="gpu-1", index=0, vendor="nvidia", model="T4"),)

    def usage(self) -> tuple[Use, ...]:
        """An idle card."""
        return (Use(uuid="GPU-a"),)

    def mount(self, cards: tuple[Card, ...]) -> CardMount:
        """Nothing."""
        return CardMount()


def driven(driver: Vendor, required: bool = False) -> AgentSettings:
    """An agent over that vendor."""
    return AgentSettings(vendor=lambda _: driver, required=required, node="gpu-1", interval_s=0.05)


async def test_hello_tells_who_and_what() -> None:
    server = Server()
    async with agent(simulated(), InProcessLink(server.serve)):
        hello = await server.wait(Hello)
        uses = await server.wait(Uses)
    assert (hello.hostname, hello.vendor, hello.version) == ("gpu-1", "simulated", 1)
    assert [(card.index, card.model, card.memory_mib) for card in hello.cards] == [
        (0, "T4-16GB", 16384),
        (1, "T4-16GB", 16384),
    ]
    assert hello.facts["boot_id"]
    assert hello.facts["kernel"]
    assert hello.problems == ()
    assert [use.uuid for use in uses.uses] == [card.uuid for card in hello.cards]


async def test_changes_are_told_once(tmp_path: Path) -> None:
    file = tmp_path / "cards.json"
    file.write_text('[{"model": "T4", "uuid": "GPU-a"}]')
    server = Server()
    async with agent(simulated(file), InProcessLink(server.serve)):
        await server.wait(Uses)
        file.write_text('[{"model": "T4", "uuid": "GPU-a", "util": 70}, {"model": "T4", "uuid": "GPU-b"}]')
        cards = await server.wait(Cards)
        uses = await server.wait(Uses, lambda told: len(told.uses) == 2)
        file.write_text("[{")
        broken = await server.wait(Cards, lambda told: bool(told.problems))
        await asyncio.sleep(0.3)
    assert [card.uuid for card in cards.cards] == ["GPU-a", "GPU-b"]
    assert uses.uses[0] == Use(uuid="GPU-a", util=70.0)
    assert (broken.cards, broken.problems[0].code) == (cards.cards, "cards-file")
    assert len(server.all(Cards)) == 2
    assert len(server.all(Uses)) == 2


async def test_a_quiet_agent_sends_heartbeats_within_its_lease() -> None:
    server = Server(lease_s=0.3)
    async with agent(simulated(), InProcessLink(server.serve)):
        await server.wait(Hello)
        await asyncio.sleep(1.5)
    assert len(server.all(Heartbeat)) >= 5  # one per lease would do; three are sent


async def test_refresh_brings_everything_again() -> None:
    server = Server()
    async with agent(simulated(interval_s=60), InProcessLink(server.serve)):
        await server.wait(Uses)
        await server.peers[0].send(Refresh())
        async with asyncio.timeout(5):
            while len(server.all(Hello)) < 2:
                await asyncio.sleep(0.01)
    first, second = server.all(Hello)
    assert first == second


async def test_a_server_that_ends_the_stream_gets_everything_again_from_the_same_process() -> None:
    server = Server()
    async with agent(simulated(), InProcessLink(server.serve)):
        await server.wait(Uses)
        await server.peers[0].close()
        async with asyncio.timeout(5):
            while len(server.all(Hello)) < 2:
                await asyncio.sleep(0.01)
    first, second = server.all(Hello)
    assert first.instance == second.instance
    assert first.cards == second.cards


async def test_a_final_no_ends_the_agent_with_the_reason() -> None:
    server = Server()
    server.answer = Refuse(problem=Problem(code="agent-refused", message="This token is for gpu-7."), final=True)
    async with agent(simulated(), InProcessLink(server.serve)) as running:
        with pytest.raises(Refused, match="for gpu-7"):
            await asyncio.wait_for(asyncio.shield(running), 5)


async def test_a_passing_no_is_asked_again() -> None:
    server = Server()
    server.answer = Refuse(problem=Problem(code="agent-refused", message="Not ready."))
    async with agent(simulated(), InProcessLink(server.serve)):
        await server.wait(Hello)
        server.answer = Welcome(lease_s=30, node="gpu-1")
        await server.wait(Uses)


async def test_a_driver_that_is_not_there_is_a_problem_only_when_asked_for_by_name() -> None:
    for required, problems in ((False, []), (True, ["nvidia-library-missing"])):
        server = Server()
        async with agent(driven(Driver("nvidia-library-missing"), required), InProcessLink(server.serve)):
            hello = await server.wait(Hello)
        assert (hello.vendor, hello.cards) == ("", ())
        assert [problem.code for problem in hello.problems] == problems


async def test_a_broken_driver_is_always_a_problem_and_mended_without_a_restart() -> None:
    server, driver = Server(), Driver("nvidia-driver-mismatch")
    async with agent(driven(driver), InProcessLink(server.serve)):
        hello = await server.wait(Hello)
        driver.code = ""
        cards = await server.wait(Cards)
    assert [problem.code for problem in hello.problems] == ["nvidia-driver-mismatch"]
    assert (cards.vendor, [card.uuid for card in cards.cards], cards.problems) == ("nvidia", ["GPU-a"], ())


async def test_a_driver_that_hangs_keeps_the_cards_and_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth.agent.inventory.DRIVER_S", 0.2)
    server, driver = Server(lease_s=0.3), Driver()
    async with agent(driven(driver), InProcessLink(server.serve)):
        await server.wait(Uses)
        driver.hang.clear()
        hung = await server.wait(Cards)
        await server.wait(Heartbeat)
        driver.hang.set()
        mended = await server.wait(Cards, lambda told: not told.problems)
    assert [problem.code for problem in hung.problems] == ["nvidia-no-answer"]
    assert hung.cards == mended.cards == hello_of(server).cards


async def test_a_file_that_cannot_be_read_ends_the_start(tmp_path: Path) -> None:
    server = Server()
    async with agent(simulated(tmp_path / "absent"), InProcessLink(server.serve)) as running:
        with pytest.raises(BadInput, match="cannot be read"):
            await asyncio.wait_for(asyncio.shield(running), 5)


async def test_over_a_websocket_through_a_restart_of_the_server(tmp_path: Path) -> None:
    server = Server()
    http = HttpServer(server, "secret")
    await http.start()
    async with agent(simulated(), HttpLink(http.url + "/", token_file(tmp_path, "secret"))):
        await server.wait(Uses)
        await http.stop()
        await asyncio.sleep(0.5)
        server.heard.clear()
        await http.start()
        await server.wait(Hello, seconds=5)
        await server.wait(Uses)
    await http.stop()
    assert len(hello_of(server).cards) == 2


async def test_a_wrong_token_ends_the_agent_with_what_to_type(tmp_path: Path) -> None:
    http = HttpServer(Server(), "secret")
    await http.start()
    async with agent(simulated(), HttpLink(http.url, token_file(tmp_path, "other"))) as running:
        with pytest.raises(Refused) as caught:
            await asyncio.wait_for(asyncio.shield(running), 5)
    await http.stop()
    (problem,) = caught.value.problems
    assert problem.code == "agent-refused"
    assert "other" not in problem.message
    assert "berth token create --role agent" in problem.hint


async def test_a_token_that_was_revoked_later_is_tried_again(tmp_path: Path) -> None:
    server = Server()
    http = HttpServer(server, "secret")
    await http.start()
    file = token_file(tmp_path, "secret")
    async with agent(simulated(), HttpLink(http.url, file)) as running:
        await server.wait(Hello)
        await http.stop()
        http.token = "newer"
        await http.start()
        await asyncio.sleep(1)
        assert not running.done()
        server.heard.clear()
        file.write_text("newer")
        await server.wait(Hello)
    await http.stop()


async def test_no_token_file(tmp_path: Path) -> None:
    async with agent(simulated(), HttpLink("http://127.0.0.1:9", tmp_path / "absent")) as running:
        with pytest.raises(Refused, match="cannot be read: No such file"):
            await asyncio.wait_for(asyncio.shield(running), 5)


async def test_over_tls_with_the_servers_own_authority(tmp_path: Path) -> None:
    ca, context = authority(tmp_path)
    server = Server()
    http = HttpServer(server, "secret", context)
    await http.start()
    token = token_file(tmp_path, "secret")
    async with agent(simulated(), HttpLink(http.url, token, ca)):
        await server.wait(Hello)
    with pytest.raises(LinkDown) as caught:
        await HttpLink(http.url, token).connect()
    await http.stop()
    assert (caught.value.problem.code, caught.value.refused) == ("untrusted-certificate", False)
    with pytest.raises(LinkDown) as caught:
        await HttpLink(http.url, token, tmp_path / "absent.pem").connect()
    assert (caught.value.problem.code, caught.value.refused) == ("bad-ca", True)


@pytest.mark.parametrize("url", ["ssh://gpu-2", "tcp://10.1.2.3:2376"])
async def test_a_daemon_of_another_host_is_refused(url: str) -> None:
    settings = msgspec.structs.replace(simulated(), docker=Address(url))
    with pytest.raises(BadInput) as caught:
        await run_agent(settings, InProcessLink(Server().serve))
    assert caught.value.problems[0].code == "agent-elsewhere"


async def test_a_server_that_is_away_is_waited_for(tmp_path: Path) -> None:
    server = Server()
    http = HttpServer(server, "secret")
    await http.start()
    url = http.url
    await http.stop()
    async with agent(simulated(), HttpLink(url, token_file(tmp_path, "secret"))):
        await asyncio.sleep(0.7)
        await http.start()
        await server.wait(Hello)
    await http.stop()


@pytest.mark.parametrize("message", [Heartbeat(), Uses((Use(uuid="GPU-a", util=1.5, pids=(3, 4)),))])
def test_frames_are_json_that_names_its_kind(message: Up) -> None:
    assert json.loads(frame(message))["kind"] == type(message).__name__.lower()
    assert read_up(frame(message)) == message


def test_what_a_newer_side_says_is_skipped() -> None:
    assert read_up('{"kind": "telepathy"}') is None
    assert read_down('{"kind": "welcome", "lease_s": 9, "node": "a", "since": "v9"}') == Welcome(lease_s=9, node="a")
