"""NVIDIA's real toolkit on stand-in device nodes: a container opens the cards that it was granted and no other."""

import asyncio
from collections.abc import Iterator

import pytest

from berth.dockerapi.address import Address
from berth.engines import load
from berth.engines.docker.records import CdiDevice, Info
from berth.engines.docker.wanted import cards as bound
from berth.model.card import Card
from berth.model.launch import CardMount, Launch
from berth.vendors.nvidia import Nvidia
from tests.contract import beds
from tests.contract.beds import Bed, Desk, WallClock, again, named
from tests.testbed.daemons import DockerHost
from tests.testbed.image import IMAGE_GPU
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

SHOW = "ls /dev | grep nvidia; mknod /tmp/made c 195 0 2>/dev/null && echo made; echo done"
MOUNT = CardMount(
    env={"NVIDIA_VISIBLE_DEVICES": "GPU-a"},
    driver="nvidia",
    cdi_kind="nvidia.com/gpu",
    device_ids=("GPU-a",),
    runtime="nvidia",
)


@pytest.fixture(scope="module", params=["docker", "swarm"])
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Today's engine with two cards on its host, alone and as a Swarm."""
    kind = load(request.param)
    with Lab("eng", "10.91.0") as lab:
        swarm = request.param == "swarm"
        made = Swarm(lab, 2, variant="today", cards=2) if swarm else DockerHost(lab, "gpu-1", variant="today", cards=2)
        with made:
            hosts = made.nodes if isinstance(made, Swarm) else [made]
            yield Bed(request.param, hosts, lambda: kind(Address(hosts[0].url), WallClock()))


def granted(desk: Desk, *indices: int) -> Launch:
    """A launch whose image and file both ask for all cards, granted these."""
    host = desk.bed.hosts[0]
    held = tuple(Card(uuid=host.cards[i].uuid, node="gpu-1", index=i, vendor="nvidia", model="X") for i in indices)
    plain = desk.launch("sh", "-c", SHOW, image=IMAGE_GPU, env=(("NVIDIA_VISIBLE_DEVICES", "all"),))
    return again(plain, cards=held, mount=Nvidia().mount(held))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("indices", "sees"), [((0,), ["nvidia0"]), ((1,), ["nvidia1"]), ((0, 1), ["nvidia0", "nvidia1"]), ((), ["made"])]
)
async def test_a_container_sees_exactly_its_cards(bed: Bed, indices: tuple[int, ...], sees: list[str]) -> None:
    async with beds.desk_at(bed) as desk:
        launch = granted(desk, *indices)
        await desk.engine.start(launch)
        over = await desk.life(launch, "exited")
        async with asyncio.timeout(10):
            while "done" not in (text := await desk.text(named(over))):
                await asyncio.sleep(0.1)
        assert text.split() == [*sees, "done"]


def test_the_vendors_runtime_is_used_where_the_daemon_has_it() -> None:
    assert bound(MOUNT, Info(runtimes={"runc": b"{}", "nvidia": b"{}"})) == {"Runtime": "nvidia"}


def test_cdi_is_used_where_the_daemon_offers_the_cards() -> None:
    daemon = Info(runtimes={}, devices=[CdiDevice("cdi", "nvidia.com/gpu=GPU-a")])
    assert bound(MOUNT, daemon) == {"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=GPU-a"]}]}


def test_a_device_request_is_what_is_left() -> None:
    request = {"Driver": "nvidia", "DeviceIDs": ["GPU-a"], "Capabilities": [["gpu"]]}
    assert bound(MOUNT, Info()) == {"DeviceRequests": [request]}


def test_declared_cards_need_nothing_of_the_daemon() -> None:
    assert bound(CardMount(env={"NVIDIA_VISIBLE_DEVICES": "0"}, runtime="nvidia"), Info()) == {}
