"""What a stack file is refused for, each with its code, place and what to write; a new case is one line."""

import pytest

from berth.model.errors import BadInput, Refused
from tests.compose.loading import ADMIN, load, problems, wrap

CARDS = "gpus: 1\ndeploy: {restart_policy: {condition: none}}\n"
STORES = """
secrets: {s: {external: true}}
configs: {c: {external: true}}
volumes:
  v:
  bad: {driver_opts: {type: none, o: bind, device: /dev/nvidia0}}
  from-root: {driver_opts: {type: none, o: bind, device: dev/nvidia0}}
"""


@pytest.mark.parametrize(
    ("service", "code", "line", "column", "hint"),
    [
        # keys
        ("profiles: [a]", "key-not-carried", 4, 5, "later version"),
        ("annotations: {a: b}", "key-not-carried", 4, 5, "later version"),
        ("mem_limit: 1g", "key-not-carried", 4, 5, "deploy.resources.limits.memory"),
        ("deploy: {mode: global, replicas: 2}", "replicas-of-global", 4, 38, "Remove replicas"),
        ("deploy: {endpoint_mode: vips}", "bad-value", 4, 29, "dnsrr"),
        ("deploy: {update_config: {order: first}}", "bad-value", 4, 37, "start-first"),
        ("deploy: {update_config: {failure_action: stop}}", "bad-value", 4, 46, "rollback"),
        ("deploy: {update_config: {max_failure_ratio: 1.5}}", "bad-value", 4, 49, "0.25"),
        ("deploy: {update_config: {paralelism: 1}}", "unknown-key", 4, 30, "parallelism"),
        ("deploy: {placement: {preferences: [node.labels.zone]}}", "wrong-type", 4, 40, "spread"),
        # what is around the processes
        ("cap_add: ['a b']", "bad-value", 4, 16, "NET_ADMIN"),
        ("sysctls: 5", "wrong-type", 4, 14, "{NAME: value}"),
        ("ulimits: {nofile: many}", "wrong-type", 4, 23, "whole number"),
        ("ulimits: {no_file: 1}", "bad-value", 4, 15, "nofile"),
        ("ulimits: {nofile: {soft: 1}}", "bad-value", 4, 15, "hard"),
        ("extra_hosts: [a]", "bad-value", 4, 19, "name:10.0.0.1"),
        ("extra_hosts: ['a:b']", "bad-value", 4, 20, "name:10.0.0.1"),
        ("logging: {drive: json-file}", "unknown-key", 4, 15, "driver"),
        ("oom_score_adj: 2000", "out-of-range", 4, 20, "oom_score_adj"),
        # ports
        ("ports: [web]", "bad-port", 4, 13, "8080:80"),
        ("ports: ['80:0']", "bad-port", 4, 14, "8080:80"),
        ("ports: ['70000:80']", "bad-port", 4, 14, "8080:80"),
        ("ports: ['80-82:80-81']", "bad-port", 4, 14, "one length"),
        ("ports: ['80:80/icmp']", "bad-port", 4, 14, "tcp"),
        ("ports: ['host:80:80']", "bad-port", 4, 14, "8080:80"),
        ("ports: [{published: 80}]", "bad-port", 4, 13, "target"),
        ("ports: [{target: 80, mode: open}]", "bad-port", 4, 32, "mode: host"),
        ("ports: [{target: 80, protcol: udp}]", "unknown-key", 4, 26, "protocol"),
        ("ports: '80:80'", "wrong-type", 4, 13, "[80:80]"),
        ("x-berth: {queue: a}", "key-not-carried", 4, 15, "later version"),
        ("x-berth: {tme: 2h}", "unknown-key", 4, 15, "time"),
        ("enviroment: [A=1]", "unknown-key", 4, 5, "environment"),
        ("groupadd: [video]", "unknown-key", 4, 5, "group_add"),
        ("Working-Dir: /a", "unknown-key", 4, 5, "working_dir"),
        ("deploy: {replica: 2}", "unknown-key", 4, 14, "replicas"),
        ("deploy: {x-berth: {}}", "unknown-key", 4, 14, "top of the file"),
        ("deploy: {resources: {limit: {}}}", "unknown-key", 4, 26, "limits"),
        ("healthcheck: {tests: a}", "unknown-key", 4, 19, "test"),
        ("networks: {default: {priority: 5}}", "key-not-carried", 4, 26, "later"),
        ("volumes: [{type: bind, source: /a, target: /b, bnd: {}}]", "unknown-key", 4, 52, "bind"),
        # kinds of values
        ("environment: {A: true}", "wrong-type", 4, 22, 'A: "true"'),
        ("environment: {A: [1]}", "wrong-type", 4, 22, "text"),
        ("environment: 5", "wrong-type", 4, 18, "{NAME: value}"),
        ("hostname: true", "wrong-type", 4, 15, 'hostname: "true"'),
        ("command: [a, [b]]", "wrong-type", 4, 18, "text"),
        ("command: {a: b}", "wrong-type", 4, 5, "command: [...]"),
        ("labels: [a: b]", "wrong-type", 4, 14, "a=VALUE"),
        ("deploy: []", "wrong-type", 4, 5, "deploy: {replicas: ...}"),
        ("deploy: {replicas: many}", "wrong-type", 4, 24, "whole number"),
        ("deploy: {replicas: 1.5}", "wrong-type", 4, 24, "whole number"),
        ("deploy: {replicas: -1}", "out-of-range", 4, 24, "replicas"),
        ("tty: maybe", "wrong-type", 4, 10, "tty: true, or tty: false"),
        ("stop_grace_period: 10", "bad-value", 4, 24, "10s"),
        ("stop_grace_period: soon", "bad-value", 4, 24, "1m30s"),
        ("shm_size: 1x", "bad-value", 4, 15, "512M"),
        ("deploy: {resources: {limits: {cpus: two}}}", "bad-value", 4, 41, "0.5"),
        ("deploy: {resources: {limits: {cpus: '-1'}}}", "bad-value", 4, 42, "0.5"),
        ("deploy: {restart_policy: {condition: always}}", "bad-value", 4, 42, "on-failure"),
        ("restart: sometimes", "bad-value", 4, 14, "restart_policy"),
        ("deploy: {mode: swarm}", "bad-value", 4, 20, "replicated"),
        ("user: 'a b'", "bad-value", 4, 12, "UID:GID"),
        ("stop_signal: 'kill it'", "bad-value", 4, 19, "SIGTERM"),
        ("command: \"a 'b\"", "bad-value", 4, 15, "[a, b]"),
        ("healthcheck: {test: [curl, x]}", "bad-value", 4, 19, "CMD, curl"),
        ("healthcheck: {test: a, disable: true}", "bad-value", 4, 37, "Remove"),
        ("environment: ['=1']", "bad-value", 4, 20, "NAME=value"),
        ("environment: {'': 1}", "bad-value", 4, 20, "NAME=value"),
        ("environment: {A=B: 1}", "bad-value", 4, 19, "NAME=value"),
        # names
        ("image: Foo/Bar", "bad-image", 3, 12, "foo/bar"),
        ("image: 'a b'", "bad-image", 3, 13, "REGISTRY"),
        ("image: ''", "image-missing", 3, 13, "image:"),
        ("networks: [n]", "undefined-network", 4, 16, "networks: {n: }"),
        ("networks: {defaul: }", "undefined-network", 4, 16, "default"),
        ("secrets: [key]", "undefined-secret", 4, 15, "{key: {external: true}}"),
        ("configs: [c]", "undefined-config", 4, 15, "configs:"),
        ("volumes: ['data:/d']", "undefined-volume", 4, 16, "volumes: {data: }"),
        # mounts
        ("volumes: ['/a:b']", "bad-mount", 4, 16, "/host/path"),
        ("volumes: ['/a::/b']", "bad-mount", 4, 16, "/host/path"),
        ("volumes: ['/a:/b:wat']", "bad-mount", 4, 16, "ro"),
        ("volumes: ['~/a:/b']", "bad-mount", 4, 16, "whole path"),
        ("volumes: ['./a:/b']", "bad-mount", 4, 16, "whole path"),
        ("volumes: [{type: pipe, source: a, target: /b}]", "bad-mount", 4, 22, "bind"),
        ("volumes: [{type: image, source: a, target: /b}]", "bad-mount", 4, 5, "image"),
        ("volumes: [{type: bind, source: /a, target: /b, consistency: x}]", "bad-mount", 4, 65, "cached"),
        ("volumes: ['/a:/b:nocopy']", "bad-mount", 4, 16, "/host/path"),
        ("volumes: ['v:/b:rslave']", "bad-mount", 4, 16, "/host/path"),
        ("volumes: [{type: bind, target: /b}]", "bad-mount", 4, 15, "source"),
        ("volumes: [{type: tmpfs, source: a, target: /b}]", "bad-mount", 4, 37, "source"),
        ("volumes: [{type: bind, source: /a, target: /b, tmpfs: {}}]", "bad-mount", 4, 52, "tmpfs"),
        ("volumes: ['/a:/b', '/c:/b/']", "bad-mount", 4, 25, "Remove"),
        # constraints
        ("deploy: {placement: {constraints: [node.label.x == a]}}", "bad-constraint", 4, 40, "node.labels.x == a"),
        ("deploy: {placement: {constraints: ['gpu.model =~ [']}}", "bad-constraint", 4, 54, ""),
        ("deploy: {placement: {constraints: [node.role = worker]}}", "bad-constraint", 4, 50, "node.role == worker"),
    ],
)  # fmt: skip
def test_a_service(service: str, code: str, line: int, column: int, hint: str) -> None:
    (problem,) = problems(wrap(service))
    assert (problem.code, problem.line, problem.column) == (code, line, column)
    assert hint in problem.hint
    assert problem.file == "a.yml"
    assert problem.field.startswith("services.web")
    assert problem.excerpt == (wrap(service).splitlines()[line - 1])


