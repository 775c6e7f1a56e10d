"""Every key of a service that is carried, to the very values; a new case is one line."""

from typing import Any

import pytest

from berth.model.job import Network, Volume
from berth.model.spec import FileRef, Healthcheck, Limits, Mount, NetworkUse, Restart
from tests.compose.loading import load, one, wrap

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
        ("shm_size: 1.5g", "shm_bytes", 3 * 2**29),
        ("shm_size: 64", "shm_bytes", 64),
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
        ("deploy: {resources: {limits: {pids: -1}}}", "limits", Limits()),
        ("", "restart", Restart(condition="any")),
        ("deploy: {restart_policy: {}}", "restart", Restart(condition="any")),
        ("deploy: {restart_policy: {condition: none}}", "restart", Restart()),
        ("deploy: {restart_policy: {condition: on-failure, delay: 0s, max_attempts: 3, window: 2m}}", "restart",
         Restart("on-failure", 0.0, 3, 120.0)),
        ("deploy: {restart_policy: {max_attempts: 0}}", "restart", Restart(condition="any")),
        ("restart: always", "restart", Restart(condition="any")),
        ("restart: on-failure:4", "restart", Restart(condition="on-failure", max_attempts=4)),
        ("restart: 'no'", "restart", Restart(condition="any")),
    ],
)  # fmt: skip
def test_carried(service: str, field: str, value: Any) -> None:
    known = {"N": None} if "N:" in service else {}
    assert getattr(one(service, variables=known).spec, field) == value


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
