"""Top-level networks, volumes, secrets and configs of a stack file, by the names that they have on the engine.

`objects` finds there what a service names; stack hands the content of secrets and configs on to control.
"""

import ipaddress
from collections import Counter
from typing import NamedTuple

import msgspec

from berth.compose import guard, keys
from berth.compose.fields import Fields
from berth.compose.report import Report
from berth.compose.scope import Scope
from berth.compose.tree import Mapping as Table
from berth.model import marks
from berth.model.job import Network, Volume
from berth.model.stored import Content, FileKind, FileObject, NewFile

DEFAULT = "default"
SECTIONS: tuple[tuple[str, FileKind, keys.Section], ...] = (
    ("secrets", "secret", keys.SECRET),
    ("configs", "config", keys.CONFIG),
)
_SOURCES = ("file", "content", "environment", "driver")
"""Where a content can come from; `content` and `environment` are Compose's, docker stack deploy refuses them."""


class Objects(msgspec.Struct):
    """What a stack file declares, by its keys; secrets and configs map to their names in the engine's store.

    `files` are those of them that the stack creates, with their content.
    """

    networks: dict[str, Network]
    volumes: dict[str, Volume]
    secrets: dict[str, str]
    configs: dict[str, str]
    files: tuple[NewFile, ...] = ()


class _Stack(NamedTuple):
    name: str
    scope: Scope


def objects(top: Fields, stack: str, scope: Scope) -> Objects:
    """Read all four sections."""
    networks = {key: _network(key, one, stack) for key, one in top.named("networks", keys.NETWORK)}
    networks.setdefault(DEFAULT, Network(name=f"{stack}_{DEFAULT}"))
    volumes = {key: _volume(key, one, stack) for key, one in top.named("volumes", keys.VOLUME)}
    read = {
        section: {key: _stored(key, one, kind, _Stack(stack, scope)) for key, one in top.named(section, known)}
        for section, kind, known in SECTIONS
    }
    files = tuple(new for found in read.values() for new, created in found.values() if created)
    _once_each(top, files)
    named = {section: {key: new.file.name for key, (new, _) in found.items()} for section, found in read.items()}
    return Objects(networks, volumes, named["secrets"], named["configs"], files)


def ask_for_contents(whole: Table, scope: Scope) -> None:
    """Note in the scope the files and variables from which secrets and configs take their content."""
    top, quiet = Fields(whole, "", Report()), Report()
    for section, _, _ in SECTIONS:
        node = top.node(section)
        for _, entry in node.entries.items() if isinstance(node, Table) else ():
            one = Fields(entry.node, "", quiet) if isinstance(entry.node, Table) else None
            given = _given(one) if one is not None and not _external(one)[0] else []
            if one is not None and given == ["file"]:
                scope.content(one.text("file"))
            if one is not None and given == ["environment"]:
                scope.look(one.text("environment"))


def _network(key: str, one: Fields, stack: str) -> Network:
    external, name = _name(key, one, stack)
    ipam = one.table("ipam", keys.IPAM)
    subnets = []
    for path, node in ipam.rows("config"):
        if isinstance(node, Table):
            subnets.append(_subnet(Fields(node, path, one.report, keys.IPAM_CONFIG)))
        else:
            one.mistyped(node, path, "{subnet: 10.0.0.0/24}")
    return Network(
        name=name,
        external=external,
        driver=one.text("driver"),
        driver_opts=one.texts("driver_opts"),
        attachable=one.flag("attachable") or False,
        internal=one.flag("internal") or False,
        labels=guard.labels(one.pairs("labels"), one.report),
        ipam_driver=ipam.text("driver"),
        subnets=tuple(filter(None, subnets)),
    )


def _subnet(row: Fields) -> str:
    text = row.text("subnet")
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        row.wrong("subnet", "bad-value", f"'{text[:40]}' is not a subnet.", "Write subnet: 10.0.0.0/24")
    return text