@pytest.mark.parametrize(
    ("text", "code", "field"),
    [
        ("services: {}", "no-services", "services"),
        ("version: '3'", "no-services", "services"),
        ("version: '2.4'\nservices: {a: {image: x}}", "version-unsupported", "version"),
        ("name: a\nservices: {a: {image: x}}", "key-not-carried", "name"),
        ("service: {a: {image: x}}\nservices: {a: {image: x}}", "unknown-key", "service"),
        ("services: [a]", "wrong-type", "services"),
        ("services: {a: x}", "wrong-type", "services.a"),
        ("services: {a: {build: .}}", "image-missing", "services.a.image"),
        ("services: {a: }", "image-missing", "services.a.image"),
        ("services: {a.b: {image: x}}", "bad-service-name", "services.a.b"),
        ("services: {a-: {image: x}}", "bad-service-name", "services.a-"),
        (f"services: {{{'a' * 61}: {{image: x}}}}", "name-too-long", f"services.{'a' * 61}"),
        (f"services: {{{'a' * 57}: {{image: x, deploy: {{replicas: 100}}}}}}", "name-too-long", f"services.{'a' * 57}"),
        ("services: {web: {image: x, gpus: 1, deploy: {replicas: 2}}, web-2: {image: x}}",
         "name-taken", "services.web-2"),
        ("services: {a: {image: x}}\nsecrets: {s: {content: x}}", "key-not-carried", "secrets.s.content"),
        ("services: {a: {image: x}}\nsecrets: {s: }", "file-source", "secrets.s"),
        ("services: {a: {image: x}}\nconfigs: {s: {content: x, file: ./f}}", "file-source", "configs.s"),
        ("services: {a: {image: x}}\nnetworks: {n: {ipam: {options: {a: b}}}}",
         "key-not-carried", "networks.n.ipam.options"),
        ("services: {a: {image: x}}\nnetworks: {n: {ipam: {config: [{subnet: x}]}}}",
         "bad-value", "networks.n.ipam.config.0.subnet"),
        ("services: {a: {image: x}}\nnetworks: {n: {external: {name: a}, name: b}}",
         "external-name-twice", "networks.n.external"),
        ("services: {a: {image: x}}\nvolumes: {v: {external: true, driver: d}}",
         "external-with-settings", "volumes.v.driver"),
        ("x-berth: {priority: 3}\nservices: {a: {image: x}}", "key-not-carried", "x-berth.priority"),
    ],
)  # fmt: skip
def test_a_file(text: str, code: str, field: str) -> None:
    found = problems(text)
    assert [(problem.code, problem.field) for problem in found] == [(code, field)]
    assert found[0].hint
    assert found[0].line


