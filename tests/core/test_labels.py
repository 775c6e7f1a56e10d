"""Labels as the ledger dictates them, and the guard against killing other people's tasks."""

from berth.core.foreign import foreign_cards
from berth.core.labels import LabelWrite, label_write, leaving, wanted_labels, would_kill
from berth.model.seen import Other
from tests import build


def test_labels_of_a_node_tell_free_and_count() -> None:
    labels = wanted_labels(build.view("gpu-1", 4, used=[0, 2]))
    assert labels["gpu.free"] == "2"
    assert labels["gpu.count"] == "4"
    assert labels["gpu.model"] == "A100-SXM4-80GB"
    assert labels["gpu.memory"] == "81920"


def test_a_mixed_node_joins_its_models_and_tells_the_smallest_memory() -> None:
    cards = (build.card(index=0), build.card(index=1, model="A10-24GB", memory_mib=24576))
    labels = wanted_labels(build.view("gpu-1", cards))
    assert labels["gpu.model"] == "A100-SXM4-80GB+A10-24GB"
    assert labels["gpu.memory"] == "24576"


def test_only_differences_are_written_and_an_edit_by_hand_is_a_repair() -> None:
    node = build.node(labels={"gpu.free": "7", "gpu.count": "4", "zone": "a"}, written={"gpu.free": "2"})
    write = label_write(node, {"gpu.free": "2", "gpu.count": "4"}, {})
    assert write == LabelWrite(put={"gpu.free": "2"}, repairs=("gpu.free",))
    assert label_write(build.node(labels={"gpu.free": "2"}), {"gpu.free": "2"}, {}) is None


def test_what_berth_itself_sent_and_has_not_recorded_yet_is_no_edit() -> None:
    node = build.node(labels={"gpu.free": "1"}, written={"gpu.free": "2"})
    assert label_write(node, {"gpu.free": "0"}, {"gpu.free": "1"}) == LabelWrite(put={"gpu.free": "0"})


def test_a_node_that_leaves_gets_back_what_was_there_by_hand() -> None:
    node = build.node(
        labels={"gpu.free": "0", "gpu.count": "2", "zone": "a"},
        written={"gpu.free": "0", "gpu.count": "2"},
        before={"gpu.free": "2"},
    )
    assert leaving(node) == LabelWrite(put={"gpu.free": "2"}, drop=("gpu.count",))


def test_the_guard_finds_the_service_that_a_write_would_kill() -> None:
    node = build.node(labels={"gpu.free": "2"})
    write = LabelWrite(put={"gpu.free": "1"})

    def other(constraint: str, nodes: tuple[str, ...] = ("id-gpu-1",)) -> Other:
        return Other(id="x", name="web", kind="service", nodes=nodes, constraints=(constraint,))

    assert len(would_kill(node, write, [other("node.labels.gpu.free==2")])) == 1
    assert len(would_kill(node, write, [other("node.labels.gpu.free != 1")])) == 1
    assert would_kill(node, write, [other("node.labels.gpu.free==2", nodes=("id-gpu-2",))]) == ()
    assert would_kill(node, write, [other("node.labels.zone==a"), other("node.role==manager")]) == ()


def test_cards_that_others_name_are_foreign_and_all_where_they_name_none() -> None:
    cards = [build.card(index=0), build.card(index=1), build.card("gpu-2", 0)]
    ids = {"gpu-1": "id-gpu-1", "gpu-2": "id-gpu-2"}
    one = Other(id="x", name="web", kind="service", nodes=("id-gpu-1",), takes_cards=True, cards=("1",))
    assert set(foreign_cards(cards, ids, [one])) == {"GPU-gpu-1-1"}
    unnamed = Other(id="y", name="ml", kind="service", nodes=("id-gpu-1",), takes_cards=True)
    assert set(foreign_cards(cards, ids, [unnamed])) == {"GPU-gpu-1-0", "GPU-gpu-1-1"}
    harmless = Other(id="z", name="db", kind="service", nodes=("id-gpu-1",))
    assert foreign_cards(cards, ids, [harmless]) == {}
