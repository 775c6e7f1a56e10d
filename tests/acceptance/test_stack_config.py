"""`berth stack config` beside `docker stack config`: the same text for the same files; and what it does not do."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth

pytestmark = pytest.mark.engine

FULL = """\
x-common: &common
  A: "1"
  B: ${WHO:-nobody}
x-other: [1, 2.5, "yes", on]
services:
  web:
    image: nginx:${TAG:-1.2}
    command: sh -c "echo hi"
    entrypoint: ["/bin/a", "b c"]
    environment:
      <<: *common
      C:
      D: "true"
      E: 3.10
      F: "multi\\nline"
      G: "a: b"
      H: "#x"
      I: ""
      K: "1:30"
    env_file: e.env
    labels: ["a=b", "c"]
    ports: ["80", "8080:80/udp", "9000-9001:90-91", {target: 1, published: 2, mode: host}]
    networks: {front: {aliases: [x, y]}, back: }
    volumes: ["./data:/data:ro", "vol:/v:nocopy", "/anon", {type: tmpfs, target: /t, tmpfs: {size: 1000}}]
    secrets: [s1, {source: s2, target: t, uid: "1", gid: "2", mode: 0440}]
    configs: [{source: c1, mode: 440}]
    healthcheck: {test: curl x, interval: 1m30s, timeout: 1500ms, retries: 3, start_period: 1h}
    deploy:
      mode: replicated
      replicas: ${N:-2}
      labels: {x: y}
      update_config: {parallelism: 0, delay: 10s, order: start-first, max_failure_ratio: 0.25}
      rollback_config: {monitor: 1m}
      resources:
        limits: {cpus: '0.50', memory: 50M, pids: 10}
        reservations: {memory: 1gb, generic_resources: [{discrete_resource_spec: {kind: ssd, value: 2}}]}
      restart_policy: {condition: on-failure, delay: 5s, max_attempts: 3, window: 120s}
      placement:
        constraints: [node.role == manager]
        preferences: [{spread: node.labels.z}]
        max_replicas_per_node: 2
      endpoint_mode: dnsrr
    ulimits: {nproc: 65535, nofile: {soft: 20000, hard: 40000}}
    sysctls: {net.core.somaxconn: 1024}
    extra_hosts: {somehost: 1.2.3.4, b: "::1"}
    dns: 8.8.8.8
    logging: {driver: syslog, options: {a: "1"}}
    init: false
    tty: true
    read_only: ${RO:-yes}
    stop_grace_period: 90s
    depends_on: [db]
    expose: [3000, "80"]
    tmpfs: /run
    privileged: true
    shm_size: 2gb
    user: "1001"
    working_dir: /x
    x-own: {a: 1}
  db:
    image: pg
    deploy: {}
networks:
  front:
    driver: overlay
    driver_opts: {a: 1}
    ipam: {driver: default, config: [{subnet: 10.0.0.0/24}]}
    attachable: true
    labels: [k=v]
  back: {external: true, name: real}
  old: {external: {name: o}}
  none-said:
volumes:
  vol: {driver: nfs, driver_opts: {share: x}}
  ext: {external: true}
  vol10:
  vol9:
secrets:
  s1: {file: ./s1.txt}
  s2: {external: true}
  s3: {driver: vault, driver_opts: {a: b}, template_driver: golang}
configs:
  c1: {file: /abs/c1, labels: {a: b}, name: "c-${TAG:-1}"}
"""
OVER = """\
services:
  web:
    environment: [C=over, "Z"]
    ports: ["8080:81/udp"]
    command: ["x"]
    labels: {c: d}
    dns: [1.1.1.1]
    secrets: [{source: s1, target: other}]
    healthcheck: {retries: 5}
    logging: {options: {b: "2"}}
    ulimits: {nofile: 7}
    networks: {front: {aliases: [z]}, more: }
    deploy: {replicas: 0, labels: {n: m}, restart_policy: {max_attempts: 0}, placement: {constraints: [node.id == x]}}
  cache: {image: redis, stop_grace_period: 1h0m0.5s}
networks: {more: }
volumes:
  vol: {driver: other}
