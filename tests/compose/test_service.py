"""Every key of a service that is carried, to the very values; a new case is one line."""

from typing import Any

import pytest

from berth.compose import Facts
from berth.model.job import Network, Volume
from berth.model.spec import (
    Credential,
    FileRef,
    Healthcheck,
    Limits,
    Logging,
    Mount,
    NetworkUse,
    Port,
    Restart,
    Rollout,
    Spread,
    Surroundings,
    Ulimit,
)
from tests.compose.loading import load, one, read_constraint, wrap

OURS = {"com.docker.stack.namespace": "st"}
S = 10**9
NETWORKS = "\nnetworks: {n: , ext: {external: true}, old: {external: {name: real}}, named: {name: full}}\n"
SECRETS = "\nsecrets: {s: {external: true}, t: {external: true, name: real}}\nconfigs: {c: {external: true}}\n"
VOLUMES = (
    "\nvolumes: {v: , e: {external: true}, d: {driver: nfs, driver_opts: {o: 1}, labels: [k=w]}, n: {name: own}}\n"
)


@pytest.mark.parametrize(
    ("service", "field", "value"),
    [
        ("command: python a.py --x 'b c'", "args", ("python", "a.py", "--x", "b c")),
        ("command: [a, 'b c']", "args", ("a", "b c")),
        ("command: [sleep, 60]", "args", ("sleep", "60")),
        ("command:", "args", None),
        ("command: []", "args", None),
        ("entrypoint: /bin/sh -c", "command", ("/bin/sh", "-c")),
        ("environment: {B: x, A: 1, N: , F: 1.5}", "env", (("A", "1"), ("B", "x"), ("F", "1.5"), ("N", None))),
        ("environment: [B=x=y, A=1]", "env", (("A", "1"), ("B", "x=y"))),
        ('user: "1001:1001"', "user", "1001:1001"),
        ("user: 1001", "user", "1001"),
        ("group_add: [video, 44, video]", "groups", ("video", "44")),
        ("hostname: h", "hostname", "h"),
        ("working_dir: /w", "workdir", "/w"),
        ("labels: {a: 1, b: }", "container_labels", {"a": "1", "b": ""}),
        ("labels: [a=1, b, c=d=e]", "container_labels", {"a": "1", "b": "", "c": "d=e"}),
        ("deploy: {labels: [a=1]}", "labels", {"a": "1"}),
        ("stop_grace_period: 1m30s", "stop_grace_s", 90.0),
        ("stop_signal: SIGUSR1", "stop_signal", "SIGUSR1"),
        ("init: true", "init", True),
        ("init: false", "init", False),
        ("tty: true", "tty", True),
        ("stdin_open: true", "stdin_open", True),
        ("read_only: yes", "read_only", True),
        ("shm_size: 1.5g\ngpus: 1", "shm_bytes", 3 * 2**29),
        ("shm_size: 64\ngpus: 1", "shm_bytes", 64),
        ("shm_size: 64", "shm_bytes", 0),
        ("x-berth: {time: 2h}", "time_limit_s", 7200.0),
        ("x-other: {a: b}", "time_limit_s", None),
        ("healthcheck: {test: curl -f x}", "healthcheck", Healthcheck(test=("CMD-SHELL", "curl -f x"))),
        ("healthcheck: {test: [CMD, a], retries: 3, timeout: 1s}", "healthcheck",
         Healthcheck(test=("CMD", "a"), retries=3, timeout_ns=S)),
        ("healthcheck: {interval: 5s, start_period: 1m, start_interval: 500ms}", "healthcheck",
         Healthcheck(interval_ns=5 * S, start_period_ns=60 * S, start_interval_ns=S // 2)),
        ("healthcheck: {disable: true}", "healthcheck", Healthcheck(test=("NONE",))),
        ("deploy: {resources: {limits: {cpus: '1.5', memory: 512M, pids: 100}}}", "limits",
         Limits(1_500_000_000, 2**29, 100)),
        ("deploy: {resources: {limits: {cpus: 0.25, memory: 1gib}}}", "limits", Limits(250_000_000, 2**30)),
        ("deploy: {resources: {limits: {pids: -1}}}", "limits", Limits(pids=-1)),
        ("", "restart", Restart(condition="any")),
        ("deploy: {restart_policy: {}}", "restart", Restart(condition="any")),
        ("deploy: {restart_policy: {condition: none}}", "restart", Restart()),
        ("deploy: {restart_policy: {condition: on-failure, delay: 0s, max_attempts: 3, window: 2m}}", "restart",
         Restart("on-failure", 0.0, 3, 120.0)),
        ("deploy: {restart_policy: {max_attempts: 0}}", "restart", Restart(condition="any")),
        ("restart: always", "restart", Restart(condition="any")),
        ("restart: on-failure:4", "restart", Restart(condition="on-failure", max_attempts=4)),
        ("restart: 'no'", "restart", Restart(condition="any")),
        ("environment: {A1: x, A: y}", "env", (("A1", "x"), ("A", "y"))),
        ("ports: ['8080:80', 443, '53:53/udp']", "ports",
         (Port(target=443), Port(target=53, published=53, protocol="udp"), Port(target=80, published=8080))),
        ("ports: ['8000-8002:80-82']", "ports",
         tuple(Port(target=80 + n, published=8000 + n) for n in range(3))),
        ("ports: ['8000-8001:80/TCP', '0.0.0.0:1:1']", "ports",
         (Port(target=1, published=1), Port(target=80, published=8000), Port(target=80, published=8001))),
        ("ports: [{target: 80, published: 8080, protocol: udp, mode: host}]", "ports",
         (Port(target=80, published=8080, protocol="udp", mode="host"),)),
        ("deploy: {mode: global}", "mode", "global"),
        ("deploy: {mode: replicated-job, replicas: 3}", "mode", "replicated-job"),
        ("deploy: {endpoint_mode: DNSRR}", "endpoint_mode", "dnsrr"),
        ("deploy: {update_config: {}}", "update", Rollout()),
        ("deploy: {rollback_config: {parallelism: 0, delay: 10s, failure_action: continue, monitor: 1m, "
         "max_failure_ratio: 0.25, order: start-first}}", "rollback",
         Rollout(parallelism=0, delay_s=10.0, failure_action="continue", monitor_s=60.0, max_failure_ratio=0.25,
                 order="start-first")),
        ("deploy: {placement: {preferences: [{spread: node.labels.a}, {spread: node.labels.b}], "
         "max_replicas_per_node: 2}}", "spread", Spread(("node.labels.a", "node.labels.b"), 2)),
        ("deploy: {resources: {limits: {}}, restart_policy: {window: 0s}}", "explicit",
         ("limits", "restart", "restart.window")),
        ("deploy: {restart_policy: {condition: none, delay: 5s}, update_config: {monitor: 5s}}", "explicit",
         ("restart.delay", "update.monitor")),
        ("gpus: 1\ndeploy: {resources: {limits: {}}, restart_policy: {}}", "explicit", ("limits",)),
    ],
)  # fmt: skip
def test_carried(service: str, field: str, value: Any) -> None:
    known = {"N": None} if "N:" in service else {}
    assert getattr(one(service, variables=known).spec, field) == value


@pytest.mark.parametrize(
    ("service", "field", "value"),
    [
        ("cap_add: [net_admin, CAP_SYS_TIME, NET_ADMIN]", "cap_add", ("CAP_NET_ADMIN", "CAP_SYS_TIME")),
        ("cap_add: [NET_ADMIN]\ncap_drop: [net_admin, CHOWN]", "cap_drop", ("CAP_CHOWN",)),
        ("cap_drop: [CHOWN, all]", "cap_drop", ("ALL",)),
        ("sysctls: [net.core.somaxconn=1024]", "sysctls", {"net.core.somaxconn": "1024"}),
        ("sysctls: {net.core.somaxconn: 1024}", "sysctls", {"net.core.somaxconn": "1024"}),
        ("ulimits: {nproc: 65535, nofile: {soft: 20000, hard: '40000'}, memlock: -1}", "ulimits",
         (Ulimit("memlock", -1, -1), Ulimit("nofile", 20000, 40000), Ulimit("nproc", 65535, 65535))),
        ("dns: 8.8.8.8", "dns", ("8.8.8.8",)),
        ("dns: [8.8.8.8, 9.9.9.9]", "dns", ("8.8.8.8", "9.9.9.9")),
        ("dns_search: a.example", "dns_search", ("a.example",)),
        ("dns_opt: [use-vc]", "dns_options", ("use-vc",)),
        ("extra_hosts: ['b:10.0.0.2', 'a=10.0.0.1', 'v6:[::1]', 'g:host-gateway', 'w:::1']", "hosts",
         (("b", "10.0.0.2"), ("a", "10.0.0.1"), ("v6", "::1"), ("g", "host-gateway"), ("w", "::1"))),
        ("extra_hosts: {b: 10.0.0.2, a: 10.0.0.1}", "hosts", (("a", "10.0.0.1"), ("b", "10.0.0.2"))),
        ("logging: {driver: syslog, options: {max-file: 3, tag: }}", "logging",
         Logging("syslog", {"max-file": "3", "tag": ""})),
        ("logging: {}", "logging", Logging()),
        ("credential_spec: {file: c.json}", "credential", Credential(file="c.json")),
        ("isolation: hyperv", "isolation", "hyperv"),
    ],
)  # fmt: skip
def test_around_the_processes(service: str, field: str, value: Any) -> None:
    assert getattr(one(service).spec.around, field) == value


def test_what_only_a_single_hosts_containers_can_have() -> None:
    text = wrap("tmpfs: [/run, '/tmp:size=64m']\nipc: host\noom_score_adj: -500\nshm_size: 1g")
    swarm, host = load(text), load(text, facts=Facts(read_constraint, native=False, host=True))
    assert [warning.field.rpartition(".")[2] for warning in swarm.warnings] == [
        "tmpfs", "ipc", "oom_score_adj", "shm_size",
    ]  # fmt: skip
    assert swarm.drafts[0].spec.around == Surroundings()
    assert host.drafts[0].spec.around == Surroundings(tmpfs=("/run", "/tmp:size=64m"), ipc="host", oom_score_adj=-500)
    assert host.drafts[0].spec.shm_bytes == 2**30
    assert not host.warnings


def test_a_credential_spec_is_a_config_that_is_not_mounted() -> None:
    (draft,) = load(wrap("credential_spec: {config: c}\nconfigs: [c]") + SECRETS).drafts
    assert draft.spec.around.credential == Credential(config="c")
    assert draft.spec.configs == (FileRef(source="c", target="c"), FileRef(source="c", target="", runtime=True))


def test_reservations() -> None:
    request = one("deploy: {resources: {reservations: {cpus: '2', memory: 8G}}}").spec.request
    assert (request.cpu_nano, request.memory_bytes) == (2 * S, 8 * 2**30)


@pytest.mark.parametrize(
    ("service", "replicas"), [("", 1), ("deploy: {replicas: 0}", 0), ("deploy: {mode: replicated, replicas: 7}", 7)]
)
def test_replicas(service: str, replicas: int) -> None:
    assert one(service).replicas == replicas


@pytest.mark.parametrize(
    ("uses", "networks", "created"),
    [
        ("", (NetworkUse("st_default"),), (Network(name="st_default"),)),
        ("networks: [n]", (NetworkUse("st_n"),), (Network(name="st_n"),)),
        ("networks: [n, default]", (NetworkUse("st_default"), NetworkUse("st_n")),
         (Network(name="st_default"), Network(name="st_n"))),
        ("networks: {n: {aliases: [a, b]}, ext: }", (NetworkUse("ext"), NetworkUse("st_n", ("a", "b"))),
         (Network(name="ext", external=True), Network(name="st_n"))),
        ("networks: [old]", (NetworkUse("real"),), (Network(name="real", external=True),)),
        ("networks: [named]", (NetworkUse("full"),), (Network(name="full"),)),
        ("networks: {n: {driver_opts: {a: 1}}}", (NetworkUse("st_n", (), {"a": "1"}),), (Network(name="st_n"),)),
    ],
)  # fmt: skip
def test_networks(uses: str, networks: object, created: object) -> None:
    loaded = load(wrap(uses) + NETWORKS)
    assert loaded.drafts[0].spec.networks == networks
    assert loaded.networks == created


def test_a_network_in_full() -> None:
    text = """
    networks:
      default:
        driver: overlay
        driver_opts: {encrypted: "", mtu: 1400}
        attachable: true
        internal: true
        labels: [a=b]
        ipam: {config: [{subnet: 10.1.0.0/24}]}
    """
    (network,) = load(wrap("") + "\n".join(line[4:] for line in text.splitlines())).networks
    assert network == Network(
        name="st_default",
        driver="overlay",
        driver_opts={"encrypted": "", "mtu": "1400"},
        attachable=True,
        internal=True,
        labels={"a": "b"},
        subnets=("10.1.0.0/24",),
    )


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ("/a:/b", Mount(kind="bind", source="/a", target="/b")),
        ("/a:/b:ro", Mount(kind="bind", source="/a", target="/b", read_only=True)),
        ("/a:/b:ro,rslave", Mount(kind="bind", source="/a", target="/b", read_only=True, propagation="rslave")),
        ("./d:/b", Mount(kind="bind", source="/home/x/d", target="/b")),
        ("../d:/b", Mount(kind="bind", source="/home/d", target="/b")),
        ("v:/b", Mount(kind="volume", source="st_v", target="/b", labels=OURS)),
        ("v:/b:nocopy", Mount(kind="volume", source="st_v", target="/b", labels=OURS, nocopy=True)),
        ("e:/b", Mount(kind="volume", source="e", target="/b")),
        ("n:/b", Mount(kind="volume", source="own", target="/b", labels=OURS)),
        ("d:/b",
         Mount(kind="volume", source="st_d", target="/b", driver="nfs", driver_opts={"o": "1"},
               labels={"k": "w", **OURS})),
        ("/b", Mount(kind="volume", target="/b")),
        ("{type: bind, source: /a, target: /b, read_only: true, bind: {propagation: shared}}",
         Mount(kind="bind", source="/a", target="/b", read_only=True, propagation="shared")),
        ("{type: volume, source: v, target: /b, volume: {nocopy: true}}",
         Mount(kind="volume", source="st_v", target="/b", labels=OURS, nocopy=True)),
        ("{type: volume, target: /b}", Mount(kind="volume", target="/b")),
        ("{type: tmpfs, target: /b, tmpfs: {size: 1m}}", Mount(kind="tmpfs", target="/b", tmpfs_bytes=2**20)),
        ("{type: tmpfs, target: /b}", Mount(kind="tmpfs", target="/b")),
        ("{type: tmpfs, target: /b, tmpfs: {}}", Mount(kind="tmpfs", target="/b", bare=True)),
        ("{type: volume, source: v, target: /b, volume: {subpath: a/b}}",
         Mount(kind="volume", source="st_v", target="/b", labels=OURS, subpath="a/b")),
        ("{type: bind, source: /a, target: /b, consistency: cached}",
         Mount(kind="bind", source="/a", target="/b", consistency="cached")),
        ("{type: npipe, source: '//./pipe/a', target: '//./pipe/b'}",
         Mount(kind="npipe", source="//./pipe/a", target="//./pipe/b")),
        ("{type: cluster, source: 'group:g', target: /b}", Mount(kind="cluster", source="group:g", target="/b")),
        ("{type: cluster, source: e, target: /b}", Mount(kind="cluster", source="e", target="/b")),
    ],
)  # fmt: skip
def test_mounts(mount: str, expected: Mount) -> None:
    loaded = load(wrap(f"volumes: [{mount if mount[0] == '{' else repr(mount)}]") + VOLUMES, directory="/home/x")
    assert loaded.drafts[0].spec.mounts == (expected,)


