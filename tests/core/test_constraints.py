"""The constraint language: what holds on which node and card, what is refused and where, what may reach Swarm."""

import re
import time
from pathlib import Path

import pytest

from berth.core.constraints import BadConstraint, card_ok, is_swarm_only, node_ok, parse
from berth.core.constraints.facts import of_card
from berth.core.constraints.quantity import compare, read
from berth.core.constraints.regex import LONGEST, BadPattern, compiled
from berth.model.snapshot import NodeView
from tests import build

PAGE = Path(__file__).parents[2] / "docs" / "constraints.md"
HAND = build.view("gpu-9", labels={"gpu.model": "A100-SXM4", "gpu.driver": "550.54", "gpu.free": "2"})


def example_node() -> NodeView:
    """The node of docs/constraints.md."""
    cards = [build.card("gpu-2", n, driver="550.54.14", cuda="12.4") for n in (0, 1)]
    labels = {"zone": "idc", "pue": "1.15", "kernel": "5.15.0-91", "disk": "2TB"}
    return build.view("gpu-2", cards, used=[0], labels=labels, ip="10.0.0.2", role="worker")


def rows(columns: int) -> list[list[str]]:
    """The rows of the page's tables that begin with a text in code quotes and have this many columns."""
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| `[^`]+` \|", line)]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [[cell.strip("| ") for cell in row] for row in cells if len(row) == columns]


EXAMPLES = [(row[0].strip("`"), row[1]) for row in rows(3) + rows(2) if row[1] in ("yes", "no")]
REFUSED = [(row[0].strip("`"), int(row[1]), row[2]) for row in rows(3) if row[1].isdigit()]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("nvidia.com/gpu.product==A100", "Write: gpu.model==A100"),
        ("node.labels.nvidia.com/gpu.product == A100", None),
        ("nvidia.com/gpu.memory >= 40000", "Write: gpu.memory >= 40000"),
        ("NVIDIA.com/gpu.count == 8", "Write: gpu.count == 8"),
    ],
)
def test_labels_of_cards_in_kubernetes_words(text: str, right: str | None) -> None:
    if right is None:
        assert parse(text).key == "node.labels.nvidia.com/gpu.product"
        return
    with pytest.raises(BadConstraint) as caught:
        parse(text)
    assert caught.value.hint == right


def test_the_page_has_its_tables() -> None:
    assert len(EXAMPLES) >= 30
    assert len(REFUSED) >= 10


@pytest.mark.parametrize(("text", "holds"), EXAMPLES)
def test_the_page_tells_what_holds(text: str, holds: str) -> None:
    assert node_ok(parse(text), example_node()) is (holds == "yes")


