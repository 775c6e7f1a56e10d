"""The table of what is refused: one line per case, which says what must be said; test_refusals.py tries each.

A case is a name, a stack file, the code, the line, and words of the remedy. `service` makes a file of one service `s`
(its body begins in line 4); `gpu` and `placed` put one entry into its devices (line 8) or constraints (line 7).
"""

# ruff: noqa: E501 - a case is one line, however long

from typing import NamedTuple

from tests.acceptance.carded import TWINS

BAD_INPUT, REFUSED = 2, 4


class Case(NamedTuple):
    """A file and what is said of it. `engine` names the only engine that refuses it; "" is every one.

    `line` 0 is for files that are not read.
    """

    name: str
    text: str | bytes
    code: str
    line: int
    hint: str
    exit_code: int = BAD_INPUT
    engine: str = ""


def service(body: str, rest: str = "") -> str:
    """A file with one service; \\n in the body keeps its indentation."""
    inner = body.replace("\n", "\n    ")
    return f"services:\n  s:\n    image: bb:1\n    {inner}\n{rest}"


def gpu(device: str) -> str:
    """A file whose service has this device reservation."""
    return service(f"deploy:\n  resources:\n    reservations:\n      devices:\n        - {device}")


def placed(constraint: str) -> str:
    """A file whose service has this constraint."""
    return service(f"deploy:\n  placement:\n    constraints:\n      - {constraint}")


def bomb(levels: int = 9) -> str:
    """Ten aliases of ten aliases of ...: a billion values in a few lines."""
    text = "x-0: &x0 [a,a,a,a,a,a,a,a,a,a]\n"
    return text + "".join(f"x-{n}: &x{n} [{','.join([f'*x{n - 1}'] * 10)}]\n" for n in range(1, levels))


