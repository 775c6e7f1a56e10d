"""Secrets on real engines by the CLI: who may do what, what containers see, and that nobody else sees a content."""

import contextlib
import hashlib
import json
import os
import secrets
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, Failed, until
from tests.testbed.daemons import TLS_PORT, DockerHost
from tests.testbed.lab import Lab
from tests.testbed.ssh import SshServer
from tests.testbed.swarm import Swarm

pytestmark = pytest.mark.engine

CARDS = ("--simulate", "*=A100-SXM4-80GB:2")
SHOW = "sha256sum /run/secrets/key | cut -d' ' -f1; sleep 600"
STACK = """\
services:
  web:
    image: bb:1
    user: "1234:77"
    command: ["sh", "-c", "ls -ln /run/secrets; sha256sum /run/secrets/pw /app.conf | cut -d' ' -f1; sleep 600"]
    secrets: [{source: pw, uid: "1234", gid: "77", mode: 0400}]
    configs: [{source: app, target: /app.conf}]
    deploy: {restart_policy: {condition: none}}
  plain:
    image: bb:1
    command: [sleep, "600"]
secrets:
  pw: {file: ./pw.txt, labels: {team: red}}
configs:
  app: {file: ./app.conf}
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own."""
    with Lab("sec", "10.89.0") as lab:
        yield lab


@pytest.fixture(scope="module")
def swarm(lab: Lab) -> Iterator[Swarm]:
    """Two nodes."""
    with Swarm(lab, 2, variant="debian") as swarm:
        yield swarm


@pytest.fixture(scope="module", params=["debian", "today"])
def host(lab: Lab, request: pytest.FixtureRequest) -> Iterator[DockerHost]:
    """One Docker host."""
    with DockerHost(lab, "single", variant=request.param) as host:
        yield host


@pytest.fixture
def secret() -> str:
    """A word that nothing else has."""
    return f"hunter-{secrets.token_hex(16)}"


def sum_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def as_user(berth: Berth, name: str) -> tuple[str, str]:
    """The flags of another person."""
    token = berth.folder / f"{name}.token"
    token.write_text(berth("token", "create", "--role", "user", "--name", name))
    return ("--token-file", str(token))


def files_with(word: str, *folders: Path) -> list[str]:
    """Files below these folders that hold the word."""
    found = subprocess.run(
        ["grep", "-rlF", "--", word, *map(str, folders)], capture_output=True, text=True, check=False
    )
    return found.stdout.split()


def running_words() -> str:
    """The command lines and environments of all processes."""
    parts = []
    for process in filter(str.isdecimal, os.listdir("/proc")):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                parts.append(Path("/proc", process, name).read_bytes().decode("utf-8", "replace"))
    return "\n".join(parts)


def test_a_secret_is_in_its_file_and_nowhere_else(host: DockerHost, tmp_path: Path, secret: str) -> None:
    began = str(int(time.time()))
    with Berth(tmp_path, "--docker-host", host.url, *CARDS) as berth:
        berth("secret", "create", "key", "-", stdin=secret)
        job = berth("run", "--detach", "--gpus", "1", "--secret", "key", "bb:1", "sh", "-c", SHOW).strip()
        until(lambda: sum_of(secret) in berth("logs", job), 20, "the container has the secret")
        container = host.docker("ps", "-q", "--no-trunc")
        seen = [
            host.docker("inspect", container),
            host.docker("events", "--since", began, "--until", str(int(time.time()) + 1)),
            host.docker("logs", container),
            running_words(),
            berth("secret", "ls", "--json"),
            berth("jobs", "--all", "--json"),
            berth("events", "--json"),
            berth("history", job, "--json"),
            berth.errors(),
        ]
        assert [secret in text for text in seen] == [False] * len(seen)
        assert files_with(secret, tmp_path / "data", host.folder) == []
        assert [one["used_by"] for one in berth.json("secret", "ls")] == [["sh"]] or berth.json("secret", "ls")
        source = json.loads(seen[0])[0]["Mounts"][0]["Source"]
        assert host.docker("exec", container, "cat", "/run/secrets/key") == secret
        berth("cancel", "-y", job)
        until(lambda: berth.job(job)["state"] == "cancelled" and not host.docker("ps", "-q"), 30)
        berth("secret", "rm", "-y", "key")
    assert files_with(secret, tmp_path, host.folder) == []
    assert source.startswith("/run/berth-secrets/")


