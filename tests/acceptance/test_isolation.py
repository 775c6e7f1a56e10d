"""Real isolation: what a container can open is what the ledger granted, whatever a person, a file or an image asks."""

import json
from collections.abc import Iterator

import pytest

from tests.acceptance.berth import stays, until
from tests.acceptance.carded import LOOK, Carded
from tests.acceptance.refused import gpu

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]

ONE_CARD = """\
    deploy:
      resources:
        reservations:
          devices:
            - {driver: nvidia, count: 1, capabilities: [gpu]}
"""
TWO_SLOTS = ONE_CARD.replace("deploy:", "deploy:\n      replicas: 2")
XYZ = f"""\
services:
  x:
    image: bb:1
{ONE_CARD}
  y:
    image: bb:1
{ONE_CARD}
  z:
    image: bb:1
{TWO_SLOTS}
"""
HUNGRY = """\
services:
  eater:
    image: bb:1
    command: ["sh", "-c", "sleep 1; x=$$(head -c 134217728 /dev/zero | tr '\\\\0' x)"]
    deploy:
      restart_policy: {condition: none}
      resources:
        limits: {memory: 32M}
        reservations: {devices: [{capabilities: [gpu], count: 1}]}
"""
WITHOUT_CARDS = """\
services:
  image-says-all:
    image: bb-gpu:1
  image-says-all-and-berth-places:
    image: bb-gpu:1
    deploy: {placement: {constraints: ["gpu.model exists"]}}
  zero:
    image: bb-gpu:1
    environment: [NVIDIA_VISIBLE_DEVICES=all]
    gpus: 0
  void:
    image: bb-gpu:1
    environment: {NVIDIA_VISIBLE_DEVICES: void}
  by-swarm-resource:
    image: bb:1
    environment: {DOCKER_RESOURCE_GPU: CARD, DOCKER_RESOURCE_OTHER: CARD}
  privileged:
    image: bb-gpu:1
    privileged: true
"""
GREEDY = f"""\
services:
  s:
    image: bb-gpu:1
    environment:
      NVIDIA_VISIBLE_DEVICES: all
      DOCKER_RESOURCE_GPU: CARD
      NVIDIA_MIG_CONFIG_DEVICES: all
      NVIDIA_DRIVER_CAPABILITIES: utility
{ONE_CARD}
"""
MADE_BY_HAND = "mknod /tmp/c c 195 {minor} 2>&1; head -c1 /dev/nvidia{minor} 2>&1; true"


@pytest.fixture
def wrong_map(carded: Carded) -> Iterator[Carded]:
    """The node's CDI file gives each card the device of the other one."""
    document = json.loads(carded.map.read_text())
    for device in document["devices"]:
        for node in device["containerEdits"]["deviceNodes"]:
            node["path"], node["hostPath"] = (_swapped(node[key]) for key in ("path", "hostPath"))
    carded.map.write_text(json.dumps(document))
    try:
        yield carded
    finally:
        carded.mend()


def _swapped(path: str) -> str:
    return f"{path[:-1]}{1 - int(path[-1])}"


def test_the_doors_are_open_without_berth(carded_docker: Carded) -> None:
    """Each way past Berth that the tests below close does give a card on this node when a person takes it."""
    host, card = carded_docker.host, carded_docker.cards[1]
    look = ("bb:1", "sh", "-c", LOOK)
    ways = [
        ("--env", "NVIDIA_VISIBLE_DEVICES=all"),
        ("--env", f"DOCKER_RESOURCE_GPU={card}"),
        ("--volume", f"/dev/null:/var/run/nvidia-container-devices/{card}"),
        ("--device", f"nvidia.com/gpu={card}"),
        ("--annotation", f"cdi.k8s.io/x=nvidia.com/gpu={card}"),
    ]
    for words in ways:
        seen = host.docker("run", "--rm", "--label", "by-hand", *words, *look).split()
        assert "nvidia1" in seen, words