UUID = "GPU-00000000-0000-0000-0000-000000000000"
CARDS = [
    Case("count with device_ids", gpu('{count: 1, device_ids: ["0"], capabilities: [gpu]}'), "count-and-device-ids", 8, "Keep count"),
    Case("count of -1", gpu("{count: -1, capabilities: [gpu]}"), "gpu-count", 8, "Write count: all"),
    Case("half a card of two", gpu("{count: 0.5, capabilities: [gpu]}"), "gpu-count", 8, "Write count: 1"),
    Case("one card and a half", gpu("{count: 1.5, capabilities: [gpu]}"), "gpu-count", 8, "Write count: 1"),
    Case("count in words", gpu("{count: two, capabilities: [gpu]}"), "gpu-count", 8, "Write count: 1"),
    Case("a card twice", gpu('{device_ids: ["0", "0"], capabilities: [gpu]}'), "duplicate-card", 8, "Name each card once"),
    Case("a card that is not there", gpu('{device_ids: ["7"], capabilities: [gpu]}'), "unknown-card", 8, "Name a card by its index"),
    Case("a UUID that is not there", gpu(f"{{device_ids: [{UUID}], capabilities: [gpu]}}"), "unknown-card", 8, "Name a card by its index"),
    Case("a UUID that several cards begin with", gpu(f"{{device_ids: [{TWINS[0][:8]}], capabilities: [gpu]}}"), "ambiguous-card", 8, f"Write one in full: {TWINS[0]}"),
    Case("a card by a name that is none", gpu("{device_ids: [first], capabilities: [gpu]}"), "bad-card", 8, "Write an index"),
    Case("device_ids that is no list", gpu("{device_ids: '0', capabilities: [gpu]}"), "wrong-type", 8, "Write device_ids: [0]"),
    Case("devices against generic_resources", service("deploy:\n  resources:\n    reservations:\n      devices: [{count: 1, capabilities: [gpu]}]\n      generic_resources: [{discrete_resource_spec: {kind: gpu, value: 2}}]"), "gpu-contradiction", 8, "Keep one of them"),
    Case("gpus against devices", service("gpus: 2\ndeploy: {resources: {reservations: {devices: [{count: 1, capabilities: [gpu]}]}}}"), "gpu-contradiction", 4, "Keep one of them"),
    Case("more cards than any node has", gpu("{count: 3, capabilities: [gpu]}"), "too-many-cards", 8, "berth gpus"),
    Case("more cards than there are numbers", gpu("{count: 99999, capabilities: [gpu]}"), "gpu-count", 8, "Write count: 1"),
    Case("no capabilities", gpu("{count: 1}"), "device-capabilities", 8, "Write capabilities: [gpu]"),
    Case("other capabilities", gpu("{count: 1, capabilities: [tpu]}"), "device-capabilities", 8, "Write capabilities: [gpu]"),
    Case("another driver", gpu("{driver: intel, count: 1, capabilities: [gpu]}"), "device-driver", 8, "Write driver: nvidia"),
    Case("a device in a word", gpu("all"), "wrong-type", 8, "capabilities: [gpu]"),
    Case("a misspelled key of a device", gpu("{counts: 1, capabilities: [gpu]}"), "unknown-key", 8, "Write count"),
    Case("NV_GPU of a card that is none", service("environment: {NV_GPU: x}"), "bad-card", 4, "Write an index"),
    Case("NV_GPU of a card that is not there", service("environment: [NV_GPU=5]"), "unknown-card", 4, "Name a card"),
    Case("generic_resources with a negative number", service("deploy: {resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: gpu, value: -1}}]}}}"), "out-of-range", 4, "Write value: 1"),
]  # fmt: skip
CONSTRAINTS = [
    Case("node.label for node.labels", placed("node.label.x == y"), "bad-constraint", 7, "Write: node.labels.x == y"),
    Case("an open bracket", placed("'gpu.model =~ ['"), "bad-constraint", 7, "for example: ^A100"),
    Case("one equals sign", placed("node.labels.zone = idc"), "bad-constraint", 7, "Write: node.labels.zone == idc"),
    Case("an empty value", placed("'node.labels.zone =='"), "bad-constraint", 7, "Write"),
    Case("an empty value of a model", placed("gpu.model =="), "bad-constraint", 7, "Write"),
    Case("an empty constraint", placed("''"), "bad-constraint", 7, "Write"),
    Case("no operator", placed("node.labels.zone"), "bad-constraint", 7, "Write"),
    Case("a product in Kubernetes's words", placed("nvidia.com/gpu.product==A100"), "bad-constraint", 7, "gpu.model"),
    Case("a key that is none", placed("gpu.colour == red"), "bad-constraint", 7, "Write"),
    Case("a size that is none", placed("gpu.memory >= much"), "bad-constraint", 7, "Write"),
    Case("a comparison of words", placed("node.role >= worker"), "bad-constraint", 7, "Write"),
    Case("constraints that are no list", service("deploy:\n  placement:\n    constraints: node.role == worker"), "wrong-type", 6, "Write constraints: [node.role == worker]"),
    Case("constraints as a mapping", service("deploy:\n  placement:\n    constraints: {node.role: worker}"), "wrong-type", 6, "Begin each entry with"),
    Case("a constraint that YAML reads as a mapping", placed("node.labels.x: y"), "wrong-type", 7, "Quote it"),
    Case("101 constraints", service("deploy: {placement: {constraints: [" + "node.role == worker, " * 101 + "]}}"), "too-many-constraints", 4, "Write alternatives as one"),
]  # fmt: skip
MISSING = [
    Case("a secret that is not in the Swarm", service("secrets:\n  - nobody_made_it", "secrets: {nobody_made_it: {external: true}}\n"), "secret-missing", 5, "secret create nobody_made_it"),
    Case("a config that is not in the Swarm", service("configs:\n  - source: c", "configs: {c: {external: true, name: nobody_made_it}}\n"), "config-missing", 5, "create", engine="swarm"),
    Case("a network that is not there", service("networks: [n]", "networks: {n: {external: true, name: nobody_made_it}}\n"), "network-missing", 4, "network create"),
    Case("a network of one node only", service("networks: [n]", "networks: {n: {external: true, name: docker_gwbridge}}\n"), "network-missing", 4, "network create", engine="swarm"),
    Case("a volume driver that is not installed", service("volumes: ['v:/v']", "volumes: {v: {driver: nobody-has-it}}\n"), "driver-missing", 4, "docker plugin install nobody-has-it"),
    Case("a volume driver in a mount of its own", service("volumes: ['v:/v']", "volumes:\n  v:\n    driver: rexray\n"), "driver-missing", 4, "docker plugin install rexray"),
    Case("a network driver that is not installed", service("networks: [n]", "networks: {n: {driver: nobody-has-it}}\n"), "driver-missing", 4, "docker plugin install nobody-has-it"),
    Case("a secret that the file does not declare", service("secrets: [key]"), "undefined-secret", 4, "{key: {external: true}}"),
    Case("a config that the file does not declare", service("configs: [c]"), "undefined-config", 4, "configs:"),
    Case("a network that the file does not declare", service("networks: [backend]"), "undefined-network", 4, "networks: {backend: }"),
    Case("a network nearly as declared", service("networks: [backend]", "networks: {back-end: }\n"), "undefined-network", 4, "Write back-end"),
    Case("a volume that the file does not declare", service("volumes: ['data:/d']"), "undefined-volume", 4, "volumes: {data: }"),
    Case("a volume nearly as declared", service("volumes: ['data:/d']", "volumes: {dta: }\n"), "undefined-volume", 4, "Write dta"),
    Case("an env_file that is not there", service("env_file:\n  - nowhere.env"), "env-file-missing", 5, "starts at the directory"),
    Case("a variable that must be set", service("command: ${NOBODY_SET_IT:?say which}"), "variable-required", 4, "NOBODY_SET_IT=VALUE"),
    Case("a variable that is not closed", service("command: ${OPEN"), "bad-template", 4, "Write ${OPEN}"),
    Case("a lone dollar sign", service("command: 'cost 5$'"), "bad-template", 4, "Write $$"),
]  # fmt: skip
NAMES = [
    Case("slot 2 of web beside web-2", "services:\n  web: {image: 'bb:1', gpus: 1, deploy: {replicas: 2}}\n  web-2: {image: 'bb:1'}\n", "name-taken", 3, "Rename one"),
    Case("a name over 63 characters", f"services:\n  {'a' * 60}: {{image: 'bb:1'}}\n", "name-too-long", 2, "Shorten the name"),
    Case("a name with a dot", "services:\n  web.one: {image: 'bb:1'}\n", "bad-service-name", 2, "Write web-one"),
    Case("a name with a space", "services:\n  'my web': {image: 'bb:1'}\n", "bad-service-name", 2, "Write my-web"),
    Case("a name that ends in a dash", "services:\n  web-: {image: 'bb:1'}\n", "bad-service-name", 2, "Write web"),
    Case("an empty name", "services:\n  '': {image: 'bb:1'}\n", "bad-service-name", 2, "Write web"),
    Case("an image with capitals", "services:\n  s:\n    image: Foo/Bar\n", "bad-image", 3, "Write foo/bar"),
    Case("an image with a space", "services:\n  s:\n    image: 'bb :1'\n", "bad-image", 3, "REGISTRY/NAME:TAG"),
    Case("no image", "services:\n  s:\n    command: ls\n", "image-missing", 2, "Write image: NAME:TAG"),
    Case("build in place of an image", "services:\n  s:\n    build: .\n", "image-missing", 2, "docker stack deploy builds nothing"),
    Case("a label of Berth's own", service("labels: {berth.job: x}"), "label-reserved", 4, "another name"),
]  # fmt: skip
KEYS = [
    Case("a misspelled key of a service", service("comand: x"), "unknown-key", 4, "Write command"),
    Case("a key in camel case", service("restartPolicy: x"), "unknown-key", 4, "Write"),
    Case("a key with a dash", service("working-dir: /x"), "unknown-key", 4, "Write working_dir"),
    Case("a misspelled key at the top", "sevices: {}\nservices: {s: {image: 'bb:1'}}\n", "unknown-key", 1, "Write services"),
    Case("a misspelled key of deploy", service("deploy: {replica: 2}"), "unknown-key", 4, "Write replicas"),
    Case("a misspelled key of resources", service("deploy: {resources: {limit: {cpus: '1'}}}"), "unknown-key", 4, "Write limits"),
    Case("a misspelled key of a healthcheck", service("healthcheck: {tests: x}"), "unknown-key", 4, "Write test"),
    Case("a misspelled key of a restart policy", service("deploy: {restart_policy: {max_attempt: 3}}"), "unknown-key", 4, "Write max_attempts"),
    Case("a misspelled key of x-berth", service("x-berth: {tiem: 2h}"), "unknown-key", 4, "Write time"),
    Case("replicas outside deploy", service("replicas: 2"), "unknown-key", 4, "Write deploy.replicas"),
    Case("resources outside deploy", service("resources: {limits: {cpus: '1'}}"), "unknown-key", 4, "Write deploy.resources"),
    Case("placement outside deploy", service("placement: {constraints: [node.role == worker]}"), "unknown-key", 4, "Write deploy.placement"),
    Case("env for environment", service("env: {A: b}"), "unknown-key", 4, "Write environment"),
    Case("a service at the top", "web:\n  image: bb:1\n", "unknown-key", 1, "services:"),
    Case("a job file", "image: bb:1\ngpus: 1\n", "unknown-key", 1, "berth submit"),
    Case("mem_limit", service("mem_limit: 2g"), "key-not-carried", 4, "deploy.resources.limits.memory"),
    Case("cpus", service("cpus: 2"), "key-not-carried", 4, "deploy.resources.limits.cpus"),
    Case("scale", service("scale: 2"), "key-not-carried", 4, "Write deploy.replicas"),
    Case("extends", service("extends: {service: t}"), "key-not-carried", 4, "anchor"),
    Case("an old version", "version: '2.4'\nservices: {s: {image: 'bb:1'}}\n", "version-unsupported", 1, 'Write version: "3.8"'),
    Case("no services", "version: '3.8'\n", "no-services", 1, "Write services:"),
    Case("empty services", "services: {}\n", "no-services", 1, "Write services:"),
]  # fmt: skip
VALUES = [
    Case("replicas in words", service('deploy: {replicas: "two"}'), "wrong-type", 4, "a whole number"),
    Case("replicas below zero", service("deploy: {replicas: -1}"), "out-of-range", 4, "Write replicas"),
    Case("half a replica", service("deploy: {replicas: 1.5}"), "wrong-type", 4, "a whole number"),
    Case("more replicas than a stack has", service("deploy: {replicas: 1000000}"), "out-of-range", 4, "Write replicas"),
    Case("services as a list", "services:\n  - image: bb:1\n", "wrong-type", 1, "Write a mapping of names"),
    Case("a service as a list", "services:\n  s:\n    - image: bb:1\n", "wrong-type", 2, "Write a mapping"),
    Case("a service in a word", "services:\n  s: bb:1\n", "wrong-type", 2, "Write a mapping"),
    Case("a key beside its service", "services:\n  s: {image: 'bb:1'}\n  image: bb:1\n", "wrong-type", 3, "indent it further"),
    Case("a mount with a space after its colon", service("volumes:\n  - v: /data", "volumes: {v: }\n"), "bad-mount", 5, "Leave out the space: v:/data"),
    Case("networks as a list of mappings", service("networks:\n  - n: {aliases: [a]}", "networks: {n: }\n"), "wrong-type", 5, "Leave out the '- '"),
    Case("a restart policy in a word", service("deploy: {restart_policy: on-failure}"), "wrong-type", 4, "{condition: on-failure}"),
    Case("capabilities in a word", gpu("{count: 1, capabilities: gpu}"), "wrong-type", 8, "Write capabilities: [gpu]"),
    Case("deploy as a list", service("deploy:\n  - replicas: 2"), "wrong-type", 4, "Write deploy: {replicas: ...}"),
    Case("environment in a word", service("environment: A=b"), "wrong-type", 4, "Write environment: {NAME: value}"),
    Case("an environment value that is a list", service("environment: {A: [b]}"), "wrong-type", 4, "Write A: text"),
    Case("an environment value that is true", service("environment: {A: true}"), "wrong-type", 4, 'Quote it: A: "true"'),
    Case("an environment of mappings", service("environment:\n  - A: b"), "wrong-type", 5, "Write A=VALUE"),
    Case("volumes as a mapping", service("volumes: {/a: /b}"), "wrong-type", 4, "Begin each entry with"),
    Case("volumes in a word", service("volumes: /a:/b"), "wrong-type", 4, "Write volumes: [/a:/b]"),
    Case("a command that is a mapping", service("command: {a: b}"), "wrong-type", 4, "write command: [...]"),
    Case("a command with an open quote", service("command: \"sh -c 'x\""), "bad-value", 4, "Close it"),
    Case("a switch in words", service("tty: maybe"), "wrong-type", 4, "Write tty: true, or tty: false"),
    Case("a time without a unit", service("stop_grace_period: '10'"), "bad-value", 4, "10s"),
    Case("a time in words", service("healthcheck: {test: x, interval: often}"), "bad-value", 4, "s"),
    Case("a delay in words", service("deploy: {restart_policy: {delay: soon}}"), "bad-value", 4, "s"),
    Case("a time limit in words", service("x-berth: {time: long}"), "bad-value", 4, "2h"),
    Case("a size in words", service("deploy: {resources: {limits: {memory: lots}}}"), "bad-value", 4, "such as 512M"),
    Case("a size below zero", service("shm_size: -1g"), "bad-value", 4, "such as 512M"),
    Case("a number of CPUs in words", service("deploy: {resources: {limits: {cpus: many}}}"), "bad-value", 4, "0.5"),
    Case("a restart condition that is none", service("deploy: {restart_policy: {condition: sometimes}}"), "bad-value", 4, "on-failure"),
    Case("restart sometimes", service("restart: sometimes"), "bad-value", 4, "deploy.restart_policy"),
    Case("a mode that is none", service("deploy: {mode: everywhere}"), "bad-value", 4, "replicated"),
    Case("a user with a space", service("user: 'a b'"), "bad-value", 4, "UID:GID"),
    Case("a signal that is none", service("stop_signal: 'kill it'"), "bad-value", 4, "SIGTERM"),
    Case("a health check without its kind", service("healthcheck: {test: [curl, x]}"), "bad-value", 4, "CMD, curl"),
    Case("a port above 65535", service("ports: ['80:70000']"), "bad-port", 4, "8080:80"),
    Case("a port that is no number", service("ports: ['http:80']"), "bad-port", 4, "8080:80"),
    Case("a range of ports of two lengths", service("ports: ['8000-8010:80-81']"), "bad-port", 4, ""),
    Case("two replicas with cards and one ingress port", service("gpus: 1\nports: ['8080:80']\ndeploy: {replicas: 2}"), "port-ingress-slots", 5, "mode: host", engine="swarm"),
    Case("a port with another protocol", service("ports: ['80:80/icmp']"), "bad-port", 4, "tcp"),
    Case("a subnet that is none", service("networks: [n]", "networks: {n: {ipam: {config: [{subnet: 10.0.0}]}}}\n"), "bad-value", 5, "10.0.0.0/24"),
    Case("external with a driver", service("volumes: ['v:/v']", "volumes: {v: {external: true, driver: d}}\n"), "external-with-settings", 5, "Remove driver"),
    Case("a mount at a relative path", service("volumes: ['/a:b']"), "bad-mount", 4, "/host/path:/path"),
    Case("a mount with an option that is none", service("volumes: ['/a:/b:rw2']"), "bad-mount", 4, "ro"),
    Case("two mounts at one path", service("volumes: ['/a:/b', '/c:/b']"), "bad-mount", 4, "Remove one"),
    Case("a mount of a home", service("volumes: ['~/a:/b']"), "bad-mount", 4, "whole path"),
    Case("a long mount without a type", service("volumes:\n  - source: /a\n    target: /b"), "bad-mount", 5, "bind"),
    Case("a long mount without a target", service("volumes: [{type: bind, source: /a}]"), "bad-mount", 4, "target: /path"),
]  # fmt: skip
GUARDED = [
    Case("privileged with cards", service("privileged: true\ngpus: 1"), "privileged-with-cards", 4, "Remove privileged", REFUSED),
    Case("a device with cards", service("gpus: 1\ndevices: ['/dev/fuse']"), "device-by-hand", 5, "reservations.devices", REFUSED),
    Case("the device of a card", service("devices: ['/dev/nvidia1:/dev/sda']"), "device-by-hand", 4, "reservations.devices", REFUSED),
    Case("a CDI device", service("devices: ['nvidia.com/gpu=all']"), "device-by-hand", 4, "reservations.devices", REFUSED),
    Case("an annotation as a label", service("labels: {cdi.k8s.io/x: nvidia.com/gpu=all}"), "card-by-annotation", 4, "reservations.devices", REFUSED),
    Case("a device list as a mount", service("volumes: ['/dev/null:/var/run/../run/nvidia-container-devices/all']"), "mount-of-cards", 4, "reservations.devices", REFUSED),
    Case("a device list as a secret", service("secrets: [{source: k, target: /var/run/nvidia-container-devices/all}]", "secrets: {k: {external: true}}\n"), "mount-of-cards", 4, "reservations.devices", REFUSED),
    Case("the mount of a card", service("volumes: [{type: bind, source: /dev/nvidia0, target: /x}]"), "mount-of-cards", 4, "reservations.devices", REFUSED),
    Case("the mount of a card by a volume", service("volumes: ['v:/x']", "volumes: {v: {driver_opts: {type: none, o: bind, device: /dev}}}\n"), "mount-of-cards", 4, "reservations.devices", REFUSED),
    Case("the socket by a template", service("""volumes: [{type: bind, source: '/{{"var/run/docker.sock"}}', target: /s}]"""), "template-not-carried", 4, "Write the value out"),
    Case("a variable by a template", service("""environment: {'{{"DOCKER_RESOURCE_GPU"}}': all}"""), "template-not-carried", 4, "Write the value out"),
    Case("the socket with cards", service("gpus: 1\nvolumes: ['/var/run/docker.sock:/s']"), "mount-of-socket", 5, "only the paths", REFUSED),
    Case("the socket by a folder above", service("gpus: 1\nvolumes: ['/var:/host']"), "mount-of-socket", 5, "only the paths", REFUSED),
]  # fmt: skip
FILES = [
    Case("a key twice", service("command: a\ncommand: b"), "duplicate-key", 5, "Remove one"),
    Case("a service twice", "services:\n  s: {image: 'bb:1'}\n  s: {image: 'bb:1'}\n", "duplicate-key", 3, "Remove one"),
    Case("tabs", "services:\n  s:\n\timage: bb:1\n", "yaml-tab", 3, "Indent with spaces"),
    Case("a key that is indented too far", "services:\n  s:\n    image: bb:1\n      command: ls\n", "yaml-syntax", 4, "align"),
    Case("a key that is indented too little", "services:\n  s:\n    image: bb:1\n   command: ls\n", "yaml-syntax", 4, "Align"),
    Case("a key without its colon", "services:\n  s:\n    image bb:1\n    command: ls\n", "yaml-syntax", 4, ""),
    Case("a name without its colon", "services:\n  s\n    image: bb:1\n", "yaml-syntax", 2, "Write KEY: VALUE"),
    Case("two colons", service("command: a: b"), "yaml-syntax", 4, "Quote the value"),
    Case("a quote that is not closed", service("command: 'a"), "yaml-syntax", 4, "Close it"),
    Case("a list that is not closed", service("command: [a, b"), "yaml-syntax", 4, "Add the ]"),
    Case("a sign that is no text", service("command: @a"), "yaml-syntax", 4, "Quote the value"),
    Case("an alias of nothing", service("command: *nobody"), "yaml-alias", 4, "Define the anchor first"),
    Case("a tag that is none", service("command: !Ref x"), "yaml-tag", 4, "Remove it"),
    Case("two documents", service("command: a", "---\nservices: {}\n"), "yaml-documents", 5, "Remove the ---"),
    Case("a file of 10 MB", "# " + "x" * 10_000_000 + "\n" + service("command: a"), "file-too-big", 0, "name the file"),
    Case("100 levels", "services: {s: {image: 'bb:1', labels: " + "{a: " * 100 + "b" + "}" * 100 + "}}\n", "yaml-too-deep", 1, "Check the brackets"),
    Case("an alias bomb", bomb() + service("command: a"), "yaml-too-big", 4, "fewer aliases"),
    Case("a file with 150,000 values", service("command: [" + "a," * 150_000 + "a]"), "yaml-too-big", 4, "Split it"),
    Case("not UTF-8", b"services:\n  s:\n    image: bb:1 # \xe9\n", "not-utf-8", 3, "UTF-8"),
    Case("UTF-16", service("command: a").encode("utf-16"), "not-utf-8", 1, "UTF-8"),
    Case("a binary", b"\x7fELF\x02\x01\x01\x00\x00", "not-text", 1, "Name the YAML file"),
    Case("a control character", service("command: a\x07b"), "not-text", 4, "Remove it"),
    Case("an empty file", "", "yaml-empty", 1, "Name the file you mean"),
    Case("a file of comments", "# nothing\n\n", "yaml-empty", 1, "Name the file you mean"),
    Case("a list at the top", "- image: bb:1\n", "yaml-top", 1, "services:"),
    Case("a word at the top", "hello\n", "yaml-top", 1, "services:"),
    Case("a manifest of Kubernetes", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "unknown-key", 1, "manifest of Kubernetes"),
]  # fmt: skip
CASES = [*CARDS, *CONSTRAINTS, *MISSING, *NAMES, *KEYS, *VALUES, *GUARDED, *FILES]
