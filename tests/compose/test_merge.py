"""Several files as one: the table of rules, and the docker CLI beside us where it is installed."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from berth.model.draft import Draft
from berth.model.job import Network, Volume
from berth.model.spec import FileRef, Mount, NetworkUse
from tests.compose.loading import load, wrap

TAIL = "\nnetworks: {n: , m: }\nsecrets: {s: {external: true}, t: {external: true}}\nvolumes: {data: , more: }\n"


def merged(base: str, over: str) -> Draft:
    names = dict.fromkeys(["A", "B", "C"])
    return load(wrap(base) + TAIL, wrap(over), variables=names).drafts[0]


@pytest.mark.parametrize(
    ("base", "over", "field", "value"),
    [
        ("image: a", "image: b", "image", "b"),
        ("command: [a, b]", "command: [c]", "args", ("c",)),
        ("command: [a, b]", "command: []", "args", ("a", "b")),
        ("command: [a, b]", "command:", "args", ("a", "b")),
        ("environment: {A: 1, B: 2}", "environment: [B=3, C=4]", "env", (("A", "1"), ("B", "3"), ("C", "4"))),
        ("environment: [A=1, B=2]", "environment: ['A=', B]", "env", (("A", "1"), ("B", "2"))),
        ("labels: {a: 1, b: 2}", "labels: [b=, c=3]", "container_labels", {"a": "1", "b": "", "c": "3"}),
        ("group_add: [a]", "group_add: [b]", "groups", ("a", "b")),
        ("tty: true", "tty: false", "tty", True),
        ("tty: false", "tty: true", "tty", True),
        ("networks: [n]", "networks: [m]", "networks", (NetworkUse("st_m"), NetworkUse("st_n"))),
        ("networks: {n: {aliases: [a]}}", "networks: {n: {aliases: [b]}}", "networks", (NetworkUse("st_n", ("b",)),)),
        ("networks: {n: {aliases: [a]}}", "networks: [n]", "networks", (NetworkUse("st_n", ("a",)),)),
        ("secrets: [s, t]", "secrets: [{source: s, target: x}]", "secrets",
         (FileRef(source="s", target="x"), FileRef(source="t", target="t"))),
        ("volumes: ['/a:/x', '/b:/y']", "volumes: [{type: bind, source: /c, target: /x}]", "mounts",
         (Mount(kind="bind", source="/c", target="/x"), Mount(kind="bind", source="/b", target="/y"))),
        ("hostname: a\nuser: '1'", "hostname: b", "user", "1"),
    ],
)  # fmt: skip
def test_service(base: str, over: str, field: str, value: Any) -> None:
    assert getattr(merged(base, over).spec, field) == value


def test_deploy() -> None:
    draft = merged(
        """
        deploy:
          replicas: 3
          labels: {a: "1"}
          placement: {constraints: [node.role == worker]}
          resources: {limits: {cpus: "1", memory: 1G}}
          restart_policy: {condition: on-failure, delay: 7s, max_attempts: 2}
        """,
        """
        deploy:
          replicas: 0
          labels: [b=2]
          placement: {constraints: [node.labels.x == y]}
          resources: {limits: {memory: 2G}}
          restart_policy: {max_attempts: 0}
        """,
    )
    spec = draft.spec
    assert (draft.replicas, spec.labels) == (0, {"a": "1", "b": "2"})
    assert spec.request.constraints == ("node.role == worker", "node.labels.x == y")
    assert (spec.limits.cpu_nano, spec.limits.memory_bytes) == (10**9, 2 * 2**30)
    assert (spec.restart.condition, spec.restart.delay_s, spec.restart.max_attempts) == ("on-failure", 7.0, None)


def test_ours_a_health_check_and_cards_are_replaced() -> None:
    assert merged("healthcheck: {test: [CMD, a], retries: 3}", "healthcheck: {test: [CMD, b]}").spec.healthcheck
    draft = merged(
        "gpus: [{count: 1}]\nhealthcheck: {test: [CMD, a]}", "gpus: [{count: 2}]\nhealthcheck: {test: [CMD, b]}"
    )
    assert draft.spec.request.gpus == 2
    assert draft.spec.healthcheck is not None
    assert draft.spec.healthcheck.test == ("CMD", "b")


def test_top_level_objects_are_replaced_one_by_one() -> None:
    base = (
        wrap("networks: [n]\nvolumes: ['v:/v']")
        + "\nnetworks: {n: {driver: a, labels: {x: 1}}}\nvolumes: {v: {driver: a}}\n"
    )
    loaded = load(base, "networks: {n: {attachable: true}}\nvolumes: {v: {labels: [q=1]}}\n")
    assert loaded.networks == (Network(name="st_n", attachable=True),)
    assert loaded.volumes == (Volume(name="st_v", labels={"q": "1", "com.docker.stack.namespace": "st"}),)


def test_a_service_of_the_second_file_joins_and_keeps_its_own_places() -> None:
    loaded = load("services: {a: {image: x}}\n", "services:\n  b:\n    image: y\n    deploy: {replicas: 2}\n")
    assert [draft.service for draft in loaded.drafts] == ["a", "b"]
    place = loaded.drafts[1].where["deploy.replicas"]
    assert (place.file, place.line) == ("b.yml", 4)


PAIRS = [
    ("command: [a, b]\ntty: true\ninit: true\nhostname: h", "command: c d\ntty: false\ninit: false\nhostname: ''"),
    ("environment: {A: 1.10, B: 0777, C: 1_000, D: 1e3, E: yes}", "environment: [A=2, B=, F=5]"),
    ("labels: [a=1, b]\nvolumes: ['data:/x', '/a:/y']", "labels: {a: '', c: 3}\nvolumes: ['/c:/y', 'more:/z']"),
    ("networks: {n: {aliases: [a, b]}, m: }", "networks: {n: {aliases: [c]}}"),
    ("secrets: [s, {source: t, mode: 0440}]", "secrets: [{source: s, target: x, uid: '3'}]"),
    ("deploy: {replicas: 3, resources: {limits: {cpus: '1', memory: 1G}}}",
     "deploy: {replicas: 0, resources: {limits: {memory: 2g}}}"),
    ("deploy: {placement: {constraints: [node.role == a]}, labels: {a: 1}}",
     "deploy: {placement: {constraints: [node.id == b]}, labels: [b=2]}"),
    ("deploy: {restart_policy: {condition: any, delay: 5s}}",
     "deploy: {restart_policy: {max_attempts: 3, window: 1m}}"),
    ("image: ${REG:-r}/a:${TAG-1}\nstop_grace_period: 1m30s", "user: '1:1'\nworking_dir: /w\nread_only: true"),
]  # fmt: skip
HEAD = 'version: "3.8"\n'


@pytest.mark.engine
@pytest.mark.parametrize(("base", "over"), PAIRS)
def test_the_docker_cli_merges_to_the_same_service(base: str, over: str, tmp_path: Path) -> None:
    texts = (HEAD + wrap(base) + TAIL, HEAD + wrap(over))
    theirs = _docker(texts, tmp_path)
    (draft,) = load(*texts, variables=dict.fromkeys(["REG", "TAG", "B", "F"])).drafts
    spec = draft.spec
    assert spec.image == theirs["image"]
    assert list(spec.args or ()) == theirs.get("command", [])
    assert dict(spec.env) == theirs.get("environment", {})
    assert spec.container_labels == theirs.get("labels", {})
    assert spec.hostname == theirs.get("hostname", "")
    assert (spec.tty, spec.init) == (theirs.get("tty", False), theirs.get("init"))
    assert {one.source: one.target for one in spec.secrets} == {
        one["source"]: one.get("target", one["source"]) for one in theirs.get("secrets", [])
    }
    assert {one.source: one.mode for one in spec.secrets} == {
        one["source"]: one.get("mode", 0o444) for one in theirs.get("secrets", [])
    }
    assert [(one.kind, one.target) for one in spec.mounts] == [
        (one["type"], one["target"]) for one in theirs.get("volumes", [])
    ]
    uses = {
        name: tuple((use or {}).get("aliases", ())) for name, use in theirs.get("networks", {"default": None}).items()
    }
    assert {use.name.removeprefix("st_"): use.aliases for use in spec.networks} == uses
    deploy = theirs.get("deploy", {})
    assert draft.replicas == deploy.get("replicas", 1)
    assert list(spec.request.constraints) == deploy.get("placement", {}).get("constraints", [])
    limits = deploy.get("resources", {}).get("limits", {})
    assert spec.limits.memory_bytes == int(limits.get("memory", 0))
    policy = deploy.get("restart_policy", {})
    assert (spec.restart.condition, spec.restart.max_attempts) == (
        policy.get("condition", "any"),
        policy.get("max_attempts"),
    )


def _docker(texts: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """The service as `docker stack config` merges it (it needs no daemon)."""
    docker = shutil.which("docker")
    if docker is None or not _has_config(docker):
        pytest.skip("the docker CLI is not installed, or has no `stack config` (older than 25)")
    command = [docker, "stack", "config"]
    for n, text in enumerate(texts):
        path = folder / f"{n}.yml"
        path.write_text(text)
        command += ["-c", str(path)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return _plain(done.stdout)["services"]["web"]  # type: ignore[no-any-return]


def _has_config(docker: str) -> bool:
    asked = subprocess.run([docker, "stack", "config", "--help"], capture_output=True, text=True, check=False)
    return "docker stack config" in asked.stdout


def _plain(text: str) -> Any:
    import yaml

    return json.loads(json.dumps(yaml.safe_load(re.sub(r"^version:.*\n", "", text))))
