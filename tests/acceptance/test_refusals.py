"""First refusals: each names code, file:line, field and what to write instead, and nothing was created anywhere."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.acceptance.carded import Carded

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]

HEAD = "services:\n  s:\n    image: bb:1\n"
DEVICES = HEAD + "    deploy:\n      resources:\n        reservations:\n          devices:\n            - "
CONSTRAINT = HEAD + "    deploy:\n      placement:\n        constraints:\n          - "
IN_DEVICES = "services.s.deploy.resources.reservations.devices.0"
IN_CONSTRAINTS = "services.s.deploy.placement.constraints.0"
BAD_INPUT, REFUSED = 2, 4


class Case(NamedTuple):
    """A file, and what must be said of it: code, line, field, and words of the hint."""

    text: str | bytes
    code: str
    line: int
    field: str
    hint: str
    exit_code: int = BAD_INPUT


CASES = {
    "count with device_ids": Case(
        DEVICES + '{count: 1, device_ids: ["0"], capabilities: [gpu]}\n',
        "count-and-device-ids", 8, f"{IN_DEVICES}.count", "Keep count to take any cards, device_ids for these",
    ),
    "count of -1": Case(
        DEVICES + "{count: -1, capabilities: [gpu]}\n",
        "gpu-count", 8, f"{IN_DEVICES}.count", "Write count: all",
    ),
    "more cards than any node has": Case(
        DEVICES + "{count: 3, capabilities: [gpu]}\n", "too-many-cards", 8, f"{IN_DEVICES}.count", "berth gpus",
    ),
    "node.label": Case(
        CONSTRAINT + "node.label.x == y\n", "bad-constraint", 7, IN_CONSTRAINTS, "Write: node.labels.x == y",
    ),
    "open bracket": Case(
        CONSTRAINT + "'gpu.model =~ ['\n", "bad-constraint", 7, IN_CONSTRAINTS, "for example: ^A100",
    ),
    "one equals sign": Case(
        CONSTRAINT + "node.labels.zone = idc\n",
        "bad-constraint", 7, IN_CONSTRAINTS, "Write: node.labels.zone == idc",
    ),
    "missing secret": Case(
        HEAD + "    secrets: [nobody_made_it]\nsecrets:\n  nobody_made_it:\n    external: true\n",
        "secret-missing", 4, "services.s.secrets", "docker secret create nobody_made_it",
    ),
    "key that is not carried": Case(
        HEAD + "    ports: ['80:80']\n", "key-not-carried", 4, "services.s.ports", "later version",
    ),
    "misspelled key": Case(HEAD + "    comand: x\n", "unknown-key", 4, "services.s.comand", "Write command"),
    "tabs": Case("services:\n  s:\n\timage: bb:1\n", "yaml-tab", 3, "", "spaces"),
    "not UTF-8": Case(b"services:\n  s:\n    image: bb:1 # \xe9\n", "not-utf-8", 3, "", "UTF-8"),
    "two documents": Case(HEAD + "---\n" + HEAD, "yaml-documents", 4, "", "one"),
    "privileged with cards": Case(
        HEAD + "    privileged: true\n    gpus: 1\n",
        "privileged-with-cards", 4, "services.s.privileged", "Remove privileged", REFUSED,
    ),
    "device with cards": Case(
        HEAD + "    gpus: 1\n    devices: ['/dev/fuse']\n",
        "device-by-hand", 5, "services.s.devices", "reservations.devices", REFUSED,
    ),
    "device of a card": Case(
        HEAD + "    devices: ['/dev/nvidia1:/dev/sda']\n",
        "device-by-hand", 4, "services.s.devices", "reservations.devices", REFUSED,
    ),
    "CDI device": Case(
        HEAD + "    devices: ['nvidia.com/gpu=all']\n",
        "device-by-hand", 4, "services.s.devices", "reservations.devices", REFUSED,
    ),
    "annotation as label": Case(
        HEAD + "    labels: {cdi.k8s.io/x: nvidia.com/gpu=all}\n",
        "card-by-annotation", 4, "services.s.labels.cdi.k8s.io/x", "reservations.devices", REFUSED,
    ),
    "annotation": Case(
        HEAD + "    annotations: {cdi.k8s.io/x: nvidia.com/gpu=all}\n",
        "key-not-carried", 4, "services.s.annotations", "later version",
    ),
    "device list as mount": Case(
        HEAD + "    volumes: ['/dev/null:/var/run/../run/nvidia-container-devices/all']\n",
        "mount-of-cards", 4, "services.s.volumes.0", "reservations.devices", REFUSED,
    ),
    "device list as secret": Case(
        HEAD + "    secrets: [{source: k, target: /var/run/nvidia-container-devices/all}]\n"
        "secrets: {k: {external: true}}\n",
        "mount-of-cards", 4, "services.s.secrets", "reservations.devices", REFUSED,
    ),
    "mount of a card": Case(
        HEAD + "    volumes: [{type: bind, source: /dev/nvidia0, target: /x}]\n",
        "mount-of-cards", 4, "services.s.volumes.0", "reservations.devices", REFUSED,
    ),
    "mount of a card by a volume": Case(
        HEAD + "    volumes: ['v:/x']\nvolumes: {v: {driver_opts: {type: none, o: bind, device: /dev}}}\n",
        "mount-of-cards", 4, "services.s.volumes.0", "reservations.devices", REFUSED,
    ),
    "socket by a template of Swarm's": Case(
        HEAD + """    volumes: [{type: bind, source: '/{{"var/run/docker.sock"}}', target: /s}]\n""",
        "template-not-carried", 4, "services.s.volumes.0", "Write the value out",
    ),
    "variable by a template of Swarm's": Case(
        HEAD + """    environment: {'{{"DOCKER_RESOURCE_GPU"}}': all}\n""",
        "template-not-carried", 4, "services.s.environment", "Write the value out",
    ),
    "socket with cards": Case(
        HEAD + "    gpus: 1\n    volumes: ['/var/run/docker.sock:/s']\n",
        "mount-of-socket", 5, "services.s.volumes.0", "only the paths", REFUSED,
    ),
    "socket by a folder above": Case(
        HEAD + "    gpus: 1\n    volumes: ['/var:/host']\n",
        "mount-of-socket", 5, "services.s.volumes.0", "only the paths", REFUSED,
    ),
}  # fmt: skip

RUNS = {
    "--gpus -1": ("gpu-count", BAD_INPUT, "--gpus -1 is negative", "-> Write --gpus 1"),
    "--gpus 3": ("too-many-cards", BAD_INPUT, "in: --gpus", "berth gpus"),
    "--gpus 0.5": ("gpu-count", BAD_INPUT, "--gpus 0.5 is not a number of whole cards", "-> Write --gpus 1"),
    "-c node.label.x==y": ("bad-constraint", BAD_INPUT, "in: -c node.label.x==y", "-> Write: node.labels.x==y"),
    "-c gpu.model=~[": ("bad-constraint", BAD_INPUT, "in: -c gpu.model=~[", "^A100"),
    "-c zone=idc": ("bad-constraint", BAD_INPUT, "in: -c zone=idc", "-> Write: node.labels.zone"),
    "-e NVIDIA_VISIBLE_DEVICES=7": ("unknown-card", BAD_INPUT, "card '7'", "berth cards"),
    "--secret nobody_made_it": ("secret-missing", BAD_INPUT, "in: --secret", "docker secret create nobody_made_it"),
    "--privileged": ("bad-usage", BAD_INPUT, "there is no --privileged", "for example: berth run"),
    "--device /dev/nvidia0": ("bad-usage", BAD_INPUT, "there is no --device", "for example: berth run"),
    "-v /dev/nvidia0:/x": ("mount-of-cards", REFUSED, "in: -v /dev/nvidia0:/x", "-> Ask for a number of cards"),
    "-v /dev:/x:ro": ("mount-of-cards", REFUSED, "in: -v /dev:/x:ro", "-> Ask for a number of cards"),
    "-v /dev/null:/var/run/nvidia-container-devices/all": (
        "mount-of-cards", REFUSED, "past Berth's ledger", "-> Ask for a number of cards",
    ),
    "--gpus 1 -v /var/run/docker.sock:/s": ("mount-of-socket", REFUSED, "engine's socket", "-> Mount only the paths"),
    "--gpus 1 -v /:/host": ("mount-of-socket", REFUSED, "engine's socket", "-> Mount only the paths"),
}  # fmt: skip


@pytest.fixture(scope="module")
def all_jobs(carded_swarm: Carded) -> Iterator[None]:
    """No job and no stack comes to be in this file's refusals."""
    jobs = carded_swarm.berth.json("jobs", "--all")
    yield
    assert carded_swarm.berth.json("jobs", "--all") == jobs
    assert carded_swarm.berth.json("stack", "ls") == []


