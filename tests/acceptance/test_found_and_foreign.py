"""The same stack file on a node that an agent found, and a hand-labelled node on which somebody's work runs already."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, stays, until
from tests.acceptance.test_stack_on_swarm import STACK, clean, container, free_label, labels_of, secret
from tests.testbed.swarm import Swarm

pytestmark = pytest.mark.engine


@pytest.fixture
def bare(swarm: Swarm, tmp_path: Path) -> Iterator[Path]:
    """The Swarm with the team's secret, and the team's folder; everything is taken away afterwards."""
    swarm.manager.docker("secret", "create", "ngc_api_key", str(secret(tmp_path)))
    (tmp_path / "docker-compose.yml").write_text(STACK)
    try:
        yield tmp_path
    finally:
        clean(swarm)


def test_the_file_runs_on_cards_that_were_found_under_their_full_model(swarm: Swarm, bare: Path) -> None:
    swarm.cli("node", "update", "--label-add", "gpu.enable=true", "gpu-2")
    cards = ("--simulate", "gpu-2=Tesla-V100-SXM2-16GB:2")
    with Berth(bare, "--docker-host", swarm.manager.url, *cards) as berth:
        until(lambda: labels_of(swarm, "gpu-2").get("gpu.model") == "Tesla-V100-SXM2-16GB", 5, "the label")
        berth("stack", "deploy", "-c", "docker-compose.yml", "gpu-job")
        berth("wait", "gpu-job_ai-training", "--for", "running", "--timeout", "30s")
        inspected = swarm.node("gpu-2").inspect(container(swarm))
        uuids = [card["uuid"] for card in berth.json("cards")]
        env = dict(pair.split("=", 1) for pair in inspected["Config"]["Env"])
        assert env["NVIDIA_VISIBLE_DEVICES"] == ",".join(uuids)
        assert inspected["Config"]["Labels"]["berth.cards"] == ",".join(uuids)
        until(lambda: free_label(swarm) == "0", 5)
        berth("stack", "rm", "gpu-job", "-y")
        until(lambda: free_label(swarm) == "2", 20)


def test_cards_that_somebody_uses_when_a_node_is_adopted_are_foreign_until_that_ends(swarm: Swarm, bare: Path) -> None:
    swarm.cli(
        "service", "create", "--detach", "--no-resolve-image", "--name", "theirs", "--constraint",
        "node.hostname==gpu-2", "--env", "NVIDIA_VISIBLE_DEVICES=0", "bb:1", "sleep", "600",
    )  # fmt: skip
    container(swarm)
    labels = ("gpu.enable=true", "gpu.model=Tesla-V100", "gpu.count=2", "gpu.free=1")
    swarm.cli("node", "update", *(word for label in labels for word in ("--label-add", label)), "gpu-2")
    with Berth(bare, "--docker-host", swarm.manager.url) as berth:
        states = {card["uuid"]: card["state"] for card in berth.json("cards")}
        assert states == {"gpu-2/0": "foreign", "gpu-2/1": "free"}
        berth("run", "--detach", "--gpus", "1", "--name", "ours", "bb:1", "sleep", "600")
        until(lambda: berth.job("ours")["state"] == "running", 20)
        assert berth.job("ours")["tasks"][0]["cards"] == ["gpu-2/1"]
        berth("run", "--detach", "--gpus", "1", "--name", "next", "bb:1", "sleep", "600")
        stays(lambda: berth.job("next")["state"] == "waiting", 2, "a foreign card is not given")
        swarm.cli("service", "rm", "theirs")
        until(lambda: berth.job("next")["state"] == "running", 30, "the card is free when theirs has ended")
        assert berth.job("next")["tasks"][0]["cards"] == ["gpu-2/0"]
        berth("cancel", "ours", "-y")
        berth("cancel", "next", "-y")
        until(lambda: free_label(swarm) == "2", 20)