x-other: {not: taken}
"""
THIRD = """\
services:
  web: {logging: {driver: json-file}, tty: false, init: true, volumes: [{type: bind, source: ./b, target: /data}]}
"""
ENV = '# c\nFROM=file\nQ="quoted"\nNOVALUE\nD=file\nSPACE= a b \n'
LEAST = 'version: "3.8"\nservices: {a: {image: x}}\n'
SETS = [["full"], ["full", "over"], ["full", "over", "third"], ["full", "third"], ["least"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of this test."""
    for name, text in (("full", FULL), ("over", OVER), ("third", THIRD), ("least", LEAST)):
        (tmp_path / f"{name}.yml").write_text(text)
    (tmp_path / "e.env").write_text(ENV)
    return tmp_path


def of_docker(folder: Path, words: list[str], **environ: str) -> str:
    """What the docker CLI prints."""
    command = ["docker", "stack", "config", *words]
    env = {**os.environ, "DOCKER_HOST": "unix:///nowhere", **environ}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, check=True)
    return done.stdout


@pytest.mark.parametrize("names", SETS, ids="+".join)
@pytest.mark.parametrize("variables", [{}, {"WHO": "ann", "TAG": "2", "N": "5", "RO": "no", "Z": "z", "NOVALUE": "v"}])
def test_the_same_text_as_dockers(simulated: Berth, folder: Path, names: list[str], variables: dict[str, str]) -> None:
    words = [word for name in names for word in ("-c", f"{name}.yml")]
    simulated.environ |= variables
    told = simulated("stack", "config", *words)
    assert told == of_docker(folder, words, **variables)


def test_json_has_the_same_and_nothing_is_created(simulated: Berth, folder: Path) -> None:
    found = simulated.json("stack", "config", "-c", "least.yml")
    assert found == {"version": "3.8", "services": {"a": {"image": "x"}}}
    assert simulated("stack", "config", "-c", "-", stdin=LEAST) == simulated("stack", "config", "-c", "least.yml")
    assert simulated.json("stack", "ls") == simulated.json("jobs", "--all") == []


def test_berths_own_keys_come_after_dockers(simulated: Berth, folder: Path) -> None:
    (folder / "cards.yml").write_text("services: {a: {image: x, gpus: 2, x-berth: {time: 2h}}}\n")
    found = json.loads(simulated("stack", "config", "--json", "-c", "cards.yml"))
    assert found["services"] == {"a": {"image": "x", "gpus": 2, "x-berth": {"time": "2h"}}}


def test_what_is_wrong_is_said_and_secrets_are_not_read(simulated: Berth, folder: Path) -> None:
    (folder / "bad.yml").write_text("services: {a: {image: x, imge: y}}\nsecrets: {s: {file: ./not-there}}\n")
    told = simulated.refused("stack", "config", "-c", "bad.yml", code=2)
    assert "bad.yml:1" in told
    assert "imge" in told
    assert "not-there" not in told


def test_prune_takes_away_what_the_file_no_longer_names(simulated: Berth, folder: Path) -> None:
    (folder / "two.yml").write_text(
        "services: {a: {image: x, command: serve}, b: {image: x, command: serve, gpus: 1}}\n"
    )
    (folder / "one.yml").write_text("services: {a: {image: x, command: serve}}\n")
    simulated("stack", "deploy", "-c", "two.yml", "st", "--wait", "--timeout", "20s")
    kept = simulated.run("stack", "deploy", "-c", "one.yml", "st")
    assert "st_b is no longer in the files" in kept.stderr
    assert "--prune" in kept.stderr
    assert simulated.job("st_b")["state"] == "running"
    plan = simulated.json("stack", "deploy", "-c", "one.yml", "--plan", "--prune", "st")
    assert [(job["name"], job["change"]) for job in plan["jobs"]] == [("st_a", "keep"), ("st_b", "remove")]
    assert simulated.job("st_b")["state"] == "running"
    assert "st_b: cancelled" in simulated("stack", "deploy", "-c", "one.yml", "--prune", "st")
    assert simulated.job("st_b")["state"] in ("stopping", "cancelled")
    assert simulated.job("st_a")["state"] == "running"
