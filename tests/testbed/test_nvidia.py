"""What a container sees of stand-in cards through NVIDIA's real runtime, on both engines."""

import pytest

from . import nvidia
from .daemons import DockerHost
from .image import IMAGE, IMAGE_GPU
from .processes import TestbedError

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]
LOOK = "ls /dev | grep -x 'nvidia[0-9]*' | tr '\\n' ' '"
OPEN = "mknod /tmp/c c 195 {minor} && head -c1 /tmp/c 2>&1 | sed 's/.*: //'"
GRANTED, REFUSED = "No such device or address", "Operation not permitted"


def seen(host: DockerHost, *options: str, image: str = IMAGE) -> list[str]:
    """Return the names of the cards in a container that is started with these options."""
    return host.docker("run", "--rm", *options, image, "sh", "-c", LOOK).split()


def test_a_full_uuid_shows_exactly_that_card(host: DockerHost) -> None:
    for card in host.cards:
        assert seen(host, "--env", f"NVIDIA_VISIBLE_DEVICES={card.uuid}") == [f"nvidia{card.index}"]


def test_an_image_that_asks_for_all_gets_all_unless_void(host: DockerHost) -> None:
    assert seen(host) == []
    assert seen(host, image=IMAGE_GPU) == ["nvidia0", "nvidia1"]
    assert seen(host, "--env", "NVIDIA_VISIBLE_DEVICES=void", image=IMAGE_GPU) == []


def test_a_short_uuid_is_refused(host: DockerHost) -> None:
    with pytest.raises(TestbedError, match="unresolvable CDI devices"):
        seen(host, "--env", f"NVIDIA_VISIBLE_DEVICES={host.cards[0].uuid[:12]}")


def test_dockers_own_options(host: DockerHost) -> None:
    assert seen(host, "--gpus", "device=1") == ["nvidia1"]
    if host.variant == "today":
        assert seen(host, "--device", "nvidia.com/gpu=0") == ["nvidia0"]


def test_only_the_granted_card_opens_until_it_is_lost(host: DockerHost) -> None:
    grant = ["--env", f"NVIDIA_VISIBLE_DEVICES={host.cards[1].uuid}"]
    container = host.docker("run", "--detach", *grant, IMAGE)

    def opened(minor: int) -> str:
        return host.docker("exec", container, "sh", "-c", f"rm -f /tmp/c; {OPEN.format(minor=minor)}")

    assert (opened(1), opened(0)) == (GRANTED, REFUSED)
    nvidia.lose(container, host.cards[1])
    assert opened(1) == REFUSED
    host.docker("rm", "--force", container)