@pytest.fixture
def untouched(carded_swarm: Carded, all_jobs: None) -> Iterator[Carded]:
    """The Swarm; after the test nothing is on the engine that was not there before."""
    before = carded_swarm.objects()
    yield carded_swarm
    assert carded_swarm.objects() == before


def said(carded: Carded, *words: str, exit_code: int) -> str:
    """What the CLI writes to stderr when it ends with this code; it never shows a traceback."""
    text = carded.berth.refused(*words, code=exit_code)
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_refused_with_its_place_and_what_to_write(untouched: Carded, name: str) -> None:
    case = CASES[name]
    file = untouched.folder / "refused.yml"
    file.write_bytes(case.text if isinstance(case.text, bytes) else case.text.encode())
    text = said(untouched, "stack", "deploy", "-c", "refused.yml", "refused", exit_code=case.exit_code)
    assert f"code: {case.code} " in text
    assert f"refused.yml:{case.line}" in text.splitlines()[0]
    assert case.field in text
    assert case.hint in text


@pytest.mark.parametrize("flags", RUNS)
def test_berth_run_is_refused_with_what_to_type(untouched: Carded, flags: str) -> None:
    code, exit_code, *words = RUNS[flags]
    text = said(untouched, "run", "--detach", *flags.split(), "bb:1", exit_code=exit_code)
    for word in (f"code: {code} ", *words):
        assert word in text


