"""The client on real daemons: TLS with certificates, ssh through a real sshd, and daemons that fall silent or die."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from berth.dockerapi.address import Address, TlsFiles
from berth.dockerapi.client import Docker, Version, negotiate
from berth.dockerapi.events import Ears
from berth.model.errors import BadInput, EngineError, EngineUnknown
from tests.testbed.daemons import TLS_PORT, DockerHost
from tests.testbed.lab import Lab
from tests.testbed.processes import wait_until

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def host() -> Iterator[DockerHost]:
    """A daemon on its socket and, with TLS, on its address."""
    with Lab("eng", "10.91.0") as lab, DockerHost(lab, "far", tls=True) as host:
        yield host


async def version_of(address: Address) -> str:
    docker = Docker(address)
    try:
        return (await docker.open()).version
    finally:
        await docker.close()


def tls(host: DockerHost, **changes: str) -> Address:
    folder = host.certificates
    files = {name: str(folder / f"{name}.pem") for name in ("ca", "cert", "key")} | changes
    return Address(f"tcp://{host.address}:{TLS_PORT}", TlsFiles(**files))


async def test_the_version_is_agreed_upon(host: DockerHost) -> None:
    docker = Docker(Address(host.url))
    assert (await docker.open()).version.startswith("20.10")
    assert docker.api == "1.41"
    await docker.close()


@pytest.mark.parametrize(
    ("newest", "oldest", "agreed"), [("1.41", "1.12", "1.41"), ("1.56", "1.40", "1.56"), ("1.60", "1.44", "1.56")]
)
def test_the_newest_common_version_is_taken(newest: str, oldest: str, agreed: str) -> None:
    assert negotiate(Version("x", newest, oldest)) == agreed


@pytest.mark.parametrize(("newest", "oldest"), [("1.40", "1.12"), ("1.70", "1.57")])
def test_daemons_too_old_or_too_new_are_refused(newest: str, oldest: str) -> None:
    with pytest.raises(EngineError, match=r"needs 1\.41 to 1\.56"):
        negotiate(Version("x", newest, oldest))


async def test_tls_with_a_certificate(host: DockerHost) -> None:
    assert (await version_of(tls(host))).startswith("20.10")


async def test_tls_without_a_certificate_is_refused(host: DockerHost) -> None:
    with pytest.raises(EngineError) as refused:
        await version_of(tls(host, cert="", key=""))
    assert refused.value.problems[0].code == "engine-unreachable"


async def test_a_server_that_another_authority_signed_is_not_trusted(host: DockerHost) -> None:
    with pytest.raises(EngineError, match="certificate"):
        await version_of(tls(host, ca=""))


async def test_tls_files_that_do_not_exist_are_named(host: DockerHost) -> None:
    with pytest.raises(BadInput) as refused:
        await version_of(tls(host, ca="/nowhere/ca.pem"))
    assert refused.value.problems[0].code == "bad-docker-tls"


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A real sshd on loopback that lets this user in by a key; `ssh` on the path knows both."""
    program = shutil.which("sshd") or "/usr/sbin/sshd"
    if not Path(program).exists():
        pytest.skip("no sshd")
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(words, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    Path("/run/sshd").mkdir(exist_ok=True)
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\nPermitRootLogin yes\nStrictModes no\n"
        f"UsePAM no\nPidFile none\nListenAddress 127.0.0.1:{port}\n"
    )
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {(tmp_path / 'host.pub').read_text()}")
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    real = shutil.which("ssh")
    ssh.write_text(f'#!/bin/sh\nexec {real} -F none -i {tmp_path}/user -o UserKnownHostsFile={tmp_path}/known "$@"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    server = subprocess.Popen([program, "-D", "-f", str(tmp_path / "sshd_config")], stderr=subprocess.DEVNULL)
    wait_until(lambda: answers(port), 10, "sshd")
    yield port
    server.terminate()
    server.wait(10)


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_ssh_carries_requests_and_events(host: DockerHost, sshd: int) -> None:
    docker = Docker(Address(f"ssh://127.0.0.1:{sshd}{host.socket}"))
    assert (await docker.open()).version.startswith("20.10")
    heard = asyncio.Queue()  # type: ignore[var-annotated]
    ears = Ears(docker, ("container",), lambda event: event and heard.put_nowait((event.kind, event.action)))
    ears.open()
    assert await asyncio.wait_for(anext(ears.changes()), 10) == "connected"
    await asyncio.to_thread(host.docker, "run", "--rm", "bb:1", "true")
    assert await asyncio.wait_for(heard.get(), 10) == ("container", "create")
    bodies = await asyncio.gather(*(docker.read("/info") for _ in range(5)))
    assert all(b'"Name":"far"' in body for body in bodies)
    await ears.close()
    await docker.close()


async def test_an_ssh_host_that_refuses_says_why(host: DockerHost, sshd: int) -> None:
    with pytest.raises(EngineError, match=r"Connection refused|Permission denied|Connection closed"):
        await version_of(Address("ssh://127.0.0.1:1"))


async def test_nobody_there_is_a_definite_no() -> None:
    for url in ("unix:///nowhere/docker.sock", "tcp://127.0.0.1:1"):
        with pytest.raises(EngineError) as refused:
            await version_of(Address(url))
        assert refused.value.problems[0].code == "engine-unreachable"
        assert url in str(refused.value)


async def test_a_change_without_an_answer_is_not_known(host: DockerHost) -> None:
    docker = Docker(Address(host.url), answer_s=0.5)
    await docker.open()
    host.pause()
    try:
        with pytest.raises(EngineUnknown) as unknown:
            await docker.send("/containers/create", {"Image": "bb:1"}, {"name": "late"})
        assert unknown.value.problems[0].code == "engine-answer-lost"
        with pytest.raises(EngineError) as refused:
            await docker.read("/containers/json")
        assert refused.value.problems[0].code == "engine-unreachable"
    finally:
        host.resume()
    await docker.close()


async def test_events_are_heard_again_after_the_daemon_was_killed(host: DockerHost) -> None:
    docker = Docker(Address(host.url))
    await docker.open()
    heard: list[str] = []
    ears = Ears(docker, ("container",), lambda event: heard.append(event.action if event else "gap"))
    ears.open()
    await asyncio.wait_for(anext(ears.changes()), 10)
    await asyncio.to_thread(host.restart)
    async with asyncio.timeout(20):
        while heard.count("gap") < 2:
            await asyncio.sleep(0.1)
    await asyncio.to_thread(host.docker, "run", "--rm", "bb:1", "true")
    async with asyncio.timeout(10):
        while "destroy" not in heard:
            await asyncio.sleep(0.1)
    await ears.close()
    await docker.close()


async def test_the_daemons_own_words_reach_the_person(host: DockerHost) -> None:
    docker = Docker(Address(host.url))
    await docker.open()
    with pytest.raises(EngineError, match="invalid reference format") as refused:
        await docker.send("/containers/create", {"Image": "::"})
    assert refused.value.problems[0].code == "engine-refused"
    with pytest.raises(EngineError, match="not a swarm manager") as refused:
        await docker.read("/services")
    assert refused.value.problems[0].code == "not-a-manager"
    assert "docker swarm init" in refused.value.problems[0].hint
    await docker.close()
