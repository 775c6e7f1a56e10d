"""Top-level networks, volumes, secrets and configs: names, external forms, where contents come from, what is asked."""

import pytest

from berth.model.draft import Needs, SourceFile
from berth.model.job import Network, Volume
from berth.model.spec import FileRef
from berth.model.stored import Content, FileObject
from tests.compose.loading import load, problems


def stack(service: str, top: str, **fields: object) -> str:
    """A file with one service and sections."""
    return f"services: {{web: {{image: x, {service}}}}}\n{top}\n"


def test_networks_by_their_names_on_the_engine() -> None:
    text = stack(
        "networks: [a, b, c, d]",
        "networks: {a: , b: {name: bb, driver: overlay, driver_opts: {x: 1}, internal: true, attachable: true, "
        "labels: [k=v], ipam: {driver: default, config: [{subnet: 10.1.0.0/24}]}}, c: {external: true}, "
        "d: {external: {name: old}}, unused: }",
    )
    assert load(text).networks == (
        Network(
            name="bb", driver="overlay", driver_opts={"x": "1"}, internal=True, attachable=True, labels={"k": "v"},
            ipam_driver="default", subnets=("10.1.0.0/24",),
        ),
        Network(name="c", external=True),
        Network(name="old", external=True),
        Network(name="st_a"),
    )  # fmt: skip


def test_volumes_that_are_mounted() -> None:
    text = stack(
        'volumes: ["a:/a", "b:/b", "c:/c"]',
        "volumes: {a: {driver: nfs, labels: {k: v}, x-cluster-spec: {group: g}}, b: {name: bb}, "
        "c: {external: {name: old}}, unused: }",
    )
    loaded = load(text)
    assert loaded.volumes == (
        Volume(name="st_a", driver="nfs", labels={"k": "v", "com.docker.stack.namespace": "st"}),
        Volume(name="bb", labels={"com.docker.stack.namespace": "st"}),
        Volume(name="old", external=True),
    )
    assert [(one.code, one.field) for one in loaded.warnings] == [
        ("key-ignored", "volumes.a.x-cluster-spec"),
        ("external-name-old", "volumes.c.external"),
    ]


def test_contents_are_asked_for_by_path_and_come_with_their_names() -> None:
    text = stack(
        "secrets: [a, {source: b, target: /t, uid: '5', gid: 6, mode: 0400}], configs: [c]",
        "secrets: {a: {file: ./a.txt, labels: {k: v}}, b: {name: bb, environment: WORD}}\n"
        "configs: {c: {content: 'x=${WORD}'}, ext: {external: true, file: ./never}}",
    )
    assert load(text).needs == Needs(variables=("WORD",))
    assert load(text, variables={"WORD": "w"}).needs == Needs(contents=("./a.txt",))
    loaded = load(text, variables={"WORD": "w"}, contents={"./a.txt": SourceFile("./a.txt", b"\x00\xff")})
    assert [(new.file, new.content) for new in loaded.files] == [
        (FileObject(kind="secret", name="st_a", labels={"k": "v"}), Content(b"\x00\xff")),
        (FileObject(kind="secret", name="bb"), Content(b"w")),
        (FileObject(kind="config", name="st_c"), Content(b"x=w")),
    ]
    (draft,) = loaded.drafts
    assert draft.spec.secrets == (
        FileRef(source="bb", target="/t", uid="5", gid="6", mode=0o400),
        FileRef(source="st_a", target="a"),
    )
    assert draft.spec.configs == (FileRef(source="st_c", target="c"),)
    assert [one.field for one in loaded.warnings] == ["configs.ext.file"]


def test_a_driver_brings_the_content() -> None:
    text = stack("secrets: [a]", "secrets: {a: {driver: vault, driver_opts: {path: p}, template_driver: golang}}")
    (new,) = load(text).files
    assert new.file == FileObject(
        kind="secret", name="st_a", driver="vault", driver_opts={"path": "p"}, template_driver="golang"
    )


@pytest.mark.parametrize(
    ("top", "code", "field"),
    [
        ("secrets: {a: {}}", "file-source", "secrets.a"),
        ("secrets: {a: {file: x, environment: Y}}", "file-source", "secrets.a"),
        ("secrets: {a: {file: gone}}", "file-missing", "secrets.a.file"),
        ("secrets: {a: {environment: UNSET}}", "variable-required", "secrets.a.environment"),
        ("secrets: {a: {environment: W, name: n}, b: {environment: W, name: n}}", "file-twice", "secrets"),
        ("secrets: {a: {external: {name: x}, name: y}}", "external-name-twice", "secrets.a.external"),
        ("configs: {a: {driver: x}}", "unknown-key", "configs.a.driver"),
        ("secrets: {a: {external: true, labels: {berth.user: x}}}", "label-reserved", "secrets.a.labels.berth.user"),
        ("networks: {a: {labels: [berth.x=y]}}", "label-reserved", "networks.a.labels.0"),
        ("networks: {a: {ipam: {config: [{subnet: 10.0.0.0/24, gateway: 10.0.0.1}]}}}", "key-not-carried",
         "networks.a.ipam.config.0.gateway"),
        ("volumes: {a: {external: true, driver: x}}", "external-with-settings", "volumes.a.driver"),
    ],
)  # fmt: skip
def test_what_cannot_be(top: str, code: str, field: str) -> None:
    found = problems(
        f"services: {{web: {{image: x}}}}\n{top}\n", variables={"UNSET": None, "W": "w"}, contents={"gone": None}
    )
    assert [(one.code, one.field, one.line) for one in found] == [(code, field, 2)]


def test_two_files_at_one_place() -> None:
    text = stack("secrets: [a, {source: b, target: ./a}]", "secrets: {a: {external: true}, b: {external: true}}")
    (problem,) = problems(text)
    assert (problem.code, problem.field) == ("bad-mount", "services.web.secrets.1")
    assert "a is mounted at /run/secrets/a, too" in problem.message


@pytest.mark.parametrize("word", ["root", "-1", "1.5", "4294967296"])
def test_owners_of_files_are_numbers(word: str) -> None:
    text = stack(f"secrets: [{{source: a, uid: '{word}'}}]", "secrets: {a: {external: true}}")
    (problem,) = problems(text)
    assert (problem.code, problem.field) == ("bad-value", "services.web.secrets.0.uid")
