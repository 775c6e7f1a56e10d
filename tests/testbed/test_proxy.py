"""The proxy in front of a real daemon, asked by the real docker client."""

import json
import socket
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

import pytest

from .daemons import DockerHost, UnixConnection, ping
from .image import IMAGE
from .processes import TestbedError, run
from .proxy import Fault, Proxy

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture
def proxy(host: DockerHost, tmp_path: Path) -> Iterator[Proxy]:
    """A proxy without faults."""
    with Proxy(host.url, f"unix://{tmp_path}/proxy.sock") as proxy:
        yield proxy


def path(proxy: Proxy) -> Path:
    """Return the proxy's socket."""
    return Path(proxy.url.removeprefix("unix://"))


def create(proxy: Proxy, name: str, timeout: float = 10) -> int:
    """Create a container through the proxy and return the daemon's status."""
    connection = UnixConnection(path(proxy), timeout)
    body = json.dumps({"Image": IMAGE})
    try:
        connection.request("POST", f"/containers/create?name={name}", body, {"Content-Type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()


def exists(host: DockerHost, name: str) -> bool:
    """Tell whether the daemon has a container of this name, and remove it."""
    found = bool(host.docker("ps", "--all", "--quiet", "--filter", f"name={name}"))
    if found:
        host.docker("rm", "--force", name)
    return found


def test_clients_work_through_it(host: DockerHost, proxy: Proxy) -> None:
    env = {**host.client_environment(), "DOCKER_HOST": proxy.url}
    assert run(["docker", "run", "--rm", "--interactive", IMAGE, "cat"], env=env, stdin="echoed").stdout == "echoed"
    assert run(["docker", "run", "--rm", IMAGE, "echo", "said"], env=env).stdout == "said\n"
    assert any(line.startswith("POST ") and "/containers/create" in line for line in proxy.requests)


@pytest.mark.parametrize("kind", ["late-request", "late-answer"])
def test_late(host: DockerHost, proxy: Proxy, kind: str) -> None:
    proxy.add(Fault(kind, "POST .*/create", seconds=0.4))  # type: ignore[arg-type]
    begun = time.monotonic()
    assert create(proxy, "late") == 201
    assert time.monotonic() - begun > 0.4
    assert exists(host, "late")


def test_cut_and_lost(host: DockerHost, proxy: Proxy) -> None:
    proxy.add(Fault("cut", "create"))
    with pytest.raises((OSError, HTTPException)):
        create(proxy, "never")
    assert not exists(host, "never")
    proxy.add(Fault("lost-answer", "create"))
    with pytest.raises((OSError, HTTPException)):
        create(proxy, "made")
    assert exists(host, "made")


def test_no_answer_and_cut_by_hand(host: DockerHost, proxy: Proxy) -> None:
    proxy.add(Fault("no-answer", "create"))
    with pytest.raises(TimeoutError):
        create(proxy, "silent", timeout=0.3)
    assert not exists(host, "silent")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        client.connect(str(path(proxy)))
        client.sendall(b"GET /_ping HTTP/1.1\r\nHost: d\r\n\r\n")
        assert b" 200 " in client.recv(4096)
        proxy.cut()
        assert client.recv(4096) in {b"", b"OK"}
    assert ping(path(proxy))


def test_twice(host: DockerHost, proxy: Proxy) -> None:
    proxy.add(Fault("twice", "create", seconds=0.2))
    assert create(proxy, "again") == 201
    assert exists(host, "again")
    time.sleep(0.5)
    assert exists(host, "again")
    with pytest.raises(TestbedError):
        host.inspect("again")
