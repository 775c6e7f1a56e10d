"""What is refused: each case names code, file:line and what to write instead, and nothing was created anywhere.

The stack files are in the table of refused.py, the job files in refused_jobs.py.
"""

import json
from collections.abc import Iterator

import pytest

from tests.acceptance import refused, refused_jobs
from tests.acceptance.carded import Carded
from tests.acceptance.refused import BAD_INPUT, REFUSED, Case

pytestmark = [pytest.mark.engine, pytest.mark.timeout(120)]

ON_DOCKER = [case for case in (*refused.CARDS, *refused.MISSING, *refused.GUARDED[:3]) if case.engine != "swarm"]

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


def named(cases: list[Case]) -> "pytest.MarkDecorator":
    """A test for each case of a table, under the name of the case."""
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


class Watched:
    """An engine and its Berth, before and after a test: what was created meanwhile is found."""

    def __init__(self, carded: Carded) -> None:
        self.carded, self.berth, self.folder = carded, carded.berth, carded.folder
        self.objects = carded.objects()

    def assert_untouched(self) -> None:
        """Nothing is on the engine that was not there before."""
        assert self.carded.objects() == self.objects

    def said(self, *words: str, exit_code: int) -> str:
        """What the CLI writes to stderr when it ends with this code; it never shows a traceback."""
        text = self.berth.refused(*words, code=exit_code)
        assert "Traceback" not in text
        return text

    def refuses(self, case: Case, *words: str) -> None:
        """Send the file of a case, refused.yml, which is refused as its line of the table says."""
        file = self.folder / "refused.yml"
        file.write_bytes(case.text if isinstance(case.text, bytes) else case.text.encode())
        text = self.said(*words, exit_code=case.exit_code)
        assert text.count("  code: ") == 1, text
        assert f"  code: {case.code} " in text
        assert text.startswith(f"refused.yml:{case.line}:" if case.line else "refused.yml: "), text
        assert case.hint in text.partition("  -> ")[2], text


@pytest.fixture(scope="module")
def swarm_jobs(carded_swarm: Carded) -> Iterator[None]:
    """No job and no stack comes to be in this file's refusals."""
    jobs = carded_swarm.berth.json("jobs", "--all")
    yield
    assert carded_swarm.berth.json("jobs", "--all") == jobs
    assert carded_swarm.berth.json("stack", "ls") == []


@pytest.fixture(scope="module")
def docker_jobs(carded_docker: Carded) -> Iterator[None]:
    """The same on one Docker host."""
    jobs = carded_docker.berth.json("jobs", "--all")
    yield
    assert carded_docker.berth.json("jobs", "--all") == jobs
    assert carded_docker.berth.json("stack", "ls") == []


@pytest.fixture
def swarm(carded_swarm: Carded, swarm_jobs: None) -> Iterator[Watched]:
    """The Swarm; after the test nothing is on the engine that was not there before."""
    watched = Watched(carded_swarm)
    yield watched
    watched.assert_untouched()


@pytest.fixture
def docker(carded_docker: Carded, docker_jobs: None) -> Iterator[Watched]:
    """The same of one Docker host."""
    watched = Watched(carded_docker)
    yield watched
    watched.assert_untouched()


@named([case for case in refused.CASES if case.engine != "docker"])
def test_a_file_is_refused_on_a_swarm(swarm: Watched, case: Case) -> None:
    swarm.refuses(case, "stack", "deploy", "-c", "refused.yml", "refused")


@named(ON_DOCKER)
def test_a_file_is_refused_on_a_docker_host(docker: Watched, case: Case) -> None:
    docker.refuses(case, "stack", "deploy", "-c", "refused.yml", "refused")


@named(refused_jobs.CASES)
def test_a_job_file_is_refused(swarm: Watched, case: Case) -> None:
    swarm.refuses(case, "submit", "refused.yml")


