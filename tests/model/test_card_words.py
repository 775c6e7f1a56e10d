"""Words about cards: model names and aliases, --simulate, labels that declare cards."""

import pytest

from berth.model.declared import declared, is_ours
from berth.model.errors import BadInput
from berth.model.gpu_model import memory_in_name, model_matches, normalise
from berth.model.simulate import SimulatedNode, check_names, models_of, parse_simulate


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("Tesla V100-SXM2-16GB", "Tesla-V100-SXM2-16GB"),
        ("NVIDIA GeForce RTX 3090", "GeForce-RTX-3090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada-Generation"),
        ("AMD Instinct MI250X / MI250", "Instinct-MI250X-MI250"),
        ("Tesla-V100", "Tesla-V100"),
        ("NVIDIA", "NVIDIA"),
        ("  ", ""),
    ],
)
def test_model_names_become_labels(name: str, label: str) -> None:
    assert normalise(name) == label
    assert normalise(label) == label


@pytest.mark.parametrize(
    ("wanted", "model", "matches"),
    [
        ("A100", "A100-SXM4-80GB", True),
        ("A10", "A100-SXM4-80GB", False),
        ("A10", "A10-24GB", True),
        ("V100", "Tesla-V100-SXM2-16GB", True),
        ("Tesla-V100", "Tesla-V100-SXM2-16GB", True),
        ("tesla v100", "Tesla-V100-SXM2-16GB", True),
        ("a100-sxm4-80gb", "A100-SXM4-80GB", True),
        ("A100-80GB", "A100-SXM4-80GB", True),
        ("A100-40GB", "A100-SXM4-80GB", False),
        ("SXM4-A100", "A100-SXM4-80GB", False),
        ("NVIDIA A100", "A100-SXM4-80GB", True),
        ("", "A100", False),
    ],
)
def test_a_wanted_model_matches_whole_parts(wanted: str, model: str, matches: bool) -> None:
    assert model_matches(wanted, model) is matches


def test_a_model_set_by_hand_stays_an_alias() -> None:
    assert model_matches("big-gpu", "A100-SXM4-80GB", ("big gpu",))
    assert not model_matches("big", "A100-SXM4-80GB", ("bigger",))


@pytest.mark.parametrize(
    ("model", "mib"),
    [("A100-SXM4-80GB", 81920), ("A10-24GB", 24576), ("A100-80GB-PCIe", 81920), ("T4", 0), ("RTX-3090", 0)],
)
def test_memory_in_a_name(model: str, mib: int) -> None:
    assert memory_in_name(model) == mib


