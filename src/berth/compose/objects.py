"""Top-level networks, volumes, secrets and configs of a stack file, by the names that they have on the engine."""

import difflib
import ipaddress
import re
from collections.abc import Mapping

import msgspec

from berth.compose import guard, keys
from berth.compose.fields import Fields, as_text
from berth.compose.tree import Mapping as Table
from berth.model.job import Network, Volume
from berth.model.spec import FileRef, NetworkUse

DEFAULT = "default"
_UNDEFINED = {"networks": "undefined-network", "secrets": "undefined-secret", "configs": "undefined-config"}
_DIGITS = re.compile(r"[0-7]{3,4}")
_NAMESPACE = "com.docker.stack.namespace"


class Objects(msgspec.Struct):
    """What a stack file declares, by its keys; secrets and configs map to their names in the engine's store."""

    networks: dict[str, Network]
    volumes: dict[str, Volume]
    secrets: dict[str, str]
    configs: dict[str, str]


def objects(top: Fields, stack: str) -> Objects:
    """Read all four sections."""
    networks = {key: _network(key, one, stack) for key, one in top.named("networks", keys.NETWORK)}
    networks.setdefault(DEFAULT, Network(name=f"{stack}_{DEFAULT}"))
    return Objects(
        networks,
        {key: _volume(key, one, stack) for key, one in top.named("volumes", keys.VOLUME)},
        {key: _stored(key, one, "secret") for key, one in top.named("secrets", keys.SECRET)},
        {key: _stored(key, one, "config") for key, one in top.named("configs", keys.CONFIG)},
    )


def network_uses(service: Fields, networks: Mapping[str, Network]) -> dict[str, NetworkUse]:
    """The networks of a service by their keys in the file; the default one when it names none."""
    uses: dict[str, NetworkUse] = {}
    if isinstance(service.node("networks"), Table):
        for key, use in service.named("networks", keys.NETWORK_USE):
            aliases = tuple(text for text, _ in use.strings("aliases"))
            uses[key] = NetworkUse("", aliases, use.texts("driver_opts"))
    else:
        uses = {text: NetworkUse("") for text, _ in service.strings("networks")}
    found = {}
    for key, one in (uses or {DEFAULT: NetworkUse("")}).items():
        if key in networks:
            found[key] = msgspec.structs.replace(one, name=networks[key].name)
        else:
            _undefined(service, "networks", key, networks)
    return dict(sorted(found.items(), key=lambda pair: pair[1].name))


def file_refs(service: Fields, key: str, stored: Mapping[str, str]) -> tuple[FileRef, ...]:
    """The secrets or configs that a service mounts as files, sorted by name as the docker CLI sorts them."""
    found = []
    for path, node in service.rows(key):
        text = as_text(node)
        if text is not None:
            source, ref = text, FileRef(source="", target=text)
        elif isinstance(node, Table):
            row = Fields(node, path, service.report, keys.FILE_USE)
            source, ref = row.text("source"), _long(row)
        else:
            service.mistyped(node, path, "a name")
            continue
        if source in stored:
            found.append(msgspec.structs.replace(ref, source=stored[source]))
            guard.targets([(ref.target, node.place, path)], service.report)
        else:
            _undefined(service, key, source, stored)
    return tuple(sorted(found, key=lambda ref: (ref.source, ref.target)))


def _long(row: Fields) -> FileRef:
    mode = _mode(row)
    return FileRef(
        source="",
        target=row.text("target") or row.text("source"),
        uid=row.text("uid") or "0",
        gid=row.text("gid") or "0",
        mode=0o444 if mode is None else mode,
    )


def _mode(row: Fields) -> int | None:
    """The permissions of the file. `0440` and "0440" are octal; `440` is a decimal number, as for Docker."""
    node = row.node("mode")
    written = as_text(node) if node is not None else None
    if written is None or not _DIGITS.fullmatch(written) or (written[0] != "0" and int(written) > 0o7777):
        return row.whole("mode", 0, 0o7777)
    if written.startswith("0"):
        return int(written, 8)
    message = f"mode: {written} is a decimal number, {int(written):04o} in octal, as with docker stack deploy."
    row.report.warn(row.at("mode"), "mode-decimal", message, f"Write mode: 0{written}", row.field("mode"))
    return int(written)


def _undefined(service: Fields, key: str, name: str, known: Mapping[str, object]) -> None:
    kind = key.removesuffix("s")
    near = difflib.get_close_matches(name, list(known), 1, 0.6)
    body = "{external: true}" if kind in ("secret", "config") else ""
    hint = f"Write {near[0]}" if near else f"Add at the end: {key}: {{{name[:80]}: {body}}}"
    service.wrong(key, _UNDEFINED[key], f"the {kind} {name[:80]} is not among the file's {key}.", hint)


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
    return external, written or old or (key if external else f"{stack}_{key}")


def _network(key: str, one: Fields, stack: str) -> Network:
    external, name = _name(key, one, stack)
    ipam = one.table("ipam", keys.IPAM)
    subnets = []
    for path, node in ipam.rows("config"):
        if isinstance(node, Table):
            row = Fields(node, path, one.report, keys.IPAM_CONFIG)
            subnets.append(_subnet(row))
        else:
            one.mistyped(node, path, "{subnet: 10.0.0.0/24}")
    return Network(
        name=name,
        external=external,
        driver=one.text("driver"),
        driver_opts=one.texts("driver_opts"),
        attachable=one.flag("attachable") or False,
        internal=one.flag("internal") or False,
        labels=one.texts("labels"),
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
    driver, options, labels = one.text("driver"), one.texts("driver_opts"), one.texts("labels")
    for other in ("driver", "driver_opts", "labels"):
        if external and one.node(other) is not None:
            one.wrong(
                other, "external-with-settings", f"external and {other} contradict each other.", f"Remove {other}"
            )
    if external:
        return Volume(name=name, external=True)
    return Volume(name=name, driver=driver, driver_opts=options, labels={**labels, _NAMESPACE: stack})


def _stored(key: str, one: Fields, kind: str) -> str:
    external, name = _name(key, one, "")
    later = keys.SECRET.later if kind == "secret" else keys.CONFIG.later
    if not external and not any(one.node(other) is not None for other in later):
        hint = f"Create it (docker {kind} create NAME FILE) and write external: true"
        one.wrong("external", "key-not-carried", f"only external {kind}s are carried yet.", hint)
    return name