def test_x_and_y_see_two_different_cards_and_z_waits(carded: Carded) -> None:
    assert carded.deploy("team", XYZ).returncode == 0
    carded.running("team_x")
    carded.running("team_y")
    x, y = carded.seen("team_x"), carded.seen("team_y")
    assert sorted([*x, *y]) == ["nvidia0", "nvidia1"]
    assert (x, y) == (carded.granted("team_x"), carded.granted("team_y"))
    why = carded.berth.json("why", "team_z")
    assert why["reason"] == "free-cards"
    assert "0 of 2 free" in why["message"]
    assert {task["state"] for task in carded.berth.job("team_z")["tasks"]} <= {"waiting", "prepared"}
    carded.berth("cancel", "team_x", "-y")
    until(lambda: carded.berth.job("team_z")["state"] == "running", 20, "z follows", step=0.3)
    slots = carded.berth.job("team_z")["tasks"]
    assert sorted(len(task["cards"]) for task in slots if task["state"] == "running") == [1]
    assert carded.seen("team_z") == x


def test_without_cards_a_container_sees_none_whatever_image_and_file_say(carded: Carded) -> None:
    done = carded.deploy("none", WITHOUT_CARDS.replace("CARD", carded.cards[0]))
    assert done.returncode == 0, done.stderr
    assert "DOCKER_RESOURCE_GPU" in done.stderr
    assert "privileged" in done.stderr
    names = [line[2:-1] for line in WITHOUT_CARDS.splitlines() if line.startswith("  ") and line[2] != " "]
    assert len(names) == 6
    for name in names:
        for daemon, container in until(lambda name=name: carded.containers(f"none_{name}"), 15, name):
            assert daemon.docker("exec", container, "sh", "-c", LOOK) == "", name
            assert daemon.inspect(container)["HostConfig"]["Privileged"] is False
            assert not [pair for pair in daemon.inspect(container)["Config"]["Env"] if "DOCKER_RESOURCE" in pair]
    assert carded.berth.free() == 2


def test_with_a_card_it_sees_that_one_whatever_it_asks_besides(carded: Carded) -> None:
    done = carded.deploy("greedy", GREEDY.replace("CARD", carded.cards[1]))
    assert done.returncode == 0, done.stderr
    for said in ("NVIDIA_VISIBLE_DEVICES=all gives way", "DOCKER_RESOURCE_GPU is taken out", "stack.yml:5"):
        assert said in done.stderr
    carded.running("greedy_s")
    assert carded.granted("greedy_s") == ["nvidia0"]
    assert carded.seen("greedy_s") == ["nvidia0"]
    assert carded.variable("greedy_s", "NVIDIA_VISIBLE_DEVICES") == carded.cards[0]
    assert carded.variable("greedy_s", "DOCKER_RESOURCE_GPU") is None
    assert carded.variable("greedy_s", "NVIDIA_DRIVER_CAPABILITIES") == "utility"
    words = ("exec", carded.container("greedy_s"), "sh", "-c")
    mine, other = (carded.host.docker(*words, MADE_BY_HAND.format(minor=minor)) for minor in (0, 1))
    assert "No such device or address" in mine
    assert "No such file" in other
    assert "Operation not permitted" in other


def test_the_flags_of_run_are_kept_in_the_same_bounds(carded: Carded) -> None:
    words = ("-e", "NVIDIA_VISIBLE_DEVICES=all", "-e", f"DOCKER_RESOURCE_GPU={carded.cards[1]}", "bb-gpu:1")
    done = carded.berth.run("run", "--detach", "--gpus", "1", "--name", "one", *words, "sleep", "600")
    assert "NVIDIA_VISIBLE_DEVICES=all gives way" in done.stderr
    assert "DOCKER_RESOURCE_GPU is taken out" in done.stderr
    carded.run("--name", "none", "-e", f"DOCKER_RESOURCE_GPU={carded.cards[1]}", image="bb-gpu:1")
    carded.running("one")
    assert carded.seen("one") == carded.granted("one") == ["nvidia0"]
    [(daemon, container)] = carded.containers("none")
    assert daemon.docker("exec", container, "sh", "-c", LOOK) == ""