def test_only_volumes_in_use_are_told_of() -> None:
    loaded = load(wrap("volumes: ['e:/e', 'n:/n']") + VOLUMES)
    assert loaded.volumes == (Volume(name="e", external=True), Volume(name="own", labels=OURS))


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("s", FileRef(source="s", target="s")),
        ("t", FileRef(source="real", target="t")),
        ("{source: t}", FileRef(source="real", target="t")),
        ("{source: s, target: /x/y, uid: '5', gid: 6, mode: 0440}",
         FileRef(source="s", target="/x/y", uid="5", gid="6", mode=0o440)),
        ("{source: s, mode: '0400'}", FileRef(source="s", target="s", mode=0o400)),
        ("{source: s, mode: 0o400}", FileRef(source="s", target="s", mode=0o400)),
        ("{source: s, mode: 440}", FileRef(source="s", target="s", mode=440)),
        ("{source: s, mode: 0}", FileRef(source="s", target="s", mode=0)),
    ],
)  # fmt: skip
def test_secrets(use: str, expected: FileRef) -> None:
    (draft,) = load(wrap(f"secrets: [{use}]") + SECRETS).drafts
    assert draft.spec.secrets == (expected,)


def test_a_decimal_mode_is_warned_about() -> None:
    loaded = load(wrap("secrets: [{source: s, mode: 440}]") + SECRETS)
    assert [(warning.code, warning.hint) for warning in loaded.warnings] == [("mode-decimal", "Write mode: 0440")]


