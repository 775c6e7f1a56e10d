"""Whether a service of the docker CLI's asks for what Berth would write: that decides if its tasks restart."""

from typing import Any

import pytest

from berth.engines.swarm.likeness import unlike

FILE = {"SecretID": "1", "SecretName": "key", "File": {"Name": "key", "UID": "0", "GID": "0", "Mode": 292}}
OURS: dict[str, Any] = {
    "Name": "s_web",
    "Labels": {"berth.job": "j1"},
    "TaskTemplate": {
        "ContainerSpec": {
            "Image": "bb:1",
            "Env": ["B=2", "A=1", "NVIDIA_VISIBLE_DEVICES=void"],
            "Labels": {"com.docker.stack.namespace": "s", "berth.job": "j1"},
            "Secrets": [FILE, {**FILE, "SecretID": "2", "SecretName": "other"}],
            "Mounts": [{"Type": "bind", "Source": "/a", "Target": "/a", "Consistency": "cached"}],
        },
        "Resources": {},
        "Placement": {"Constraints": ["node.role==worker"]},
        "Networks": [{"Target": "s_back", "Aliases": ["web"]}],
    },
    "Mode": {"Replicated": {"Replicas": 2}},
    "EndpointSpec": {"Mode": "", "Ports": []},
}
THEIRS: dict[str, Any] = {
    "Name": "s_web",
    "Labels": {"com.docker.stack.image": "bb:1"},
    "TaskTemplate": {
        "ContainerSpec": {
            "Image": "bb:1@sha256:0123",
            "Env": ["A=1", "B=2"],
            "Labels": {"com.docker.stack.namespace": "s"},
            "Secrets": [
                {"File": FILE["File"], "SecretID": "2", "SecretName": "other"},
                {"File": FILE["File"], "SecretID": "1", "SecretName": "key"},
            ],
            "Mounts": [{"Type": "bind", "Source": "/a", "Target": "/a"}],
            "Isolation": "default",
            "Privileges": {"CredentialSpec": None, "SELinuxContext": None},
            "StopGracePeriod": 10_000_000_000,
        },
        "Resources": {},
        "Placement": {"Constraints": ["node.role==worker"], "Platforms": [{"OS": "linux"}]},
        "Networks": [{"Target": "q5m0e3t7", "Aliases": ["web"]}],
        "ForceUpdate": 0,
        "Runtime": "container",
    },
    "Mode": {"Replicated": {"Replicas": 2}},
    "EndpointSpec": {"Mode": "vip"},
}


def test_what_the_daemon_adds_and_orders_is_no_difference() -> None:
    assert unlike(OURS, THEIRS) == ()


@pytest.mark.parametrize(
    ("where", "value", "told"),
    [
        ("ContainerSpec.Image", "bb:2@sha256:0123", "Image"),
        ("ContainerSpec.Env", ["A=1"], "Env"),
        ("ContainerSpec.Env", ["A=1", "B=2", "C=3"], "Env"),
        ("ContainerSpec.Args", ["x"], "Args"),
        ("ContainerSpec.Mounts", [], "Mounts"),
        ("ContainerSpec.Labels", {"mine": "yes"}, "Labels"),
        ("Resources", {"Limits": {"MemoryBytes": 1}}, "Resources"),
        ("Placement", {"Constraints": []}, "Constraints"),
        ("Networks", [{"Target": "x", "Aliases": ["web", "www"]}], "Networks"),
    ],
)
def test_what_a_person_wrote_otherwise_is_told(where: str, value: Any, told: str) -> None:
    first, _, second = where.partition(".")
    template = THEIRS["TaskTemplate"]
    part = {**template[first], second: value} if second else value
    assert unlike(OURS, {**THEIRS, "TaskTemplate": {**template, first: part}}) == (told,)


def test_another_number_of_replicas_and_another_port_are_told() -> None:
    there = {**THEIRS, "Mode": {"Replicated": {"Replicas": 3}}, "EndpointSpec": {"Ports": [{"TargetPort": 80}]}}
    assert unlike(OURS, there) == ("Mode", "Ports")
