"""What a container's description says about cards, and which explicit requests make a foreign use."""

from typing import Any

import msgspec
import pytest

from berth.agent.inspected import Inspected, read_container, read_image_variable, resolve
from berth.model.card import Card

CARDS = tuple(
    Card(uuid=f"GPU-{digit * 8}-0000", node="gpu-1", index=index, vendor="nvidia", model="T4")
    for index, digit in enumerate("abc")
)


def described(labels: dict[str, str] | None = None, env: list[str] | None = None, **host: Any) -> Inspected:
    """The daemon's answer for a running container."""
    document = {
        "Id": "c" * 64,
        "Name": "/web",
        "Image": "sha256:1",
        "State": {"Pid": 77, "Running": True},
        "Config": {"Image": "bb:1", "Labels": labels, "Env": env},
        "HostConfig": {"Privileged": False, "Devices": None, "DeviceRequests": None, **host},
        "Mounts": [],
    }
    return read_container(msgspec.json.encode(document))


def test_a_task_of_ours() -> None:
    labels = {"berth.job": "j", "berth.task": "j.1", "berth.attempt": "3", "berth.cards": "GPU-a,GPU-b"}
    found = described(labels, ["A=1", "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b"])
    assert (found.task, found.attempt, found.granted, found.ours) == ("j.1", 3, ("GPU-a", "GPU-b"), True)
    assert (found.name, found.pid, found.image_name, found.visible) == ("web", 77, "bb:1", "GPU-a,GPU-b")


def test_a_native_service_of_ours_is_ours_without_a_task() -> None:
    found = described({"berth.job": "j"})
    assert (found.ours, found.task, found.granted) == (True, "", ())


@pytest.mark.parametrize(
    ("host", "asked"),
    [
        ({}, ()),
        ({"DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}]}, ("all",)),
        ({"DeviceRequests": [{"Driver": "nvidia", "Count": 2, "DeviceIDs": None}]}, ("0", "1")),
        ({"DeviceRequests": [{"Driver": "nvidia", "DeviceIDs": ["GPU-a", "1"]}]}, ("GPU-a", "1")),
        ({"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=1", "x.org/y=0"]}]}, ("1",)),
        ({"DeviceRequests": [{"Driver": "other", "Count": -1, "Capabilities": [["fpga"]]}]}, ()),
        ({"Devices": [{"PathOnHost": "/dev/nvidia2"}, {"PathOnHost": "/dev/fuse"}]}, ("2",)),
    ],
)
def test_explicit_requests(host: dict[str, Any], asked: tuple[str, ...]) -> None:
    assert described(**host).asked_cards(None) == asked


def test_an_environment_counts_only_when_the_caller_wrote_it() -> None:
    everything = described(env=["NVIDIA_VISIBLE_DEVICES=all"])
    assert everything.asked_cards("all") == ()
    assert everything.asked_cards(None) == ("all",)
    assert described(env=["NVIDIA_VISIBLE_DEVICES=1, 2"]).asked_cards("all") == ("1", "2")
    assert described(env=["NVIDIA_VISIBLE_DEVICES=void"]).asked_cards("all") == ()
    assert described().asked_cards(None) == ()


def test_an_images_own_variable() -> None:
    assert read_image_variable(b'{"Config": {"Env": ["NVIDIA_VISIBLE_DEVICES=all"]}}') == "all"
    assert read_image_variable(b'{"Config": {"Env": null}}') is None
    assert read_image_variable(b'{"Config": null}') is None


def test_names_become_uuids() -> None:
    assert resolve(("0", CARDS[2].uuid), CARDS) == (CARDS[0].uuid, CARDS[2].uuid)
    assert resolve(("all",), CARDS) == tuple(card.uuid for card in CARDS)
    assert resolve(("GPU-bbbbbbbb",), CARDS) == (CARDS[1].uuid,)
    assert resolve(("7", "GPU-"), CARDS) == ()