def test_a_list_in_nvidia_visible_devices_goes_through_the_ledger(carded: Carded) -> None:
    first = carded.run("-e", f"NVIDIA_VISIBLE_DEVICES={carded.cards[1]}")
    assert carded.seen(first) == carded.granted(first) == ["nvidia1"]
    second = carded.berth("run", "--detach", "-e", "NVIDIA_VISIBLE_DEVICES=1", "bb:1").strip()
    assert carded.berth.json("why", second)["reason"] == "free-cards"
    stays(lambda: carded.berth.job(second)["state"] == "waiting", 1.0, "the card is not given twice")


def test_a_lack_of_memory_is_told_as_one_on_every_node(carded: Carded) -> None:
    assert carded.deploy("hungry", HUNGRY).returncode == 0
    until(lambda: carded.berth.job("hungry_eater")["state"] == "failed", 30, "the kernel ends it", step=0.3)
    told = carded.berth.job("hungry_eater")
    assert (told["reason"], told["exit_code"], told["tasks"][0]["node"]) == ("oom", 137, carded.host.name)


def test_wrong_cards_stop_the_task_and_flag_the_node(wrong_map: Carded) -> None:
    carded = wrong_map
    job = carded.berth("run", "--detach", "--gpus", "1", "bb:1", "sleep", "600").strip()
    until(lambda: carded.berth.job(job)["state"] == "failed", 20, "stopped", step=0.3)
    told = carded.berth.job(job)
    assert told["reason"] == "wrong-cards"
    assert f"{carded.cards[1]} (/dev/nvidia1), which Berth did not grant" in told["message"]
    assert "toolkit" in told["message"]
    [attempt] = carded.berth.json("history", job)
    assert (attempt["reason"], attempt["error"]) == ("wrong-cards", told["message"])
    assert not carded.containers(job)
    [node] = [node for node in carded.berth.json("nodes") if node["name"] == "gpu-2"]
    assert (node["flag"], node["state"]) == (f"wrong cards: {told['message']}", "draining")
    events = [event for event in carded.berth.json("events") if event["kind"] == "wrong-cards"]
    assert (events[-1]["node"], events[-1]["job"]) == ("gpu-2", told["id"])
    assert told["message"] in events[-1]["message"]
    until(lambda: carded.berth.free() == 2, 5, "the card is given back")


def test_a_flagged_node_gets_no_more_cards_until_a_person_has_mended_it(wrong_map: Carded) -> None:
    carded = wrong_map
    first = carded.berth("run", "--detach", "--gpus", "1", "bb:1", "sleep", "600").strip()
    until(lambda: carded.berth.job(first)["state"] == "failed", 20, "stopped", step=0.3)
    second = carded.berth("run", "--detach", "--gpus", "1", "bb:1", "sleep", "600").strip()
    why = carded.berth.json("why", second)
    assert "wrong cards" in {entry["node"]: entry for entry in why["nodes"]}["gpu-2"]["refusals"][0]["message"]
    carded.mend()
    carded.running(second)
    assert carded.seen(second) == carded.granted(second)


def test_a_count_of_zero_is_a_job_without_cards(carded_docker: Carded) -> None:
    done = carded_docker.deploy("zero", gpu("{count: 0, capabilities: [gpu]}"))
    assert done.returncode == 0, done.stderr
    try:
        carded_docker.running("zero_s")
        assert carded_docker.variable("zero_s", "NVIDIA_VISIBLE_DEVICES") == "void"
        assert carded_docker.berth.free() == 2
    finally:
        carded_docker.clean()
