"""One suite for every vendor: three verbs, the same promises; NVIDIA's on its real bindings over a fake library."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from berth.model.gpu_model import normalise
from berth.model.simulate import parse_simulate
from berth.ports import Vendor
from berth.vendors import VENDORS, detect, table
from berth.vendors.declared import DeclaredCards
from berth.vendors.nvidia import Nvidia
from berth.vendors.simulated import SimulatedCards
from tests.testbed import build
from tests.testbed.nvml import FakeCard, FakeNvml

NODE = "gpu-1"


@pytest.fixture
def nvml(tmp_path: Path) -> FakeNvml:
    """NVIDIA's library with two cards."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc to build the fake libnvidia-ml.so.1")
    names = ("Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB")
    cards = [FakeCard(f"GPU-0000000{i}-1111-2222-3333-444444444444", name=name) for i, name in enumerate(names)]
    fake = FakeNvml(tmp_path / "nvml", cards)
    fake.write()
    fake.preload(build.nvml())
    return fake


def listed(tmp_path: Path) -> Path:
    """A --cards file with two cards of this node and one of another."""
    file = tmp_path / "cards.json"
    cards = [{"node": NODE, "model": "Tesla V100"}, {"node": NODE, "model": "A10"}, {"node": "gpu-2", "model": "T4"}]
    file.write_text(json.dumps(cards))
    return file


@pytest.fixture(params=["nvidia", "declared labels", "declared file", "simulated spec", "simulated file"])
def vendor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vendor]:
    """Each vendor with two cards on its node."""
    match request.param:
        case "nvidia":
            request.getfixturevalue("nvml")
            yield Nvidia(NODE)
        case "declared labels":
            yield DeclaredCards(NODE, labels={"gpu.enable": "true", "gpu.model": "Tesla V100", "gpu.free": "2"})
        case "declared file":
            yield DeclaredCards(NODE, listed(tmp_path))
        case "simulated spec":
            yield SimulatedCards(NODE, parse_simulate(f"{NODE}=A100-SXM4-80GB:1+A10-24GB:1,gpu-2=T4:7"))
        case _:
            yield SimulatedCards(NODE, cards=listed(tmp_path))


def test_cards_of_this_node_by_index_and_the_same_each_time(vendor: Vendor) -> None:
    cards = vendor.discover()
    assert [card.index for card in cards] == [0, 1]
    assert {card.node for card in cards} == {NODE}
    assert len({card.uuid for card in cards}) == 2
    assert vendor.discover() == cards
    assert vendor.faults == ()


def test_models_are_in_the_form_that_labels_take(vendor: Vendor) -> None:
    models = [card.model for card in vendor.discover()]
    assert all(models)
    assert models == [normalise(model) for model in models]


def test_nothing_stands_against_a_fresh_card(vendor: Vendor) -> None:
    assert [card.obstacle for card in vendor.discover()] == [None, None]


def test_usage_names_the_same_cards(vendor: Vendor) -> None:
    assert [use.uuid for use in vendor.usage()] == [card.uuid for card in vendor.discover()]
    assert [use.mem_used_mib for use in vendor.usage()] == [0, 0]


def test_a_mount_names_the_granted_cards_in_order_and_needs_no_driver(vendor: Vendor) -> None:
    first, second = vendor.discover()
    server_side = table()["declared" if first.declared else first.vendor]
    words = server_side.mount((second, first)).env["NVIDIA_VISIBLE_DEVICES"].split(",")
    wanted = ["1", "0"] if first.uuid == f"{NODE}/0" else [second.uuid, first.uuid]
    assert words == wanted


def test_a_mount_of_no_cards_shows_none_whatever_the_image_says(vendor: Vendor) -> None:
    mount = table()[vendor.name].mount(())
    assert mount.env == {"NVIDIA_VISIBLE_DEVICES": "void"}
    assert (mount.driver, mount.device_ids, mount.runtime) == ("", (), "")


def test_every_vendor_of_the_table_is_the_one_that_it_says() -> None:
    assert {name: made.name for name, made in table().items()} == {name: name for name in VENDORS}


def test_detection(tmp_path: Path) -> None:
    spec = parse_simulate("*=T4:1")
    assert detect("auto", NODE).name == "nvidia"
    assert detect("auto", NODE, spec).name == "simulated"
    assert detect("auto", NODE, cards=listed(tmp_path)).name == "simulated"
    assert detect("nvidia", NODE, spec).name == "nvidia"
    assert detect("declared", NODE, cards=listed(tmp_path)).name == "declared"