JOB = """image: bb:1
gpus: 9
env: {NV_GPU: 7, TOKEN: hunter2, A: [b]}
secrets:
  - nobody_made_it
volumes: ['/dev/nvidia0:/x']
time: long
time: 2h
"""


@pytest.mark.parametrize("flags", [(), ("--plan",)], ids=["submit", "plan"])
def test_all_that_is_wrong_in_a_job_file_is_told_in_one_go(swarm: Watched, flags: tuple[str, ...]) -> None:
    (swarm.folder / "job.yml").write_text(JOB)
    done = swarm.berth.run("submit", *flags, "job.yml", "--json")
    assert done.returncode == BAD_INPUT
    assert [(one["file"], one["line"], one["code"]) for one in json.loads(done.stdout)["errors"]] == [
        ("job.yml", 2, "too-many-cards"), ("job.yml", 3, "wrong-type"), ("job.yml", 5, "secret-missing"),
        ("job.yml", 6, "mount-of-cards"), ("job.yml", 7, "bad-value"), ("job.yml", 8, "duplicate-key"),
    ]  # fmt: skip
    assert "hunter2" not in done.stdout + done.stderr


LINTED = """services:
  one: {image: bb, environment: {DB_PASSWORD: hunter2}}
  two: {image: 'bb:1', x-berth: {lint: [lint-root-user]}}
"""


def test_lint_warns_with_a_line_for_each_finding_and_refuses_when_strict(swarm: Watched) -> None:
    (swarm.folder / "linted.yml").write_text(LINTED)
    words = ("stack", "deploy", "-c", "linted.yml", "linted")
    warned = swarm.berth.run(*words, "--plan")
    assert warned.returncode == 0
    lines = [line for line in warned.stderr.splitlines() if "lint-" in line]
    assert [line.split(": ")[:2] for line in lines] == [["warning", "linted.yml:2:3"]] + [
        ["warning", f"linted.yml:2:{column}"] for column in (16, 34)
    ]
    assert [line.rpartition("(")[2] for line in lines] == ["lint-root-user)", "lint-latest-tag)", "lint-secret-in-env)"]
    text = swarm.said(*words, "--strict", exit_code=BAD_INPUT)
    assert [line.split()[1] for line in text.splitlines() if line.startswith("  code: ")] == [
        "lint-root-user", "lint-latest-tag", "lint-secret-in-env",
    ]  # fmt: skip
    assert "hunter2" not in text + warned.stderr
    (swarm.folder / "linted.yml").write_text("x-berth: {lint: [root-user, latest-tag, secret-in-env]}\n" + LINTED)
    silent = swarm.berth.run(*words, "--plan", "--strict")
    assert (silent.returncode, silent.stderr) == (0, "")


def test_lint_of_jobs(swarm: Watched) -> None:
    (swarm.folder / "job.yml").write_text("image: bb\nenv: {API_KEY: hunter2}\n")
    warned = swarm.berth.run("submit", "--plan", "job.yml")
    assert (warned.returncode, warned.stderr.count("warning: job.yml:")) == (0, 3)
    text = swarm.said("submit", "--strict", "job.yml", exit_code=BAD_INPUT)
    assert text.count("  code: lint-") == 3
    typed = ("run", "--plan", "-e", "API_KEY=hunter2", "bb")
    assert swarm.berth.run(*typed).stderr.count("lint-secret-in-env") == 1
    text = swarm.said("run", "--strict", *typed[2:], exit_code=BAD_INPUT)
    assert "  in: -e API_KEY\n" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("flags", RUNS)
def test_berth_run_is_refused_with_what_to_type(swarm: Watched, flags: str) -> None:
    code, exit_code, *words = RUNS[flags]
    text = swarm.said("run", "--detach", *flags.split(), "bb:1", exit_code=exit_code)
    for word in (f"code: {code} ", *words):
        assert word in text