def test_configs() -> None:
    (draft,) = load(wrap("configs: [{source: c, target: /etc/c}]") + SECRETS).drafts
    assert draft.spec.configs == (FileRef(source="c", target="/etc/c"),)


def test_x_berth_at_the_top_is_the_default_of_all_services() -> None:
    text = "x-berth: {time: 1h}\nservices: {a: {image: x}, b: {image: x, x-berth: {time: 5m}}}\n"
    assert [draft.spec.time_limit_s for draft in load(text).drafts] == [3600.0, 300.0]


def test_places_of_fields_are_kept_for_later_problems() -> None:
    where = one("deploy:\n  replicas: 2\n  placement:\n    constraints:\n      - node.id == a\n").where
    assert (where["deploy.replicas"].line, where["deploy.replicas"].column) == (5, 17)
    assert (where["deploy.placement.constraints.0"].line, where["deploy.placement.constraints.0"].column) == (8, 13)
    assert where["deploy.placement.constraints.0"].file == "a.yml"
    assert where["deploy.placement.constraints.0"].field == "services.web.deploy.placement.constraints.0"
    cards = one(
        "deploy:\n  resources:\n    reservations:\n      devices:\n        - {count: 3, capabilities: [gpu]}\n"
    ).where
    assert cards["gpus"].field == "services.web.deploy.resources.reservations.devices.0.count"


@pytest.mark.parametrize(
    ("service", "codes"),
    [
        ("build: .", ["key-ignored"]), ("container_name: a", ["key-ignored"]), ("depends_on: [a]", ["key-ignored"]),
        ("network_mode: host\nipc: host", ["key-ignored", "key-ignored"]), ("expose: [80]", ["key-ignored"]),
        ("privileged: true", ["key-ignored"]), ("privileged: false", []),
        ("devices: ['/dev/fuse:/dev/fuse']", ["key-ignored"]),
        ("environment: {V: 3.10}", ["number-rewritten"]), ("environment: {V: '3.10'}", []),
        ("restart: 'no'", ["restart-no"]),
    ],
)  # fmt: skip
def test_warned(service: str, codes: list[str]) -> None:
    assert [warning.code for warning in load(wrap(service)).warnings] == codes
