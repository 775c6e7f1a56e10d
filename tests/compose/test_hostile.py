"""Files made to be slow or large: each is answered within 2 s and 300 MB, whatever it holds up to 4 MB."""

from collections.abc import Callable

import pytest

from berth.compose import read_job, read_stack
from berth.model.draft import Bundle, Draft, LoadedStack, SourceFile
from berth.model.errors import BerthError, Problem
from tests.compose.loading import ADMIN
from tests.compose.measured import RESET, Measured
from tests.effort import WHOLE

pytestmark = pytest.mark.skipif(not RESET.exists(), reason="the peak of memory is read as Linux tells it")
SIZE = 45_000 if WHOLE else 4_500
HEAD = "services:\n  s:\n    image: bb:1\n"


def lines(text: str, count: int = SIZE) -> str:
    """The text with every number up to `count` in place of N."""
    return "".join(text.replace("N", str(n)) for n in range(count))


def flow(text: str, count: int = SIZE) -> str:
    """The same as entries of a flow list or mapping."""
    return ", ".join(text.replace("N", str(n)) for n in range(count))


FILES = {
    "unknown keys": HEAD + lines("    kN: 1\n"),
    "unknown keys in one line": "services: {s: {image: x, " + flow("kN: 1") + "}}",
    "a word without end": HEAD + "    comand: " + "a" * 80 * SIZE,
    "dashes without end": HEAD + "    comand: " + "a-" * 40 * SIZE,
    "flags without end": HEAD + "    comand: '" + "-a" * 40 * SIZE + "'",
    "beginnings of tokens": HEAD + "    comand: '" + "-eyJ" * 20 * SIZE + " secret'",
    "secrets in one line": "services: {s: {image: x, environment: {" + flow("PASSWORDN: x") + "}, comand: x}}",
    "wrong secrets in one line": "services: {s: {image: x, environment: {" + flow("PASSWORDN: [x]", SIZE // 2) + "}}}",
    "wrong variables": HEAD + "    environment:\n" + lines("      AN: [x]\n", SIZE // 2),
    "labels": HEAD + "    labels:\n" + lines("      aN: b\n"),
    "ranges of ports": HEAD + "    ports: [" + flow("'1-65535:1-65535'", 300) + "]",
    "mounts": HEAD + "    volumes: [" + flow("'/aN:/bN'") + "]",
    "mounts at one path": HEAD + "    volumes: [" + flow("'/a:/b'") + "]",
    "volumes that are not declared": HEAD + "    volumes: [" + flow("'aN:/bN'") + "]",
    "networks nearly as declared": HEAD + f"    networks: [{flow('nN')}]\nnetworks: {{{flow('mN: ', SIZE // 3)}}}",
    "secrets nearly as declared": HEAD + f"    secrets: [{flow('nN')}]\n"
    + "secrets: {" + flow("mN: {external: true}", SIZE // 5) + "}",
    "services": "services: {" + flow("sN: {image: x}", 1000) + "}",
    "services named as slots": "services: {" + flow("w-N: {image: x, gpus: 1, deploy: {replicas: 1000}}", 1000) + "}",
    "cards": HEAD + "    gpus: [{device_ids: [" + flow("'N'", 9999) + "]}]",
    "a command of quotes": HEAD + "    command: '" + '\\"a ' * 20 * SIZE + "'",
    "a pattern": HEAD + "    deploy: {placement: {constraints: ['node.labels.x =~ " + "(a|b)*" * 5000 + "']}}",
    "dollars": HEAD + "    command: '" + "$" * 60 * SIZE + "'",
    "variables in variables": HEAD + "    command: '" + "${A:-" * 13 * SIZE + "'",
    "a long variable often": HEAD + "    command: '" + "${A}" * 15 * SIZE + "'",
    "a long variable everywhere": HEAD + "    labels: [" + flow("'a=${A}${A}'") + "]",
    "a time": HEAD + "    stop_grace_period: '" + "1h" * 20 * SIZE + "'",
    "an image of slashes": "services:\n  s:\n    image: '" + "a/" * 20 * SIZE + "a'",
    "an image of dashes": "services:\n  s:\n    image: '" + "a-" * 20 * SIZE + "!'",
    "generic resources": HEAD + "    deploy: {resources: {reservations: {generic_resources: ["
    + flow("{discrete_resource_spec: {kind: gpu, value: 1}}", SIZE // 3) + "]}}}",
    "merged mappings": lines("x-N: &aN {kN: 1}\n", SIZE // 10) + HEAD
    + "    labels: {<<: [" + flow("*aN", SIZE // 10) + "]}",
    "a long secret": HEAD + "    environment:\n      PASSWORD: |\n" + "        x\n" * 4 * SIZE + "    comand: x\n",
    "empty lines": "\n" * 80 * SIZE + HEAD,
}  # fmt: skip


def answer(read: Callable[[], LoadedStack | Draft]) -> tuple[Problem, ...]:
    """What is told of a file."""
    try:
        found = read()
    except BerthError as error:
        return error.problems
    return max(found.problems, found.warnings, key=len)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_answered_soon_and_in_little_memory(name: str) -> None:
    data = FILES[name].encode()
    bundle = Bundle(files=(SourceFile("f.yml", data),), directory="/x", variables={"A": "x" * 1000})
    for read in (lambda: read_stack(bundle, "st", ADMIN, False), lambda: read_job(data, "f.yml", ADMIN, False)):
        with Measured() as measured:
            told = answer(read)
        assert len(told) <= 100
        measured.assert_small()
