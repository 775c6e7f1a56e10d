"""Networks, volumes, secrets and configs of a stack file: on a Swarm Berth creates what the docker CLI creates."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.berth import Berth, until
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

pytestmark = pytest.mark.engine

FILE = """\
services:
  a:
    image: bb:1
    command: [sleep, "600"]
    networks: [front, back, plain, there, {named}]
    volumes: ["data:/data", "named:/named", "out:/out"]
    secrets: [pw, templated, named, there]
    configs: [app, named]
    deploy: {{endpoint_mode: dnsrr}}
  b:
    image: bb:1
    command: [sleep, "600"]
    deploy: {{endpoint_mode: dnsrr}}
networks:
  front:
    driver: overlay
    driver_opts: {{encrypted: ""}}
    ipam: {{driver: default, config: [{{subnet: 10.201.0.0/24}}]}}
    attachable: true
    labels: [a=b]
  back: {{internal: true}}
  plain:
  there: {{external: true}}
  named: {{name: "fine-${{WHO:-name}}"}}
  unused: {{labels: {{x: y}}}}
volumes:
  data: {{driver: local, driver_opts: {{type: tmpfs, device: tmpfs}}, labels: {{a: b}}}}
  named: {{name: own-name}}
  out: {{external: {{name: outer}}}}
secrets:
  pw: {{file: ./pw.txt, labels: {{team: red}}}}
  templated: {{file: ./pw.txt, template_driver: golang}}
  named: {{file: ./pw.txt, name: own-secret}}
  unused: {{file: ./pw.txt}}
  there: {{external: true, name: outer}}
configs:
  app: {{file: ./app.conf, labels: [x, "y=z"]}}
  named: {{file: ./app.conf, name: own-config, template_driver: golang}}
"""
KINDS = ("network", "secret", "config")
OURS = ("berth.",)
PASSING = ("ID", "Id", "Created", "CreatedAt", "UpdatedAt", "Version", "Containers", "Peers", "Scope")


@pytest.fixture(scope="module")
def swarm() -> Iterator[Swarm]:
    """One node of today's engine."""
    with Lab("obj", "10.88.1") as lab, Swarm(lab, 1, variant="today") as swarm:
        swarm.cli("network", "create", "--driver", "overlay", "there")
        swarm.cli("volume", "create", "outer")
        yield swarm


@pytest.fixture
def folder(swarm: Swarm, tmp_path: Path) -> Path:
    """The stack file and what it names."""
    (tmp_path / "pw.txt").write_text("word")
    (tmp_path / "app.conf").write_text("debug=1\n")
    (tmp_path / "stack.yml").write_text(FILE.format(named="named"))
    if "outer" not in swarm.cli("secret", "ls", "--format", "{{.Name}}"):
        swarm.cli("secret", "create", "outer", str(tmp_path / "pw.txt"))
    return tmp_path


def made(swarm: Swarm) -> dict[str, Any]:
    """What there is of the stack, without what differs from one creation to the next, and without Berth's labels."""
    found = {}
    for kind in KINDS:
        names = swarm.cli(
            kind, "ls", "--filter", "label=com.docker.stack.namespace=st", "--format", "{{.Name}}"
        ).split()
        for name in names:
            one = cleaned(json.loads(swarm.cli(kind, "inspect", name))[0])
            if kind == "network" and name != "st_front":
                one["IPAM"]["Config"] = len(one["IPAM"]["Config"] or ())  # the Swarm takes the next free subnet
            found[f"{kind} {name}"] = one
    for service in ("st_a", "st_b"):
        spec = json.loads(swarm.cli("service", "inspect", service))[0]["Spec"]["TaskTemplate"]["ContainerSpec"]
        found[f"mounts {service}"] = spec.get("Mounts")
        for key in ("Secrets", "Configs"):
            found[f"{key} {service}"] = [
                {name: value for name, value in ref.items() if not name.endswith("ID")} for ref in spec.get(key) or ()
            ]
    return found


def cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if key not in PASSING and not key.startswith(OURS)}
        return {key: cleaned(one) for key, one in kept.items() if key != "Options" or kind_of(one)}
    return [cleaned(one) for one in value] if isinstance(value, list) else value


def kind_of(options: Any) -> bool:
    """Swarm numbers its networks (vxlanid): that is no choice of anybody's."""
    if isinstance(options, dict):
        options.pop("com.docker.network.driver.overlay.vxlanid_list", None)
    return bool(options)


def gone(swarm: Swarm) -> bool:
    """True when nothing of the stack is left."""
    label = "label=com.docker.stack.namespace=st"
    kinds = ("service", *KINDS)
    return not any(swarm.cli(kind, "ls", "-q", "--filter", label) for kind in kinds) and not swarm.cli("ps", "-q")


def test_what_is_created_is_what_the_docker_cli_creates(swarm: Swarm, folder: Path) -> None:
    file = str(folder / "stack.yml")
    swarm.cli("stack", "deploy", "--detach=true", "--resolve-image", "never", "-c", file, "st")
    docker = made(swarm)
    swarm.cli("stack", "rm", "st")
    until(lambda: gone(swarm), 60)
    with Berth(folder, "--docker-host", swarm.manager.url) as berth:
        berth("stack", "deploy", "-c", file, "st")
        assert made(swarm) == docker
        assert len(docker) == 5 + 4 + 2 + 6
        before = [swarm.cli(kind, "ls", "-q") for kind in KINDS]
        assert "st_a: unchanged" in berth("stack", "deploy", "-c", file, "st")
        assert [swarm.cli(kind, "ls", "-q") for kind in KINDS] == before
        berth("stack", "rm", "-y", "st")
        until(lambda: gone(swarm), 60)
    assert "outer" in swarm.cli("secret", "ls", "--format", "{{.Name}}")


def test_prune_takes_services_alone_as_docker_does(swarm: Swarm, folder: Path) -> None:
    with Berth(folder, "--docker-host", swarm.manager.url) as berth:
        berth("stack", "deploy", "-c", "stack.yml", "st")
        before = [swarm.cli(kind, "ls", "-q") for kind in KINDS]
        (folder / "less.yml").write_text("services: {b: {image: bb:1, command: [sleep, '600']}}\n")
        told = berth.run("stack", "deploy", "-c", "less.yml", "st")
        assert "st_a is no longer in the files" in told.stderr
        assert "st_a" in swarm.cli("service", "ls", "--format", "{{.Name}}").split()
        assert "st_a: cancelled" in berth("stack", "deploy", "--prune", "-c", "less.yml", "st")
        until(lambda: swarm.cli("service", "ls", "--format", "{{.Name}}").split() == ["st_b"], 30)
        assert [swarm.cli(kind, "ls", "-q") for kind in KINDS] == before
        berth("stack", "rm", "-y", "st")
        until(lambda: gone(swarm), 60)


def test_a_missing_one_is_said_before_anything_is_created(swarm: Swarm, folder: Path) -> None:
    lost = "networks: [gone], secrets: [gone], configs: [gone], volumes: [nowhere:/x]"
    outer = "{gone: {external: true}}"
    text = f"services: {{a: {{image: bb:1, {lost}}}}}\nnetworks: {outer}\nsecrets: {outer}\nconfigs: {outer}\n"
    (folder / "lost.yml").write_text(text)
    (folder / "lost2.yml").write_text(text.replace(", volumes: [nowhere:/x]", "") + "volumes: {v: }\n")
    with Berth(folder, "--docker-host", swarm.manager.url) as berth:
        assert "the volume nowhere is not among" in berth.refused("stack", "deploy", "-c", "lost.yml", "st", code=2)
        told = berth.refused("stack", "deploy", "-c", "lost2.yml", "st", code=2)
        for words in ("external network gone does not exist", "no secret gone", "no config gone"):
            assert words in told
        assert gone(swarm)