@pytest.mark.parametrize(("text", "column", "instead"), REFUSED)
def test_the_page_tells_what_is_refused(text: str, column: int, instead: str) -> None:
    with pytest.raises(BadConstraint) as caught:
        parse(text)
    assert caught.value.column == column
    assert instead in caught.value.hint
    assert str(column) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("node.labels.gpu.free>=1", True),
        ("node.labels.gpu.driver>=550.9", True),
        ("node.labels.gpu.driver>=1000", False),
        ("node.labels.gpu.model=~^A100", True),
        ("node.labels.gpu.model==a100-sxm4", True),
        ("node.labels.absent!=x", True),
        ("node.labels.absent>=1", False),
        ("gpu.count == 2", False),
        ("gpu.model exists", True),
        ("gpu.uuid not exists", True),
        ("gpu.enable exists", False),
    ],
)
def test_comparisons_on_a_node_that_has_only_labels(text: str, holds: bool) -> None:
    assert node_ok(parse(text), HAND) is holds


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "empty"),
        ("  == x", 3, "begins with a key"),
        ("node.labels.", 1, "not a key"),
        ("node == x", 1, "not a key"),
        ("node.lables.zone == a", 1, "not a key"),
        ("engine.label.os == x", 1, "not a key"),
        ("node.zone == a", 1, "not a key"),
        ("label.zone == a", 1, "not a key"),
        ("node.platform.oss == linux", 1, "not a key"),
        ("node.labels.x", 14, "operator is missing"),
        ("node.labels.x ~ y", 15, "'~' is not an operator"),
        ("node.labels.x not y", 15, "'not' is not an operator"),
        ("node.labels.x === y", 15, "'===' is not an operator"),
        ("node.labels.x <> y", 15, "'<>' is not an operator"),
        ("node.labels.x = ", 15, "'=' is not an operator"),
        ("node.labels.x exists y", 22, "nothing may follow"),
        ("node.labels.x in a, b", 18, "list in parentheses"),
        ("node.labels.x in (a, b", 23, "does not end"),
        ("node.labels.x in (a, b) c", 26, "does not end"),
        ("node.labels.x in (a,, b)", 21, "missing"),
        ("node.labels.x in (a, b=c)", 23, "may not hold ="),
        ('node.labels.x == "a b"', 18, "may not hold"),
        ("node.labels.x != a,b", 19, "may not hold ,"),
        ("node.labels.x == a && node.labels.y == b", 20, "one constraint"),
        ("node.labels.x == a and node.labels.y == b", 19, "one constraint"),
        ("node.hostname >= gpu-2", 15, "no order"),
        ("gpu.memory >= 40XiB", 15, "no order"),
        ("gpu.memory >= 4zz", 15, "no order"),
        ("node.labels.pue <= 1.2.3", 20, "no order"),
        ("node.ip == 10.0.0.300", 12, "neither an IP address"),
        ("node.labels.x =~ (?!a)b", 18, "not a regular expression"),
        ("node.labels.x == " + "y" * 1020, 1025, "at most"),
        ("node.labels.x =~ " + "y" * (LONGEST + 1), 18, "longer than"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(text: str, column: int, message: str) -> None:
    with pytest.raises(BadConstraint, match=re.escape(message)) as caught:
        parse(text)
    assert caught.value.column == column
    assert caught.value.hint


def test_hints_are_themselves_right() -> None:
    for wrong in ("node.lables.zone == a", "label.zone == a", "node.labels.x <> y", "node.labels.x = y"):
        with pytest.raises(BadConstraint) as caught:
            parse(wrong)
        assert parse(caught.value.hint.removeprefix("Write: ")).values


def test_spaces_and_case_are_as_swarm_reads_them() -> None:
    assert parse(" Node.Labels.Zone==a b ").key == "node.labels.Zone"
    assert parse(" Node.Labels.Zone==a b ").values == ("a b",)
    assert parse("node.labels.x   NOT   IN ( a ,b )").op == "not in"
    assert parse("node.labels.x not in ( a ,b )").values == ("a", "b")
    assert parse("node.labels.gpu.model==x").key == "gpu.model"
    assert parse("node.labels.GPU.model==x").key == "node.labels.GPU.model"
    assert node_ok(parse("node.labels.x == in the rack"), build.view(labels={"x": "in the rack"}))


def test_node_facts() -> None:
    view = build.view("gpu-1", engine_id="abc", arch="x86_64", engine_labels={"os": "x"}, hostname="host")
    holding = ("node.id==ABC", "node.platform.os==linux", "node.platform.arch==x86_64", "engine.labels.os==x",
               "node.hostname==gpu-1", "node.hostname==host", "node.role!=manager", "node.ip!=10.0.0.1")  # fmt: skip
    for text in holding:
        assert node_ok(parse(text), view), text
    assert not node_ok(parse("node.hostname!=host"), view)
    assert not node_ok(parse("node.ip==10.0.0.1"), build.view(ip="not an address"))
    assert node_ok(parse("node.ip==fd00::/8"), build.view(ip="fd00::1"))


def test_the_ledger_counts_not_the_label() -> None:
    view = build.view("gpu-1", 4, used=[0], labels={"gpu.free": "9", "gpu.count": "9", "gpu.enable": "true"})
    assert node_ok(parse("gpu.free == 3"), view)
    assert node_ok(parse("node.labels.gpu.count == 4"), view)
    assert node_ok(parse("gpu.free == 4"), view, free=4)
    assert node_ok(parse("gpu.enable == true"), view)
    assert node_ok(parse("gpu.enable == true"), build.view("gpu-1", 1))
    assert not node_ok(parse("gpu.enable == true"), build.view("gpu-1", 1, labels={"gpu.enable": "false"}))
    lost = build.view("gpu-1", [build.card(index=0), build.card(index=1, lost=True)])
    assert node_ok(parse("gpu.count == 1"), lost)


def test_a_mixed_node_offers_only_its_matching_cards() -> None:
    a100, a10 = build.card(index=0), build.card(index=1, model="A10-24GB", memory_mib=24576)
    node = build.node()
    assert card_ok(parse("gpu.model == A100"), a100, node)
    assert not card_ok(parse("gpu.model == A100"), a10, node)
    assert card_ok(parse("gpu.model != A100"), a10, node)
    assert not card_ok(parse("gpu.memory >= 40GiB"), a10, node)
    assert card_ok(parse("node.labels.zone == x"), a10, node)
    view = build.view("gpu-1", [a100, a10])
    assert node_ok(parse("gpu.model == A10"), view)
    assert node_ok(parse("gpu.memory > 40GiB"), view)


def test_the_label_decides_what_a_declared_card_does_not_tell() -> None:
    declared = build.card(driver="", memory_mib=0, model="", aliases=())
    node = build.node(labels={"gpu.driver": "470.82.01", "gpu.memory": "16GiB", "gpu.model": "A100+Tesla-V100"})
    assert card_ok(parse("gpu.driver >= 470.82"), declared, node)
    assert card_ok(parse("gpu.memory == 16384"), declared, node)
    assert card_ok(parse("gpu.model == V100"), declared, node)
    assert not card_ok(parse("gpu.driver exists"), declared, build.node())


def test_every_fact_of_a_card_can_be_asked_for() -> None:
    card = build.card(index=3, pci="0000:01:00.0", numa=1, mig=True, aliases=("big gpu",), cuda="12.4")
    node = build.node()
    holding = ("gpu.index == 3", "gpu.pci exists", "gpu.numa == 1", "gpu.mig == true", "gpu.model == big-gpu",
               "gpu.model =~ big", "gpu.uuid == gpu-gpu-1-3", "gpu.vendor == NVIDIA", "gpu.cuda >= 12",
               "gpu.index in (2, 3)", "gpu.index != 03x")  # fmt: skip
    for text in holding:
        assert card_ok(parse(text), card, node), text
    assert not card_ok(parse("gpu.numa exists"), build.card(), node)
    assert not card_ok(parse("gpu.mig == true"), build.card(), node)
    assert not card_ok(parse("gpu.memory == 5"), card, node)
    with pytest.raises(KeyError):
        of_card("colour", card, node)


def test_what_swarm_itself_understands() -> None:
    for text in ("node.role==manager", "node.labels.zone != a", "engine.labels.os == x", "node.ip == 10.0.0.0/8"):
        assert is_swarm_only(parse(text)), text
    for text in (
        "node.labels.gpu.enable == true", "gpu.model == A100", "node.labels.zone >= 1", "node.labels.zone exists",
        "node.labels.zone in (a)", "node.labels.zone =~ a", "node.labels.a/b == c", "node.labels.a == c@d",
        "node.labels.gpu.tier == 1",
    ):  # fmt: skip
        assert not is_swarm_only(parse(text)), text


@pytest.mark.parametrize(
    ("left", "right", "key", "order"),
    [
        ("9", "10", "node.labels.x", -1),
        ("-5", "3", "node.labels.x", -1),
        ("550.54", "550.9", "node.labels.x", 1),
        ("550", "550.0.0", "node.labels.x", 0),
        ("v5.15.0-91-generic", "5.4", "node.labels.x", 1),
        ("1.3", "1.25", "node.labels.pue", 1),
        ("81920", "80GiB", "gpu.memory", 0),
        ("80GB", "80GiB", "gpu.memory", -1),
        ("1.5 GiB", "1536M", "node.labels.x", 0),
        ("1024", "1KiB", "node.labels.x", 0),
        ("2048b", "2k", "node.labels.x", 0),
    ],
)
def test_order(left: str, right: str, key: str, order: int) -> None:
    a, b = read(left, key), read(right, key)
    assert a is not None
    assert b is not None
    assert compare(a, b, key) == order
    assert compare(b, a, key) == -order


def test_a_label_without_an_order_is_never_more_or_less() -> None:
    view = build.view(labels={"x": "many", "gpu.memory": "much"})
    for text in ("node.labels.x >= 1", "node.labels.x < 1", "gpu.memory >= 1"):
        assert not node_ok(parse(text), view)
    assert node_ok(parse("gpu.memory == MUCH"), view)
    assert not node_ok(parse("gpu.memory == 5"), view)
    assert node_ok(parse("gpu.memory != 5"), view)


def test_no_expression_can_hang() -> None:
    view = build.view(labels={"x": "a" * 5000})
    began = time.process_time()
    for pattern in ("(a+)+$b", "(a|a)*b", "a*a*a*a*a*a*b", "(.*a){20}b"):
        assert not node_ok(parse(f"node.labels.x =~ {pattern}"), view)
    assert time.process_time() - began < 1
    with pytest.raises(BadPattern):
        compiled("[")