def test_a_spec_with_mixed_models() -> None:
    spec = parse_simulate("node1=A100-SXM4-80GB:4,node2=Tesla-V100-SXM2-16GB:2+A10-24GB:1,*=T4:1")
    assert spec[0] == SimulatedNode("node1", ("A100-SXM4-80GB",) * 4)
    assert models_of(spec, "node2") == ("Tesla-V100-SXM2-16GB", "Tesla-V100-SXM2-16GB", "A10-24GB")
    assert models_of(spec, "node3") == ("T4",)
    assert models_of(spec[:1], "node3") == ()


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("node1", 1, "'node1' has no ="),
        ("", 1, "a part is empty"),
        ("n1=A:1,", 8, "a part is empty"),
        ("n1=A:1,n 2=A:1", 8, "'n 2' is not a node's name"),
        ("n1=A:1,n1=B:2", 8, "the node n1 is named twice"),
        ("n1=A100", 4, "'A100' is not MODEL:COUNT"),
        ("n1=A:1+B:x", 8, "'x' is not a number of cards"),
        ("n1=A:-1", 4, "'-1' is not a number of cards"),
        ("n1=A:99999", 4, "'99999' is not a number of cards from 0 to 1024"),
    ],
)
def test_a_wrong_spec_is_refused_at_its_place(text: str, column: int, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_simulate(text)
    (problem,) = caught.value.problems
    assert (problem.code, problem.column, problem.excerpt) == ("simulate-spec", column, text)
    assert told in problem.message
    assert "node1=A100-SXM4-80GB:4" in problem.hint


def test_an_unknown_node_is_refused_with_the_names_that_exist() -> None:
    check_names(("*", "gpu-1"), {"gpu-2", "gpu-1"})
    with pytest.raises(BadInput) as caught:
        check_names(("gpu-3",), {"gpu-2", "gpu-1"})
    (problem,) = caught.value.problems
    assert problem.code == "simulate-unknown-node"
    assert "gpu-3" in problem.message
    assert "gpu-1, gpu-2" in problem.hint


HAND = {"gpu.enable": "true", "gpu.model": "Tesla-V100", "gpu.driver": "470.82.01", "gpu.free": "2"}


def test_hand_labels_declare_cards() -> None:
    first, second = declared("gpu-2", HAND).cards
    assert (first.uuid, second.uuid, second.index) == ("gpu-2/0", "gpu-2/1", 1)
    assert (first.model, first.driver, first.vendor, first.declared) == ("Tesla-V100", "470.82.01", "nvidia", True)


def test_count_goes_before_free_and_the_difference_is_taken() -> None:
    found = declared("gpu-2", {**HAND, "gpu.count": "4"})
    assert [card.index for card in found.cards] == [0, 1, 2, 3]
    assert found.taken == 2
    assert declared("gpu-2", HAND).taken == 0


def test_named_cards_are_the_only_ones() -> None:
    found = declared("gpu-2", {**HAND, "gpu.count": "4", "gpu.cards": "3, 2"})
    assert [card.uuid for card in found.cards] == ["gpu-2/2", "gpu-2/3"]
    assert found.taken == 0
    assert declared("gpu-2", {**HAND, "gpu.cards": "2,3", "gpu.free": "1"}).taken == 1


def test_a_bad_list_of_cards_gives_none_rather_than_others() -> None:
    found = declared("gpu-2", {**HAND, "gpu.cards": "two"})
    assert found.cards == ()
    assert [problem.field for problem in found.problems] == ["gpu.cards"]


@pytest.mark.parametrize("key", ["gpu.enable", "gpu.schedule"])
def test_a_node_that_a_person_took_away_declares_nothing(key: str) -> None:
    assert not is_ours({**HAND, key: "False"})
    assert declared("gpu-2", {**HAND, key: "False"}).cards == ()
    assert declared("gpu-2", {}).cards == ()
    assert declared("gpu-2", {}).problems == ()


def test_a_node_without_a_number_is_said_to_have_none() -> None:
    (problem,) = declared("gpu-2", {"gpu.enable": "true"}).problems
    assert (problem.code, problem.field) == ("declared-label", "gpu.count")


@pytest.mark.parametrize(("text", "mib"), [("16384", 16384), ("16GiB", 16384), ("16 GB", 15258), ("1.5g", 1536)])
def test_memory_labels(text: str, mib: int) -> None:
    assert declared("gpu-2", {**HAND, "gpu.memory": text}).cards[0].memory_mib == mib


def test_a_bad_memory_label_falls_back_to_the_model() -> None:
    found = declared("gpu-2", {**HAND, "gpu.model": "Tesla V100-SXM2-16GB", "gpu.memory": "lots"})
    assert found.cards[0].memory_mib == 16384
    assert found.cards[0].aliases == ("Tesla V100-SXM2-16GB",)
    assert [problem.field for problem in found.problems] == ["gpu.memory"]


def test_no_cards_is_an_answer_only_of_gpu_count() -> None:
    found = declared("gpu-2", {"gpu.enable": "true", "gpu.count": "0"})
    assert (found.cards, found.problems) == ((), ())
    (problem,) = declared("gpu-2", {"gpu.enable": "true", "gpu.free": "0"}).problems
    assert "gpu.free=0 and no gpu.count" in problem.message
