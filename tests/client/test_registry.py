"""Registry credentials: from the file, from helpers by their real protocol, and for no other registry."""

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from berth.client.registry import credentials, known_registries
from berth.model.registry import registry_of


def _environ(home: Path, settings: dict[str, Any]) -> dict[str, str]:
    (home / "config.json").write_text(json.dumps(settings))
    return {"DOCKER_CONFIG": str(home)}


def _decoded(value: str) -> dict[str, str]:
    found = json.loads(base64.urlsafe_b64decode(value))
    assert isinstance(found, dict)
    return found


def _helper(home: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    program = home / "docker-credential-test"
    program.write_text(f"#!/bin/sh\nread server\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("busybox", "docker.io"),
        ("nvidia/cuda:12", "docker.io"),
        ("ghcr.io/team/app:1", "ghcr.io"),
        ("localhost/app", "localhost"),
        ("reg:5000/app@sha256:00", "reg:5000"),
    ],
)
def test_registries_as_docker_reads_them(image: str, registry: str) -> None:
    assert registry_of(image) == registry


def test_only_the_images_registry_and_only_once(tmp_path: Path) -> None:
    auth = base64.b64encode(b"ann:s3cret:x").decode()
    environ = _environ(tmp_path, {"auths": {"https://ghcr.io": {"auth": auth}, "other.io": {"auth": auth}}})
    found = credentials(["ghcr.io/a", "ghcr.io/b", "busybox"], environ)
    assert list(found.auth) == ["ghcr.io"]
    assert _decoded(found.auth["ghcr.io"]) == {
        "username": "ann",
        "password": "s3cret:x",
        "serveraddress": "ghcr.io",
    }
    assert known_registries(environ) == ["ghcr.io", "other.io"]


def test_docker_hub_has_its_own_key(tmp_path: Path) -> None:
    auth = base64.b64encode(b"ann:pw").decode()
    environ = _environ(tmp_path, {"auths": {"https://index.docker.io/v1/": {"auth": auth}}})
    sent = _decoded(credentials(["busybox"], environ).auth["docker.io"])
    assert sent["serveraddress"] == "https://index.docker.io/v1/"


def test_a_helper_answers_by_the_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _helper(
        tmp_path,
        monkeypatch,
        'echo "{\\"ServerURL\\":\\"$server\\",\\"Username\\":\\"<token>\\",\\"Secret\\":\\"idt\\"}"',
    )
    environ = _environ(tmp_path, {"credHelpers": {"ghcr.io": "test"}})
    sent = _decoded(credentials(["ghcr.io/a"], environ).auth["ghcr.io"])
    assert sent == {"identitytoken": "idt", "serveraddress": "ghcr.io"}


def test_a_helper_without_a_login_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _helper(tmp_path, monkeypatch, "echo credentials not found in native keychain; exit 1")
    found = credentials(["ghcr.io/a"], _environ(tmp_path, {"credsStore": "test"}))
    assert found == ({}, [])


@pytest.mark.parametrize(
    ("body", "words"),
    [("exit 3", "ended with 3"), ("echo hello", "something else than credentials")],
)
def test_a_helper_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str) -> None:
    _helper(tmp_path, monkeypatch, body)
    found = credentials(["ghcr.io/a"], _environ(tmp_path, {"credsStore": "test"}))
    assert found.auth == {}
    assert words in found.notices[0]


@pytest.mark.parametrize("name", ["../evil", "a b", "gone"])
def test_a_helper_that_is_none(tmp_path: Path, name: str) -> None:
    found = credentials(["ghcr.io/a"], _environ(tmp_path, {"credsStore": name}))
    assert found.auth == {}
    assert len(found.notices) == 1


def test_no_docker_settings(tmp_path: Path) -> None:
    assert credentials(["busybox"], {"DOCKER_CONFIG": str(tmp_path)}) == ({}, [])