def test_a_user_may_not_have_the_socket_even_without_cards_and_an_admin_may(swarm: Watched) -> None:
    token = swarm.folder / "user.token"
    token.write_text(swarm.berth("token", "create", "--role", "user", "--name", "ann"))
    words = ("run", "--detach", "-v", "/var/run/docker.sock:/s", "bb:1")
    text = swarm.said("--token-file", str(token), *words, exit_code=REFUSED)
    assert "code: mount-of-socket " in text
    assert "starts now" in swarm.berth("run", "--plan", *words[2:])


EVERYTHING = {
    "a.yml": """services:
  one:
    image: bb:1
    comand: x
    secrets: [nobody_made_it]
    networks: [n]
    gpus: 9
  two:
    image: bb:1
    env_file: nowhere.env
    command: ${NOBODY_SET_IT:?say which}
    deploy:
      replicas: -1
      replicas: 2
secrets: {nobody_made_it: {external: true}}
networks: {n: {external: true, name: nobody_made_it}}
""",
    "b.yml": """services:
  three:
    image: bb:1
    environment: {DB_PASSWORD: hunter2, X: [y]}
    volumes: ['v:/v']
    devices: ['/dev/nvidia0']
volumes: {v: {driver: nobody-has-it}}
""",
}
FOUND = [
    ("a.yml", 4, "unknown-key"), ("a.yml", 5, "secret-missing"), ("a.yml", 6, "network-missing"),
    ("a.yml", 7, "too-many-cards"), ("a.yml", 10, "env-file-missing"), ("a.yml", 11, "variable-required"),
    ("a.yml", 13, "out-of-range"), ("a.yml", 14, "duplicate-key"), ("b.yml", 4, "wrong-type"),
    ("b.yml", 5, "driver-missing"), ("b.yml", 6, "device-by-hand"),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["swarm", "docker"])
@pytest.mark.parametrize("flags", [(), ("--plan",)], ids=["deploy", "plan"])
def test_all_that_is_wrong_is_told_in_one_go(
    request: pytest.FixtureRequest, engine: str, flags: tuple[str, ...]
) -> None:
    watched: Watched = request.getfixturevalue(engine)
    for name, text in EVERYTHING.items():
        (watched.folder / name).write_text(text)
    done = watched.berth.run("stack", "deploy", *flags, "-c", "a.yml", "-c", "b.yml", "refused", "--json")
    assert done.returncode == BAD_INPUT
    answer = json.loads(done.stdout)
    assert answer["exit_code"] == BAD_INPUT
    assert [(one["file"], one["line"], one["code"]) for one in answer["errors"]] == FOUND
    assert all(one["message"] and one["hint"] and one["column"] and one["excerpt"] for one in answer["errors"])
    assert "hunter2" not in done.stdout + done.stderr
    places = [line for line in done.stderr.splitlines() if line.startswith(("a.yml:", "b.yml:"))]
    assert [tuple(line.split(":")[:2]) for line in places] == [(file, str(line)) for file, line, _ in FOUND]


def test_files_that_only_look_wrong_are_taken(swarm: Watched) -> None:
    plain = "services:\n  s:\n    image: bb:1\n    command: sleep 60\n"
    for content in (b"\xef\xbb\xbf" + plain.encode(), plain.replace("\n", "\r\n").encode(), plain.rstrip().encode()):
        (swarm.folder / "right.yml").write_bytes(content)
        assert "starts now" in swarm.berth("stack", "deploy", "--plan", "-c", "right.yml", "right")


@pytest.mark.parametrize(("path", "said"), [("no/such.yml", "no such file"), ("folder", "is a directory")])
def test_what_is_no_file(swarm: Watched, path: str, said: str) -> None:
    (swarm.folder / "folder").mkdir(exist_ok=True)
    for words in (("stack", "deploy", "-c", path, "refused"), ("submit", path)):
        text = swarm.said(*words, exit_code=BAD_INPUT)
        assert text.startswith(f"{path}: {said}")
        assert "code: unreadable-file " in text
