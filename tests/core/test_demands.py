"""What images demand of cards: read from their environment, asked of cards, and told as the reason of a wait."""

from itertools import pairwise

import pytest

from berth.core.demands import demands_of, doubt, unmet
from berth.core.demands.cuda import DRIVERS, MINOR, at_least, cuda_of, driver_for
from berth.core.explain import explain
from berth.model.card import Card
from berth.model.image import Demand, relevant
from berth.model.node import Node
from berth.model.snapshot import NodeView
from berth.model.spec import Request
from tests.build import card, view
from tests.core.waiting import FIFO, placed, plan, snap, waits, wants

ARCH = "arch>=8.0"
NODE = Node(name="g1", engine="docker")
REQUIRE = "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=geforce,driver>=535,driver<536"


def of(model: str = "A100-SXM4-80GB", **facts: str) -> Card:
    """One NVIDIA card with these facts."""
    return Card(uuid="GPU-1", node="g1", index=0, vendor=facts.pop("vendor", "nvidia"), model=model, **facts)


def answers(env: dict[str, str], of_card: Card, at: Node = NODE) -> tuple[bool, str]:
    """Whether the card meets the image's demands, and what is not known to tell."""
    found = demands_of(env)
    missing = " and ".join(why for demand in found if (why := doubt(demand, of_card, at)))
    return not any(unmet(demand, of_card, at) for demand in found), missing


@pytest.mark.parametrize(
    ("env", "facts", "meets"),
    [
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, {"driver": "470.57.02"}, False),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, {"driver": "550.54.14"}, True),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, {"driver": "550.54.09"}, False),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, {"driver": "470.57.02", "cuda": "12.4"}, True),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=9.9"}, {"cuda": "10.0"}, True),
        ({"NVIDIA_REQUIRE_CUDA": REQUIRE}, {"driver": "470.57.02", "brand": "tesla"}, True),
        ({"NVIDIA_REQUIRE_CUDA": REQUIRE}, {"driver": "470.57.02", "brand": "geforce"}, False),
        ({"NVIDIA_REQUIRE_CUDA": REQUIRE}, {"driver": "535.54.03", "brand": "geforce"}, True),
        ({"NVIDIA_REQUIRE_CUDA": REQUIRE}, {"driver": "471.11", "brand": "tesla"}, False),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=11.0", "NVIDIA_REQUIRE_ARCH": ARCH}, {"cuda": "12.0", "arch": "7.0"}, False),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=11.0", "NVIDIA_REQUIRE_ARCH": ARCH}, {"cuda": "12.0", "arch": "9.0"}, True),
        ({"NVIDIA_REQUIRE_JETPACK": "csv-mounts=all"}, {"driver": "470.57.02"}, True),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "1"}, {"driver": "470.57.02"}, True),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "0"}, {"driver": "470.57.02"}, False),
        ({"CUDA_VERSION": "12.4.1"}, {"driver": "525.60.13"}, True),
        ({"CUDA_VERSION": "12.4.1"}, {"driver": "520.61.05"}, False),
        ({"CUDA_VERSION": "12.4.1"}, {"cuda": "12.1"}, True),
        ({"CUDA_VERSION": "12.4.1"}, {"cuda": "11.8"}, False),
        ({"CUDA_VERSION": "10.2.89"}, {"driver": "440.33"}, True),
        ({"CUDA_VERSION": "10.2.89"}, {"driver": "418.39"}, False),
        ({"CUDA_VERSION": "12.4.1", "NV_CUDA_COMPAT_PACKAGE": "cuda-compat-12-4"}, {"driver": "470.57.02"}, True),
        ({"CUDA_VERSION": "12.4.1", "NVIDIA_REQUIRE_CUDA": "cuda>=11.0"}, {"driver": "470.57.02"}, True),
        ({"ROCM_PATH": "/opt/rocm"}, {}, False),
        ({"ROCM_PATH": "/opt/rocm"}, {"vendor": "amd"}, True),
        ({"CUDA_VERSION": "12.4.1"}, {"vendor": "amd", "driver": "6.0"}, False),
        ({"ROCM_PATH": "/opt/rocm", "CUDA_VERSION": "12.4.1"}, {"driver": "470.57.02"}, True),
        ({"PATH": "/bin"}, {}, True),
    ],
)  # fmt: skip
def test_demand_of_an_image(env: dict[str, str], facts: dict[str, str], meets: bool) -> None:
    assert answers(env, of(**facts))[0] is meets


