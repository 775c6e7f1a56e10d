"""Real Docker hosts: what they run, how they fail and come back, and that nothing stays behind."""

import json
import ssl
import subprocess
import sys
import time
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from .daemons import TLS_PORT, DockerHost, ping
from .image import IMAGE, IMAGE_TERM, tags
from .lab import CGROUPS, Lab
from .processes import TestbedError, command_lines, run
from .ssh import SshServer

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


def test_a_container_runs_on_its_own_host(host: DockerHost) -> None:
    told = host.docker("version", "--format", "{{.Server.Version}} {{.Server.APIVersion}}")
    assert told == {"debian": "20.10.24+dfsg1 1.41", "today": "2.0.0-beta.24 1.56"}[host.variant]
    assert host.docker("info", "--format", "{{.Name}}") == "solo"
    said = host.docker(
        "run", "--rm", "--user", "1001:1001", IMAGE, "sh", "-c", "id -u; grep -c video /etc/group || true"
    )
    assert said.split() == ["1001", "0"]
    assert set(tags()) <= set(host.docker("images", "--format", "{{.Repository}}:{{.Tag}}").split())


def test_stop_signals(host: DockerHost) -> None:
    quick, slow = (host.docker("run", "--detach", image, "sleep", "60") for image in (IMAGE, IMAGE_TERM))
    begun = time.monotonic()
    host.docker("stop", "--time", "2", quick)
    middle = time.monotonic()
    host.docker("stop", "--time", "2", slow)
    assert middle - begun < 1.5 <= time.monotonic() - middle
    host.docker("rm", quick, slow)


def test_killed_and_frozen(host: DockerHost) -> None:
    container = host.docker("run", "--detach", "--name", "lasting", IMAGE)
    pid = host.inspect(container)["State"]["Pid"]
    host.kill()
    assert not ping(host.socket)
    assert Path(f"/proc/{pid}").exists()
    host.start()
    assert host.inspect("lasting")["State"]["Running"] is False
    host.docker("rm", "lasting")
    host.pause()
    assert not ping(host.socket, timeout=0.3)
    host.resume()
    assert ping(host.socket)


def test_hosts_are_apart_and_can_be_cut_off(lab: Lab, host: DockerHost) -> None:
    reach = ["ping", "-c3", "-W2", lab.network.gateway]
    busybox = ["busybox", *reach]
    assert run(host.command("hostname")).stdout.strip() == "solo"
    run(host.command(*busybox))
    host.unplug()
    assert run(host.command(*busybox), check=False).returncode != 0
    assert ping(host.socket)
    host.plug()
    run(host.command(*busybox))


def test_tls_wants_a_certificate(lab: Lab) -> None:
    with DockerHost(lab, "locked", tls=True) as host:
        assert host.certificates
        trust = ssl.create_default_context(cafile=str(host.certificates / "ca.pem"))
        with pytest.raises(OSError, match=r"(?i)certificate|reset|broken"):
            _ping(host.address, trust)
        trust.load_cert_chain(host.certificates / "cert.pem", host.certificates / "key.pem")
        assert _ping(host.address, trust) == 200


def test_ssh_reaches_the_daemon(host: DockerHost) -> None:
    with SshServer(host) as server:
        env = server.client_environment()
        assert run(["docker", "info", "--format", "{{.Name}}"], env=env).stdout.strip() == "solo"
        assert run(["docker", "run", "--rm", IMAGE, "echo", "by ssh"], env=env).stdout == "by ssh\n"


def _ping(address: str, trust: ssl.SSLContext) -> int:
    connection = HTTPSConnection(address, TLS_PORT, timeout=5, context=trust)
    try:
        connection.request("GET", "/_ping")
        return connection.getresponse().status
    finally:
        connection.close()


def test_nothing_stays_after_a_crash() -> None:
    crash = """if True:
        import os
        from tests.testbed.lab import Lab
        from tests.testbed.daemons import DockerHost
        host = DockerHost(Lab("tbx", "10.99.1").__enter__()).__enter__()
        print(host.docker("run", "--detach", "bb:1"), flush=True)
        os._exit(1)"""
    container = subprocess.run([sys.executable, "-c", crash], capture_output=True, text=True, timeout=60).stdout.strip()
    group = CGROUPS / "pids" / "docker" / container
    lab = Lab("tbx", "10.99.1")
    assert lab.network.is_open()
    assert (group / "cgroup.procs").read_text()
    with lab:
        assert not group.exists()
        assert not [words for words in command_lines().values() if any(f"{lab.folder}/" in word for word in words)]
    assert not lab.folder.exists()
    assert not lab.network.is_open()


def test_labs_do_not_share_a_name_or_a_subnet(lab: Lab) -> None:
    for prefix, subnet, said in (("tb", "10.99.3", "in use"), ("tbz", "10.99.0", "another subnet")):
        with pytest.raises(TestbedError, match=said):
            Lab(prefix, subnet).__enter__()
    assert lab.network.is_open()


def test_up_and_down_by_hand() -> None:
    def testbed(*words: str) -> dict[str, object]:
        told = run([sys.executable, "-m", "tests.testbed", *words, "--prefix", "tby"], timeout=60).stdout
        document: dict[str, object] = json.loads(told)
        return document

    told = testbed("up", "--nodes", "1", "--subnet", "10.99.2")
    assert testbed("status") == {"up": True, **told} | {"nodes": _running(told["nodes"])}
    with pytest.raises(TestbedError, match="is up"):
        testbed("up")
    testbed("down")
    assert testbed("status") == {"up": False}


def _running(nodes: object) -> dict[str, object]:
    assert isinstance(nodes, dict)
    return {name: {**node, "running": True} for name, node in nodes.items()}
