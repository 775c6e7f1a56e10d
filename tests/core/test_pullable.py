"""When an image is refused before a start, when it is only warned of, and when nothing is said."""

import pytest

from berth.core.pullable import demanded, refusal, warnings
from berth.core.stand import Memo
from berth.model.image import KnownImage, RegistryAnswer, Verdict
from berth.model.spec import TaskSpec
from tests.build import card, spec, view

NODES = (view("g1", [card("g1", 0, driver="550.54.14")]), view("g2", [card("g2", 0)]), view("cpu"))


def known(verdict: Verdict, here: str = "", lacking: str = "", registry: str = "r.example") -> KnownImage:
    """What is known: the registry's verdict, and the nodes that have the image or said that they have not."""
    answer = RegistryAnswer(registry=registry, verdict=verdict, said="so it said")
    return KnownImage(here=frozenset(here.split()), lacking=frozenset(lacking.split()), registry=answer)


def told(of: TaskSpec, image: KnownImage) -> list[str]:
    return [problem.code for problem in warnings(of, image, NODES, Memo())]


@pytest.mark.parametrize(
    ("image", "code"),
    [
        (known("denied", lacking="g1 g2"), "image-denied"),
        (known("absent", lacking="g1 g2 cpu"), "image-absent"),
        (known("absent", lacking="g1"), None),
        (known("absent", here="g2", lacking="g1"), None),
        (known("unreachable", lacking="g1 g2"), None),
        (known("found", lacking="g1 g2"), None),
    ],
)
def test_only_a_definite_no_where_no_candidate_has_the_image_is_refused(image: KnownImage, code: str | None) -> None:
    found = refusal(spec(1), image, NODES, Memo())
    assert (found.code if found else None) == code


def test_a_task_without_cards_could_go_to_every_node() -> None:
    assert refusal(spec(0), known("absent", lacking="g1 g2"), NODES, Memo()) is None
    assert refusal(spec(0), known("absent", lacking="g1 g2 cpu"), NODES, Memo()) is not None


@pytest.mark.parametrize(
    ("image", "codes"),
    [
        (known("denied", lacking="g1"), ["image-not-pullable"]),
        (known("absent", here="g1 g2"), []),
        (known("absent", here="g1"), ["image-not-pullable"]),
        (known("unreachable"), ["registry-unreachable"]),
        (known("unreachable", here="g1"), ["registry-unreachable"]),
        (known("unreachable", registry="docker.io"), ["registry-unreachable"]),
        (known("unreachable", here="g1", registry="docker.io"), []),
        (known("found"), []),
        (KnownImage(), []),
    ],
)
def test_what_is_warned_of(image: KnownImage, codes: list[str]) -> None:
    assert told(spec(1), image) == codes


def test_cards_of_which_too_little_is_known_are_named() -> None:
    image = KnownImage(here=frozenset(("g1", "g2")), env={"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"})
    (only,) = warnings(spec(1), image, NODES, Memo())
    assert only.code == "image-demand-unknown"
    assert "something of cuda, which nothing tells for the cards of node g2" in only.message


def test_a_variable_of_the_file_counts_instead_of_the_image_s() -> None:
    image = KnownImage(env={"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"})
    switched_off = spec(1, env=(("NVIDIA_DISABLE_REQUIRE", "true"),))
    assert [demand.any_of for demand in demanded(spec(1), image)][1:] == [(("cuda>=12.4",),)]
    assert demanded(switched_off, image)[1:] == ()