@pytest.mark.parametrize(
    ("env", "facts", "missing"),
    [
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, {}, "cuda"),
        ({"NVIDIA_REQUIRE_CUDA": REQUIRE}, {"driver": "470.57.02"}, "brand"),
        ({"CUDA_VERSION": "12.4.1"}, {}, "driver version"),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, {"driver": "550.54.14"}, ""),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=99.0"}, {"driver": "999.0"}, "cuda"),
    ],
)
def test_unknown_facts_count_as_met_and_are_named(env: dict[str, str], facts: dict[str, str], missing: str) -> None:
    assert answers(env, of(**facts)) == (True, missing)


def test_facts_of_a_hand_labelled_node_are_its_labels() -> None:
    labelled = Node(name="g1", engine="swarm", labels={"gpu.driver": "470.57.02"})
    assert answers({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, of(), labelled)[0] is False
    assert answers({"NVIDIA_REQUIRE_CUDA": "cuda>=11.4"}, of("Tesla-V100"), labelled)[0] is True


def test_only_variables_that_demand_something_are_kept() -> None:
    env = {"PATH": "/bin", "API_KEY": "x", "NVIDIA_REQUIRE_CUDA": "cuda>=9.0", "NVIDIA_VISIBLE_DEVICES": "all"}
    assert relevant(env) == {"NVIDIA_REQUIRE_CUDA": "cuda>=9.0"}


def test_what_cannot_be_read_demands_nothing() -> None:
    assert demands_of({"NVIDIA_REQUIRE_CUDA": "cuda~9 ,,, foo>=1"})[1:] == ()
    assert demands_of({"CUDA_VERSION": "latest"})[1:] == ()


def test_the_tables_are_in_order_and_agree() -> None:
    assert all(at_least(b[1], a[1]) for a, b in pairwise(DRIVERS))
    assert [cuda_of(first) for _, first in DRIVERS] == [cuda for cuda, _ in DRIVERS]
    assert {driver_for(f"{major}.1") for major in MINOR} == set(MINOR.values())
    assert (cuda_of("352.31"), cuda_of("nonsense")) == ("", "")


def _nodes() -> list[NodeView]:
    old = view("old", [card("old", index, driver="470.57.02") for index in (0, 1)])
    return [old, view("zed", [card("zed", 0, driver="550.54.14")])]


def test_a_demanding_image_avoids_the_node_with_the_old_driver_and_why_says_so() -> None:
    demands = demands_of({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"})
    assert placed(plan(_nodes(), wants("j1", request=Request(gpus=1, image=demands)))) == {"j1": ("zed", (0,))}
    why = explain(snap(_nodes(), wants("j1", request=Request(gpus=2, image=demands))), "j1.1", FIFO)
    assert why.never
    refusals = {one.node: [(r.rule, r.message) for r in one.refusals] for one in why.nodes}
    assert refusals["old"] == [
        (
            "image",
            "cards 0, 1: NVIDIA_REQUIRE_CUDA asks for cuda>=12.4 (driver 550.54.14 or newer), "
            "and it has driver 470.57.02, CUDA 11.4",
        )
    ]
    assert refusals["zed"][0] == ("capacity", "has 1 matching card, 2 needed")


def test_an_image_that_no_card_can_run_waits_with_reason_image() -> None:
    demands = (Demand("NVIDIA_REQUIRE_CUDA", (("cuda>=13.0",),)),)
    wait = waits(plan(_nodes(), wants("j1", request=Request(gpus=1, image=demands))))["j1"]
    assert (wait.reason, wait.never) == ("image", True)
    assert wait.message.startswith("the image cannot run on the cards of nodes old, zed: NVIDIA_REQUIRE_CUDA asks")


def test_work_without_cards_is_not_asked() -> None:
    demands = (Demand("NVIDIA_REQUIRE_CUDA", (("cuda>=13.0",),)),)
    assert placed(plan(_nodes(), wants("j1", request=Request(image=demands))))["j1"][1] == ()
