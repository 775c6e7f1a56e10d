"""Which daemon is meant, found as the docker CLI finds it, contexts that the real CLI wrote included."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from berth.dockerapi import transport
from berth.dockerapi.address import Address, TlsFiles, find
from berth.model.errors import BadInput
from tests.testbed.tls import daemon_settings


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with a home of its own."""
    return {"HOME": str(tmp_path)}


def context(home: dict[str, str], name: str, endpoint: str) -> None:
    """Let the docker CLI write a context."""
    if not shutil.which("docker"):
        pytest.skip("no docker CLI to write a context")
    environ = {"PATH": os.environ["PATH"], **home}
    words = ["docker", "context", "create", name, "--docker", endpoint]
    subprocess.run(words, env=environ, check=True, capture_output=True)


def test_without_a_word_it_is_the_local_socket(home: dict[str, str]) -> None:
    assert find("", home).url == "unix:///var/run/docker.sock"


def test_a_url_is_taken_as_it_is(home: dict[str, str]) -> None:
    assert find("ssh://ann@gpu-2:2222", {**home, "DOCKER_HOST": "tcp://other:1"}).url == "ssh://ann@gpu-2:2222"


def test_docker_host_stands_over_contexts(home: dict[str, str]) -> None:
    context(home, "lab", "host=tcp://lab:2375")
    assert find("", {**home, "DOCKER_HOST": "tcp://a:1", "DOCKER_CONTEXT": "lab"}).url == "tcp://a:1"


def test_docker_context_stands_over_the_configured_one(home: dict[str, str]) -> None:
    context(home, "lab", "host=tcp://lab:2375")
    context(home, "desk", "host=ssh://desk")
    (Path(home["HOME"]) / ".docker" / "config.json").write_text('{"currentContext": "lab"}')
    assert find("", home) == Address("tcp://lab:2375", None, "the Docker context lab")
    assert find("", {**home, "DOCKER_CONTEXT": "desk"}).url == "ssh://desk"
    assert find("desk", home).url == "ssh://desk"
    assert find("default", home).url == "unix:///var/run/docker.sock"


def test_a_context_brings_its_tls_files(home: dict[str, str], tmp_path: Path) -> None:
    if not shutil.which("openssl"):
        pytest.skip("no openssl to make certificates")
    folder = tmp_path / "tls"
    daemon_settings(folder, "127.0.0.1")
    files = ",".join(f"{name}={folder / name}.pem" for name in ("ca", "cert", "key"))
    context(home, "safe", f"host=tcp://safe:2376,{files}")
    tls = find("safe", home).tls
    assert tls is not None
    for name, path in (("ca", tls.ca), ("cert", tls.cert), ("key", tls.key)):
        assert Path(path).read_text() == (folder / f"{name}.pem").read_text()
    assert tls.verify


def test_tls_of_the_environment(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    asked = {**home, "DOCKER_HOST": "tcp://a:2376", "DOCKER_CERT_PATH": str(tmp_path)}
    assert find("", asked).tls is None
    assert find("", {**asked, "DOCKER_TLS_VERIFY": "1"}).tls == TlsFiles(ca=str(tmp_path / "ca.pem"))


@pytest.mark.parametrize(("given", "code"), [("nolab", "unknown-docker-context"), ("ftp://x", "bad-docker-host")])
def test_what_is_no_daemon_is_refused(home: dict[str, str], given: str, code: str) -> None:
    with pytest.raises(BadInput) as refused:
        find(given, home)
    assert refused.value.problems[0].code == code
    assert refused.value.problems[0].hint


def test_an_unreadable_configuration_is_named(home: dict[str, str]) -> None:
    folder = Path(home["HOME"]) / ".docker"
    folder.mkdir()
    (folder / "config.json").write_text("{")
    with pytest.raises(BadInput, match=r"config\.json"):
        find("", home)


def test_the_ssh_command_is_the_clis() -> None:
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-T"]
    assert transport.ssh_command("ssh://ann@gpu-2:2222") == [
        "ssh", *options, "-l", "ann", "-p", "2222", "--", "gpu-2", "docker", "system", "dial-stdio",
    ]  # fmt: skip
    assert transport.ssh_command("ssh://gpu-2/srv/docker.sock")[-4:] == [
        "--host", "unix:///srv/docker.sock", "system", "dial-stdio",
    ]  # fmt: skip
    with pytest.raises(BadInput):
        transport.ssh_command("ssh://ann:secret@gpu-2")