def _volume(key: str, one: Fields, stack: str) -> Volume:
    external, name = _name(key, one, stack)
    driver, options = one.text("driver"), one.texts("driver_opts")
    labels = guard.labels(one.pairs("labels"), one.report)
    for other in ("driver", "driver_opts", "labels"):
        if external and one.node(other) is not None:
            message = f"external and {other} contradict each other."
            one.wrong(other, "external-with-settings", message, f"Remove {other}")
    if external:
        return Volume(name=name, external=True)
    return Volume(name=name, driver=driver, driver_opts=options, labels={**labels, marks.NAMESPACE: stack})


def _stored(key: str, one: Fields, kind: FileKind, stack: _Stack) -> tuple[NewFile, bool]:
    """The secret or config, and whether the stack can create it."""
    external, name = _name(key, one, stack.name)
    place = one.name
    file = FileObject(
        kind=kind,
        name=name,
        external=external,
        labels=guard.labels(one.pairs("labels"), one.report),
        driver=one.text("driver") if kind == "secret" else "",
        driver_opts=one.texts("driver_opts") if kind == "secret" else {},
        template_driver=one.text("template_driver"),
    )
    given = _given(one)
    if external:
        for source in given:
            message = f"{source}: does nothing where external: true is, as with docker stack deploy."
            one.report.warn(one.at(source), "key-ignored", message, f"Remove {source}:", one.field(source))
        return NewFile(file=file), False
    content = _content(key, one, given, stack.scope)
    new = NewFile(file=file, content=content or Content(b""), field=one.path, path=place.text.path, line=place.line)
    return new, content is not None


def _given(one: Fields) -> list[str]:
    return [source for source in _SOURCES if one.node(source) is not None]


def _content(key: str, one: Fields, given: list[str], scope: Scope) -> Content | None:
    """The content that a secret or config has; None, with a problem noted, where there is none."""
    if len(given) != 1:
        said = f"{' and '.join(given)} contradict each other." if given else "it has no content and is not external."
        hint = "Keep one of them." if given else f"Write file: ./{key}.txt, or external: true for one that exists"
        message = f"{key[:80]}: {said}"
        one.report.wrong(one.name, "file-source", message, hint, one.path)
        return None
    if given == ["file"]:
        return _from_file(one, scope)
    if given == ["environment"]:
        return _from_variable(one, scope)
    return Content(one.text("content").encode() if given == ["content"] else b"")


def _from_file(one: Fields, scope: Scope) -> Content | None:
    path = one.text("file")
    data = scope.content(path)
    if data is None:
        hint = "The path starts at the directory of the first stack file."
        one.wrong("file", "file-missing", f"there is no file {path[:200]} that can be read.", hint)
    return Content(data) if isinstance(data, bytes) else None


def _from_variable(one: Fields, scope: Scope) -> Content | None:
    name = one.text("environment")
    value = scope.look(name)
    if value is None and scope.known(name):
        hint = f"Set it: {name}=VALUE berth stack deploy ..."
        one.wrong("environment", "variable-required", f"the variable {name[:80]} is not set.", hint)
    return None if value is None else Content(value.encode())


def _once_each(top: Fields, files: tuple[NewFile, ...]) -> None:
    """Two keys with one name would be one object with two contents."""
    counts = Counter((new.file.kind, new.file.name) for new in files)
    for (kind, name), count in counts.items():
        if count > 1:
            message = f"{count} {kind}s of the file have the name {name[:80]}."
            top.wrong(f"{kind}s", "file-twice", message, "Give each a name of its own, or declare it once.")


def _external(one: Fields) -> tuple[bool, str]:
    """(external, the name under the old form external: {name: X})."""
    node = one.node("external")
    if isinstance(node, Table):
        return True, Fields(node, one.field("external"), one.report, keys.EXTERNAL).text("name")
    return one.flag("external") or False, ""


def _name(key: str, one: Fields, stack: str) -> tuple[bool, str]:
    external, old = _external(one)
    written = one.text("name")
    if old and written:
        one.wrong("external", "external-name-twice", "external.name and name contradict each other.", "Keep name.")
    elif old:
        message, hint = "external.name is an old spelling that still works.", f"Write external: true, name: {old[:60]}"
        one.report.warn(one.at("external"), "external-name-old", message, hint, one.field("external"))
    return external, written or old or (key if external else f"{stack}_{key}")