@pytest.mark.parametrize("text", ["services: {web: {image: x, deploy: {replicas: 2}}, web-2: {image: x}}"])
def test_native_services_have_no_slots_that_could_meet_another_name(text: str) -> None:
    assert [draft.native for draft in load(text).drafts] == [True, True]


@pytest.mark.parametrize("name", ["", "a b", "-a", "a.b", "a" * 63, "é"])
def test_the_name_of_the_stack(name: str) -> None:
    (problem, *_) = problems(wrap(""), stack=name)
    assert (problem.code, problem.field) == ("bad-stack-name", "name")


def test_everything_is_told_in_one_go_and_in_every_file() -> None:
    first = "services: {a: {image: x, tty: maybe, gpus: -1}, b: {imag: x}}\n"
    found = problems(first, "services: {a: {user: [x]}}\n")
    assert sorted((problem.code, problem.file) for problem in found) == [
        ("gpu-count", "a.yml"), ("image-missing", "a.yml"), ("unknown-key", "a.yml"), ("wrong-type", "a.yml"),
        ("wrong-type", "b.yml"),
    ]  # fmt: skip


def test_files_that_are_no_yaml_are_told_of_together() -> None:
    found = problems("a:\n\tb: 1\n", b"\xff\xfe", "services: {}\nservices: {}\n")
    assert [(problem.code, problem.file) for problem in found] == [
        ("yaml-tab", "a.yml"), ("not-utf-8", "b.yml"), ("duplicate-key", "c.yml"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("service", "code"),
    [
        (CARDS + "privileged: true", "privileged-with-cards"),
        (CARDS + "devices: ['/dev/fuse']", "device-by-hand"),
        ("devices: ['/dev/nvidia0:/dev/nvidia0']", "device-by-hand"),
        ("devices: [nvidia.com/gpu=all]", "device-by-hand"),
        ("volumes: ['/dev/nvidia0:/dev/nvidia0']", "mount-of-cards"),
        ("volumes: ['/dev/./nvidia0:/x']", "mount-of-cards"),
        ("volumes: ['/dev:/host-dev']", "mount-of-cards"),
        ("volumes: ['/dev/dri:/dev/dri']", "mount-of-cards"),
        ("volumes: ['bad:/x']", "mount-of-cards"),
        ("volumes: ['/dev/null:/var/run/nvidia-container-devices/all']", "mount-of-cards"),
        ("volumes: ['v:/var/run//nvidia-container-devices/0']", "mount-of-cards"),
        ("volumes: [{type: tmpfs, target: /run/nvidia-container-devices/0}]", "mount-of-cards"),
        ("secrets: [{source: s, target: /var/run/nvidia-container-devices/0}]", "mount-of-cards"),
        ("secrets: [{source: s, target: ../../var/run/nvidia-container-devices/all}]", "mount-of-cards"),
        ("secrets: [{source: s, target: ../nvidia-container-devices/all}]", "mount-of-cards"),
        ("configs: [{source: c, target: var/run/nvidia-container-devices/all}]", "mount-of-cards"),
        ("configs: [{source: c, target: a/../run/nvidia-container-devices/all}]", "mount-of-cards"),
        ("tmpfs: '/run/nvidia-container-devices/all:size=1m'", "mount-of-cards"),
        ("volumes: ['from-root:/x']", "mount-of-cards"),
        ("labels: {cdi.k8s.io/gpu: nvidia.com/gpu=all}", "card-by-annotation"),
        ("deploy: {labels: {cdi.k8s.io/gpu: a}}", "card-by-annotation"),
        (CARDS + "volumes: ['/var/run/docker.sock:/s']", "mount-of-socket"),
        (CARDS + "volumes: ['/run:/r:ro']", "mount-of-socket"),
        (CARDS + "volumes: ['/:/host:ro']", "mount-of-socket"),
        (CARDS + "volumes: ['/proc/1/root/run/docker.sock:/s']", "mount-of-socket"),
        (CARDS + "volumes: ['/proc/self/task/7/root/proc/1/root:/host']", "mount-of-socket"),
        (CARDS + "volumes: ['/run/docker/containerd:/c']", "mount-of-socket"),
        ("volumes: ['/proc/1/cwd/dev/nvidia0:/x']", "mount-of-cards"),
    ],
)  # fmt: skip
def test_what_would_give_cards_past_the_ledger_is_refused_to_everybody(service: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        load(wrap(service) + STORES, facts=ADMIN)
    (problem,) = caught.value.problems
    assert (problem.code, problem.file) == (code, "a.yml")
    assert problem.line >= 3
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    "service",
    [
        """volumes: [{type: bind, source: '/{{"var/run/docker.sock"}}', target: /s}]""",
        """volumes: [{type: tmpfs, target: '/var/run/nvidia{{"-container-devices"}}/all'}]""",
        """volumes: ['/data/{{.Service.Labels}}:/x']""",
        """environment: {'{{"DOCKER_RESOURCE_GPU"}}': all}""",
    ],
)
def test_a_template_that_could_spell_anything_is_refused(service: str) -> None:
    (found,) = problems(wrap(service) + STORES)
    assert found.code == "template-not-carried"


def test_neither_may_a_volumes_options_hold_one() -> None:
    options = """\nvolumes: {d: {driver_opts: {type: none, o: bind, device: '{{"/dev"}}'}}}\n"""
    (found,) = problems(wrap("volumes: ['d:/x']") + options)
    assert found.code == "template-not-carried"


def test_a_template_of_the_nodes_name_is_text_like_any_other() -> None:
    assert load(wrap("volumes: ['/data/{{.Node.Hostname}}:/x']")).drafts[0].native


@pytest.mark.parametrize("mount", ["/var/run/docker.sock:/s", "/:/host:ro", "/var/run:/r"])
def test_the_engines_socket_without_cards_is_for_admins_alone(mount: str) -> None:
    text = wrap(f"volumes: ['{mount}']")
    with pytest.raises(Refused):
        load(text)
    assert load(text, facts=ADMIN).drafts[0].spec.mounts[0].source == mount.split(":")[0]


@pytest.mark.parametrize(
    "mount",
    [
        "/dev/shm:/dev/shm",
        "/dev/infiniband:/dev/infiniband",
        "/runs:/runs",
        "/var/runner:/x",
        "/device:/d",
        "/proc/1/rooted:/x",
    ],
)
def test_mounts_that_are_nobodys_business(mount: str) -> None:
    assert one_source(mount) == mount.split(":")[0]


def one_source(mount: str) -> str:
    (draft,) = load(wrap(CARDS + f"volumes: ['{mount}']")).drafts
    return draft.spec.mounts[0].source


def test_variables_that_runtimes_read_are_taken_out() -> None:
    loaded = load(wrap("environment: [DOCKER_RESOURCE_GPU=GPU-1, AMD_VISIBLE_DEVICES=0, CUDA_VISIBLE_DEVICES=0]"))
    assert loaded.drafts[0].spec.env == (("CUDA_VISIBLE_DEVICES", "0"),)
    assert [warning.code for warning in loaded.warnings] == ["gpu-variable", "gpu-variable"]


def test_labels_that_berth_writes_are_refused() -> None:
    (problem,) = problems(wrap("deploy: {labels: [berth.task=x]}"))
    assert problem.code == "label-reserved"


def test_a_mistake_beside_a_refusal_is_bad_input() -> None:
    with pytest.raises(BadInput) as caught:
        load(wrap("labels: {cdi.k8s.io/a: b}\ntty: maybe"))
    assert [problem.code for problem in caught.value.problems] == ["card-by-annotation", "wrong-type"]


@pytest.mark.parametrize(
    ("service", "field"),
    [
        ("hostname: 'h{{if .Task.Slot}}a{{end}}'", "services.web.hostname"),
        ("environment: {RANK: '{{ printf \"%s\" .Task.Slot }}'}", "services.web.environment.RANK"),
        ("environment: {A: '{{index .Service.Labels \"missing\"}}'}", "services.web.environment.A"),
    ],
)
def test_placeholders_that_only_swarm_can_fill_in(service: str, field: str) -> None:
    (problem,) = problems(wrap(CARDS + service))
    assert (problem.code, problem.field, problem.line) == ("template-not-carried", field, 6)
    assert load(wrap(service)).drafts[0].native


@pytest.mark.parametrize(
    "service",
    [
        "hostname: 'h{{.Task.Slot}}-{{.Node.Hostname}}'",
        "environment: {RANK: '{{ .Task.Slot }}', N: '{{.Task.Name}}', S: '{{.Service.Name}}'}",
        "volumes: ['/data/{{.Service.Name}}/{{.Task.Slot}}:/d']",
        "environment: {A: '{{index .Service.Labels \"com.docker.stack.namespace\"}}'}",
    ],
)
def test_placeholders_that_berth_fills_in(service: str) -> None:
    assert not load(wrap(CARDS + service)).drafts[0].native


def test_a_label_cannot_smuggle_a_path_into_a_mount() -> None:
    labels = "deploy: {labels: {dir: /dev/nvidia0}}\n"
    with pytest.raises(Refused):
        load(wrap(labels + """volumes: ['/{{index .Service.Labels "dir"}}:/x']"""), facts=ADMIN)


@pytest.mark.parametrize(
    ("text", "code", "field"),
    [("{file: a, registry: b}", "bad-value", "registry"), ("{config: c}", "undefined-config", "config")],
)
def test_a_credential_spec(text: str, code: str, field: str) -> None:
    (problem,) = problems(wrap(f"credential_spec: {text}"))
    assert (problem.code, problem.field) == (code, f"services.web.credential_spec.{field}")


@pytest.mark.parametrize("name", ["ALL", "SYS_ADMIN", "cap_mknod"])
def test_capabilities_that_open_cards(name: str) -> None:
    with pytest.raises(Refused) as caught:
        load(wrap(CARDS + f"cap_add: [{name}]"))
    assert caught.value.problems[0].code == "privileged-with-cards"
    assert load(wrap(f"cap_add: [{name}]")).drafts[0].native


def test_all_that_is_wrong_with_one_entry_is_told() -> None:
    mount = "{type: disk, source: a, target: b}, {type: bind, target: b, tmpfs: {size: much}}"
    port = "{target: 0, protocol: icmp, mode: vip}"
    found = problems(wrap(f"volumes: [{mount}]\nports: [{port}]"))
    assert [(one.field.removeprefix("services.web."), one.code) for one in found] == [
        ("volumes.0.type", "bad-mount"), ("volumes.0.target", "bad-mount"), ("volumes.1.source", "bad-mount"),
        ("volumes.1.target", "bad-mount"), ("volumes.1.tmpfs", "bad-mount"),
        ("ports.0.target", "out-of-range"), ("ports.0.protocol", "bad-port"), ("ports.0.mode", "bad-port"),
    ]  # fmt: skip