def test_a_user_may_not_have_the_socket_even_without_cards_and_an_admin_may(untouched: Carded) -> None:
    token = untouched.folder / "user.token"
    token.write_text(untouched.berth("token", "create", "--role", "user", "--name", "ann"))
    words = ("run", "--detach", "-v", "/var/run/docker.sock:/s", "bb:1")
    text = said(untouched, "--token-file", str(token), *words, exit_code=REFUSED)
    assert "code: mount-of-socket " in text
    assert "starts now" in untouched.berth("run", "--plan", *words[2:])


def test_all_mistakes_of_a_file_are_told_in_one_go_in_the_order_of_its_lines(untouched: Carded) -> None:
    (untouched.folder / "refused.yml").write_text(
        CASES["count with device_ids"].text + "  t:\n    image: bb:1\n    comand: x\n    deploy: {replicas: -1}\n"  # type: ignore[operator]
    )
    text = said(untouched, "stack", "deploy", "-c", "refused.yml", "refused", exit_code=BAD_INPUT)
    codes = [line.split()[1] for line in text.splitlines() if line.startswith("  code: ")]
    assert codes == ["count-and-device-ids", "unknown-key", "out-of-range"]


def test_count_of_zero_is_a_job_without_cards(carded_docker: Carded) -> None:
    done = carded_docker.deploy("zero", DEVICES + "{count: 0, capabilities: [gpu]}\n")
    assert done.returncode == 0, done.stderr
    try:
        carded_docker.running("zero_s")
        assert carded_docker.variable("zero_s", "NVIDIA_VISIBLE_DEVICES") == "void"
        assert carded_docker.berth.free() == 2
    finally:
        carded_docker.clean()
