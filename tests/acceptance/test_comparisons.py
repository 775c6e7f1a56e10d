"""Comparisons decided for real: hand-made labels on a Swarm's node, constraints of files and of `berth run -c`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, until
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]

LABELS = {"gpu.enable": "true", "gpu.model": "A100-SXM4", "gpu.driver": "550.54", "gpu.free": "2", "zone": "IDC"}
LABELLED, OTHER = "gpu-1", "gpu-2"
TRUE = (
    "node.labels.gpu.free>=1",
    "node.labels.gpu.driver >= 550.9",
    "gpu.model =~ ^A100",
    "node.labels.gpu.model == a100-sxm4",
    "node.labels.absent != x",
    "node.labels.zone==idc",
    "gpu.driver >= 550.54",
    "gpu.driver < 550.100",
)
FALSE = (
    "node.labels.gpu.driver >= 1000",
    "node.labels.absent >= 1",
    "node.labels.absent == x",
    "gpu.free >= 3",
    "gpu.model =~ ^a100",
    "gpu.model != A100",
)
HERE = "node.labels.gpu.enable == true"


@pytest.fixture(scope="module")
def labelled(carded_lab: Lab) -> Iterator[Swarm]:
    """Two nodes of today's engine, the first labelled as a person does it."""
    with Swarm(carded_lab, 2, variant="today") as swarm:
        words = [word for key, value in LABELS.items() for word in ("--label-add", f"{key}={value}")]
        swarm.cli("node", "update", *words, LABELLED)
        yield swarm


@pytest.fixture(scope="module")
def berth(labelled: Swarm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Berth]:
    """Berth on its manager."""
    with Berth(tmp_path_factory.mktemp("labelled"), "--docker-host", labelled.manager.url) as berth:
        until(lambda: berth.free() == 2, 10)
        yield berth


def stack(folder: Path, constraints: tuple[str, ...]) -> str:
    """A file of services without cards, one per constraint, each for the labelled node alone."""
    services = "".join(
        f"""  s{number}:
    image: bb:1
    gpus: 0
    deploy: {{placement: {{constraints: {json.dumps([text, HERE])}}}}}
"""
        for number, text in enumerate(constraints)
    )
    (folder / "compare.yml").write_text(f"services:\n{services}")
    return "compare.yml"


def constraints_of(swarm: Swarm, service: str) -> list[str]:
    """What Swarm itself checks for a service."""
    found: list[str] = json.loads(swarm.cli("service", "inspect", service))[0]["Spec"]["TaskTemplate"]["Placement"][
        "Constraints"
    ]
    return found


def test_each_comparison_of_a_file_is_decided_and_only_the_node_reaches_swarm(labelled: Swarm, berth: Berth) -> None:
    file = stack(berth.folder, TRUE + FALSE)
    berth("stack", "deploy", "-c", file, "cmp")
    try:
        names = {f"cmp_s{number}": text for number, text in enumerate(TRUE + FALSE)}
        held = {name for name, text in names.items() if text in TRUE}
        until(lambda: {job["name"] for job in berth.json("jobs") if job["state"] == "running"} >= held, 40, step=0.5)
        jobs = {job["name"]: job for job in berth.json("jobs")}
        for name, text in names.items():
            assert (jobs[name]["state"] == "running") is (text in TRUE), text
            [task] = jobs[name]["tasks"]
            assert task["node"] == (LABELLED if text in TRUE else None), text
        [node] = json.loads(labelled.cli("node", "inspect", LABELLED))
        for name, text in names.items():
            where = f"node.id=={node['ID']}" if text in TRUE else "node.id==berth-waiting"
            assert constraints_of(labelled, name) == [where], text
        for name in sorted(set(names) - held)[:3]:
            why = berth.json("why", name)
            assert why["never"] is True
            assert why["reason"] == ("capacity" if "gpu.free" in names[name] else "no-match")
            assert names[name] in {entry["node"]: entry for entry in why["nodes"]}[LABELLED]["refusals"][0]["message"]
    finally:
        berth("stack", "rm", "cmp", "-y")
        until(lambda: not labelled.cli("service", "ls", "-q"), 20, "no service is left")


def test_each_comparison_of_run_is_decided(berth: Berth) -> None:
    ids = {}
    for text in (*TRUE[:5], *FALSE[:2]):
        cards = ("--gpus", "0") if "free" in text else ()
        ids[text] = berth("run", "--detach", *cards, "-c", text, "-c", HERE, "bb:1", "true").strip()
    waiting = {ids[text] for text in FALSE[:2]}
    until(lambda: {job["id"] for job in berth.json("jobs")} == waiting, 30, "the others have run", step=0.5)
    jobs = {job["id"]: job for job in berth.json("jobs", "--all")}
    for text in TRUE[:5]:
        [task] = jobs[ids[text]]["tasks"]
        assert (jobs[ids[text]]["state"], task["node"]) == ("succeeded", LABELLED), text
    for text in FALSE[:2]:
        assert (jobs[ids[text]]["state"], jobs[ids[text]]["reason"]) == ("waiting", "no-match"), text
    berth("cancel", *waiting, "-y")


def test_with_a_card_the_comparison_chooses_the_node_and_free_counts(labelled: Swarm, berth: Berth) -> None:
    job = berth("run", "--detach", "-c", "gpu.free>=1", "-c", "gpu.driver >= 550.9", "bb:1", "sleep", "600").strip()
    berth("wait", job, "--for", "running", "--timeout", "20s")
    [task] = berth.job(job)["tasks"]
    assert (task["node"], task["cards"]) == (LABELLED, [f"{LABELLED}/0"])
    second = berth("run", "--detach", "-c", "gpu.free >= 2", "bb:1", "sleep", "600").strip()
    assert berth.json("why", second)["reason"] == "free-cards"
    berth("cancel", job, second, "-y")
    until(lambda: berth.free() == 2, 20)


def test_a_service_that_swarm_can_place_keeps_its_own_constraints(labelled: Swarm, berth: Berth) -> None:
    (berth.folder / "native.yml").write_text(
        f"services:\n  s:\n    image: bb:1\n    deploy: {{placement: {{constraints: ['node.hostname == {OTHER}']}}}}\n"
    )
    berth("stack", "deploy", "-c", "native.yml", "native")
    assert constraints_of(labelled, "native_s") == [f"node.hostname == {OTHER}"]
    berth("stack", "rm", "native", "-y")
    until(lambda: not labelled.cli("service", "ls", "-q"), 20, "no service is left")