@pytest.mark.parametrize("way", ["ssh", "tls"])
def test_a_far_daemon_is_served_alike(lab: Lab, tmp_path: Path, secret: str, way: str) -> None:
    with DockerHost(lab, "far", tls=True) as host, SshServer(host) as ssh:
        url = ssh.url if way == "ssh" else f"tcp://{host.address}:{TLS_PORT}"
        ways = {
            "ssh": {"PATH": ssh.client_environment()["PATH"]},
            "tls": {"DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(host.certificates)},
        }
        with Berth(tmp_path, "--docker-host", url, *CARDS, environ=ways[way]) as berth:
            berth("secret", "create", "key", "-", stdin=secret)
            job = berth("run", "--detach", "--secret", "key", "bb:1", "sha256sum", "/run/secrets/key").strip()
            until(lambda: sum_of(secret) in berth("logs", job), 20)
        assert files_with(secret, tmp_path / "data", host.folder) == []


def test_what_a_person_may_do_with_secrets(host: DockerHost, tmp_path: Path, secret: str) -> None:
    with Berth(tmp_path, "--docker-host", host.url, *CARDS) as berth:
        ann, bob = as_user(berth, "ann"), as_user(berth, "bob")
        berth("secret", "create", "anns", "-", *ann, stdin=secret)
        assert [one["name"] for one in json.loads(berth("secret", "ls", "--json", *bob))] == ["anns"]
        assert "belongs to ann" in berth.refused("secret", "rm", "-y", "anns", *bob, code=4)
        assert "already" in berth.refused("secret", "create", "anns", "-", *bob, code=2, stdin="x")
        assert "cannot name a secret" in berth.refused("secret", "create", "a/b", "-", code=2, stdin="x")
        assert "is empty" in berth.refused("secret", "create", "void", "-", code=2, stdin="")
        assert "512000" in berth.refused("secret", "create", "big", "-", code=2, stdin="x" * 512_001)
        assert "no secret nokey" in berth.refused("run", "--secret", "nokey", "bb:1", code=2)
        job = berth("run", *ann, "--detach", "--secret", "anns", "bb:1", "sleep", "600").strip()
        until(lambda: berth.job(job)["state"] == "running", 20)
        assert berth.job(job)["name"] in berth.refused("secret", "rm", "-y", "anns", *ann, code=4)
        berth("cancel", "-y", job, *ann)
        until(lambda: berth.job(job)["state"] == "cancelled", 30)
        berth("secret", "rm", "-y", "anns", *ann)
        assert "no secret anns" in berth.refused("secret", "rm", "-y", "anns", *ann, code=3)
        assert berth.json("secret", "ls") == []


def test_the_key_is_the_owners_alone_and_a_lost_one_is_said(host: DockerHost, tmp_path: Path, secret: str) -> None:
    with Berth(tmp_path, "--docker-host", host.url, *CARDS) as berth:
        key = tmp_path / "data" / "secret.key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        berth("secret", "create", "key", "-", stdin=secret)
        job = berth("run", "--detach", "--secret", "key", "bb:1", "sh", "-c", "sha256sum /run/secrets/key").strip()
        until(lambda: berth.job(job)["state"] == "succeeded", 20)
        berth.stop()
        key.rename(tmp_path / "kept.key")
        berth.start()
        job = berth("run", "--detach", "--secret", "key", "bb:1", "true").strip()
        until(lambda: berth.job(job)["state"] == "failed", 20)
        assert "encrypted with another key" in json.dumps(berth.json("history", job))
        berth.stop()
        (tmp_path / "kept.key").chmod(0o644)
        (tmp_path / "kept.key").replace(key)
        with pytest.raises(Failed, match="chmod 600"):
            berth.start()
        key.chmod(0o600)
        berth.start()
        job = berth("run", "--detach", "--secret", "key", "bb:1", "sha256sum", "/run/secrets/key").strip()
        until(lambda: sum_of(secret) in berth("logs", job), 20)


def write_stack(folder: Path, secret: str, text: str = STACK) -> str:
    """The stack file with its secret and config beside it; the file's path."""
    (folder / "pw.txt").write_text(secret)
    (folder / "app.conf").write_text("debug=1\n")
    (folder / "stack.yml").write_text(text)
    return str(folder / "stack.yml")


def test_a_stacks_own_secrets_on_a_docker_host(host: DockerHost, tmp_path: Path, secret: str) -> None:
    with Berth(tmp_path, "--docker-host", host.url, *CARDS) as berth:
        file = write_stack(tmp_path, secret)
        berth("stack", "deploy", "-c", file, "st", "--wait", "--timeout", "30s")
        until(lambda: sum_of("debug=1\n") in berth("logs", "st_web"), 20)
        assert sum_of(secret) in berth("logs", "st_web")
        assert "-r--------    1 1234     77" in berth("logs", "st_web")
        assert [(one["name"], one["stack"], one["used_by"]) for one in berth.json("secret", "ls")] == [
            ("st_pw", "st", ["st_web"])
        ]
        before = berth.job("st_web")["id"]
        assert "st_web: unchanged" in berth("stack", "deploy", "-c", file, "st")
        (tmp_path / "pw.txt").write_text(secret + "2")
        told = berth("stack", "deploy", "-c", file, "st", "--wait", "--timeout", "30s")
        assert "st_web: updated" in told
        assert "st_plain: unchanged" in told
        until(lambda: sum_of(secret + "2") in berth("logs", "st_web"), 30, "another content, another container")
        assert berth.job("st_web")["id"] == before
        (tmp_path / "pw.txt").unlink()
        assert "no file ./pw.txt" in berth.refused("stack", "deploy", "-c", file, "st", code=2)
        berth("stack", "rm", "-y", "st")
        until(lambda: berth.json("secret", "ls") == [], 40, "secrets go with their stack")
        assert files_with(secret, tmp_path / "data", host.folder) == []


def test_a_stacks_own_secrets_on_a_swarm_are_dockers(swarm: Swarm, tmp_path: Path, secret: str) -> None:
    with Berth(tmp_path, "--docker-host", swarm.manager.url, *CARDS) as berth:
        file = write_stack(
            tmp_path, secret, STACK.replace("deploy: {", "deploy: {placement: {constraints: [gpu.free >= 1]}, ")
        )
        berth("stack", "deploy", "-c", file, "st", "--wait", "--timeout", "40s")
        until(lambda: sum_of(secret) in berth("logs", "st_web"), 20)
        labels = json.loads(swarm.cli("secret", "inspect", "st_pw"))[0]["Spec"]["Labels"]
        assert labels["com.docker.stack.namespace"] == "st"
        assert labels["team"] == "red"
        assert secret not in json.dumps(labels) + swarm.cli("service", "inspect", "st_web") + berth.errors()
        assert swarm.cli("config", "ls", "--format", "{{.Name}}") == "st_app"
        assert "st_web: unchanged" in berth("stack", "deploy", "-c", file, "st")
        changed_as_docker_finds(swarm, berth, file, secret)
        assert files_with(secret, tmp_path / "data") == []
        swarm.cli("stack", "rm", "st")
        until(lambda: berth.json("stack", "ls") == [], 40)
        assert swarm.cli("secret", "ls", "-q") + swarm.cli("config", "ls", "-q") == ""


def changed_as_docker_finds(swarm: Swarm, berth: Berth, file: str, secret: str) -> None:
    """Another content under one name is refused, by Docker halfway and by Berth before anything; a new name goes."""
    folder = Path(file).parent
    (folder / "pw.txt").write_text(secret + "2")
    text = Path(file).read_text()
    Path(file).write_text(text + "networks: {more: }\n")
    before = swarm.cli("service", "inspect", "st_web")
    told = berth.refused("stack", "deploy", "-c", file, "st", code=2)
    assert "never changes" in told
    assert "name: st_pw_2" in told
    assert "stack.yml:13" in told
    assert swarm.cli("service", "inspect", "st_web") == before
    with pytest.raises(Exception, match="only updates to Labels are allowed"):
        swarm.cli("stack", "deploy", "-c", file, "st")
    Path(file).write_text(text.replace("file: ./pw.txt", "name: st_pw_2, file: ./pw.txt"))
    assert "st_web: updated" in berth("stack", "deploy", "-c", file, "st", "--wait", "--timeout", "40s")
    until(lambda: sum_of(secret + "2") in berth("logs", "st_web"), 20)


def test_the_verbs_drive_a_swarms_own_secrets(swarm: Swarm, tmp_path: Path, secret: str) -> None:
    with Berth(tmp_path, "--docker-host", swarm.manager.url, *CARDS) as berth:
        ann = as_user(berth, "ann")
        berth("secret", "create", "key", "-", *ann, stdin=secret)
        (tmp_path / "hand").write_text("by hand")
        swarm.cli("secret", "create", "hand", str(tmp_path / "hand"))
        assert swarm.cli("secret", "ls", "--format", "{{.Name}}").split() == ["hand", "key"]
        assert [(one["name"], one["user"]) for one in berth.json("secret", "ls")] == [("hand", None), ("key", "ann")]
        assert "belongs to nobody" in berth.refused("secret", "rm", "-y", "hand", *ann, code=4)
        job = berth("run", *ann, "--detach", "--gpus", "1", "--secret", "key", "bb:1", "sh", "-c", SHOW).strip()
        until(lambda: sum_of(secret) in berth("logs", job), 30)
        assert berth.refused("secret", "rm", "-y", "key", *ann, code=4)
        berth("cancel", "-y", job, *ann)
        until(lambda: berth.job(job)["state"] == "cancelled", 30)
        berth("secret", "rm", "-y", "key", *ann)
        berth("secret", "rm", "-y", "hand")
        assert swarm.cli("secret", "ls", "-q") == ""
