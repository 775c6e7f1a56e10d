"""The --cards file and the cards made from SPEC, file and labels."""

import json
import os
import uuid
from pathlib import Path

import msgspec
import pytest

from berth.api import views
from berth.model.errors import BadInput
from berth.model.simulate import parse_simulate
from berth.vendors import detect
from berth.vendors.cards_file import CardsFile
from berth.vendors.declared import DeclaredCards
from berth.vendors.simulated import SimulatedCards


def write(path: Path, *cards: dict[str, object]) -> Path:
    """Write a --cards file in one step, as an editor does."""
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(cards))
    return draft.replace(path)


def test_simulated_uuids_follow_from_node_and_index() -> None:
    cards = SimulatedCards("gpu-1", parse_simulate("gpu-1=A100-SXM4-80GB:2")).discover()
    assert cards[1].uuid == "GPU-" + str(uuid.uuid5(uuid.NAMESPACE_OID, "gpu-1/1"))
    assert [(card.model, card.memory_mib, card.vendor) for card in cards] == [
        ("A100-SXM4-80GB", 81920, "simulated")
    ] * 2


def test_a_file_sets_exact_facts(tmp_path: Path) -> None:
    said = {
        "uuid": "GPU-a", "node": "gpu-1", "model": "NVIDIA A10", "memory_mib": 23028, "driver": "535.1",
        "cuda": "12.2", "nvlink": ["GPU-b"], "util": 12.5, "mem_used_mib": 900,
    }  # fmt: skip
    vendor = SimulatedCards("gpu-1", cards=write(tmp_path / "cards", said, {"node": "gpu-9", "model": "T4"}))
    (card,) = vendor.discover()
    assert (card.uuid, card.node, card.index, card.model, card.memory_mib) == ("GPU-a", "gpu-1", 0, "A10", 23028)
    assert (card.driver, card.cuda, card.nvlink) == ("535.1", "12.2", ("GPU-b",))
    (use,) = vendor.usage()
    assert (use.uuid, use.util, use.mem_used_mib) == ("GPU-a", 12.5, 900)


def test_a_file_goes_over_the_spec_card_by_card(tmp_path: Path) -> None:
    file = write(tmp_path / "cards", {"node": "gpu-1", "index": 1, "uuid": "GPU-b"}, {"node": "gpu-1", "model": "T4"})
    first, second, third = SimulatedCards("gpu-1", parse_simulate("*=A100-SXM4-80GB:2"), file).discover()
    assert (first.model, second.model, third.model) == ("A100-SXM4-80GB", "A100-SXM4-80GB", "T4")
    assert (second.uuid, second.memory_mib) == ("GPU-b", 81920)


def test_what_berth_prints_of_a_card_can_be_fed_back(tmp_path: Path) -> None:
    printed = views.Card(
        uuid="GPU-a", node="gpu-1", index=3, vendor="nvidia", model="T4", memory_mib=15360, driver="535.1", cuda="",
        state="used", reason="", job="j1", job_name="train", task="j1.1", share=1.0, holders=[], declared=False,
        numa=None, nvlink=("GPU-b",),
    )  # fmt: skip
    file = tmp_path / "cards"
    file.write_bytes(msgspec.json.encode([printed]))
    (card,) = SimulatedCards("gpu-1", cards=file).discover()
    assert (card.uuid, card.index, card.vendor) == ("GPU-a", 3, "simulated")


def test_a_file_tells_which_nodes_it_names(tmp_path: Path) -> None:
    file = write(tmp_path / "cards", {"node": "b"}, {"node": "a"}, {"node": "a"}, {"model": "T4"})
    assert CardsFile(file).nodes() == ("a", "b")


def test_a_change_of_the_file_is_seen_and_a_bad_one_reported(tmp_path: Path) -> None:
    file = write(tmp_path / "cards", {"model": "T4", "util": 1})
    vendor = SimulatedCards("gpu-1", cards=file)
    assert vendor.usage()[0].util == 1.0
    write(file, {"model": "T4", "util": 80}, {"model": "T4"})
    assert [use.util for use in vendor.usage()] == [80.0, 0.0]
    file.write_text("[{]")
    assert len(vendor.discover()) == 2
    (fault,) = vendor.faults
    assert (fault.code, fault.file) == ("cards-file", str(file))
    os.unlink(file)
    assert len(vendor.discover()) == 2
    assert "No such file" in vendor.faults[0].message
    write(file, {"model": "T4"})
    assert len(vendor.discover()) == 1
    assert vendor.faults == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "is not a JSON list of card objects"),
        ("[1]", "is not a JSON list of card objects"),
        ('[{"memory_mb": 1}]', "has an unknown field memory_mb in object 0"),
        ('[{"memory_mib": "much"}]', "is wrong in object 0"),
        ('[{"index": -1}]', "has a negative number in object 0"),
        ('[{"uuid": "GPU-a"}, {"uuid": "GPU-a"}]', "lists the uuid GPU-a twice"),
    ],
)
def test_a_bad_file_is_refused_at_the_start(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "cards"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        SimulatedCards("gpu-1", cards=file)
    (problem,) = caught.value.problems
    assert (problem.code, problem.file) == ("cards-file", str(file))
    assert told in problem.message
    assert problem.hint


def test_the_nearest_field_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        SimulatedCards("gpu-1", cards=write(tmp_path / "cards", {"memory_mb": 1}))
    assert caught.value.problems[0].hint == "Write memory_mib."


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        detect("auto", "gpu-1", cards=tmp_path / "absent")


@pytest.mark.parametrize(
    ("name", "told"),
    [("amd", "There is no vendor amd"), ("declared", "needs a file"), ("simulated", "need to be named")],
)
def test_a_vendor_that_cannot_be_chosen(name: str, told: str) -> None:
    with pytest.raises(BadInput, match=told) as caught:
        detect(name, "gpu-1")
    assert caught.value.problems[0].code == "vendor-unknown"
    assert caught.value.problems[0].hint


def test_declared_cards_of_a_file_are_named_by_index_unless_they_have_a_uuid(tmp_path: Path) -> None:
    file = write(tmp_path / "cards", {"index": 2, "model": "T4"}, {"index": 5, "model": "T4", "uuid": "GPU-f"})
    vendor = DeclaredCards("gpu-1", file)
    cards = vendor.discover()
    assert [(card.uuid, card.declared) for card in cards] == [("gpu-1/2", True), ("GPU-f", True)]
    assert vendor.mount(cards).env == {"NVIDIA_VISIBLE_DEVICES": "2,GPU-f"}


def test_labels_that_say_nothing_are_faults() -> None:
    vendor = DeclaredCards("gpu-1", labels={"gpu.enable": "true", "gpu.count": "many"})
    assert vendor.discover() == ()
    assert vendor.faults[0].field == "gpu.count"
