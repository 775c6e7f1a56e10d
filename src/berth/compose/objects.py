"""Which networks, secrets and configs a service uses, and how; `sections` reads what the file declares of them."""

import difflib
import re
from collections.abc import Iterator, Mapping

import msgspec

from berth.compose import guard, keys
from berth.compose.fields import Fields, as_text
from berth.compose.sections import DEFAULT
from berth.compose.text import Place
from berth.compose.tree import Mapping as Table
from berth.compose.tree import children
from berth.model.job import Network
from berth.model.spec import FileRef, NetworkUse
from berth.model.stored import FileKind, place_of

MOST_COMPARED = 200
"""How many names are searched for the nearest one."""
_UNDEFINED = {"networks": "undefined-network", "secrets": "undefined-secret", "configs": "undefined-config"}
_DIGITS = re.compile(r"[0-7]{3,4}")


def network_uses(service: Fields, networks: Mapping[str, Network]) -> dict[str, NetworkUse]:
    """The networks of a service by their keys in the file; the default one when it names none."""
    uses: dict[str, NetworkUse] = {}
    if isinstance(service.node("networks"), Table):
        for key, use in service.named("networks", keys.NETWORK_USE):
            aliases = tuple(text for text, _ in use.strings("aliases"))
            uses[key] = NetworkUse("", aliases, use.texts("driver_opts"))
    else:
        uses = {text: NetworkUse("") for text, _ in service.strings("networks")}
    found, missing = {}, []
    for key, one in (uses or {DEFAULT: NetworkUse("")}).items():
        if key in networks:
            found[key] = msgspec.structs.replace(one, name=networks[key].name)
        else:
            missing.append(key)
    stand = {name: (place, path) for name, place, path in places_of(service, "networks")} if missing else {}
    for key in missing:
        _undefined(service, ("networks", key), networks, stand.get(key))
    return dict(sorted(found.items(), key=lambda pair: pair[1].name))


def file_refs(service: Fields, kind: FileKind, stored: Mapping[str, str]) -> tuple[FileRef, ...]:
    """The secrets or configs that a service mounts as files, sorted by name as the docker CLI sorts them."""
    found: list[FileRef] = []
    key = f"{kind}s"
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
            where = place_of(kind, ref.target)
            taken = [one.source for one in found if place_of(kind, one.target) == where]
            if guard.target(where, node.place, path, service.report) and _free(
                taken, where, (node.place, path), service
            ):
                found.append(msgspec.structs.replace(ref, source=stored[source]))
        else:
            _undefined(service, (key, source), stored, (node.place, path))
    return tuple(sorted(found, key=lambda ref: (ref.source, ref.target)))


def _free(taken: list[str], where: str, at: tuple[Place | None, str], service: Fields) -> bool:
    """False, with a problem noted, where another file is mounted at the same place already."""
    if taken:
        message = f"{taken[0]} is mounted at {where[:80]}, too."
        service.report.wrong(at[0], "bad-mount", message, "Give one of them another target.", at[1])
    return not taken


def _long(row: Fields) -> FileRef:
    mode = _mode(row)
    return FileRef(
        source="",
        target=row.text("target") or row.text("source"),
        uid=_number(row, "uid"),
        gid=_number(row, "gid"),
        mode=0o444 if mode is None else mode,
    )


def _number(row: Fields, key: str) -> str:
    """A user or group: engines take numbers alone here."""
    text = row.text(key) or "0"
    if not (text.isascii() and text.isdecimal() and int(text) < 2**32):
        row.wrong(key, "bad-value", f"{key}: {text[:40]} is not a number.", f'Write {key}: "1000"')
        return "0"
    return text


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


def places_of(service: Fields, key: str) -> Iterator[tuple[str, Place, str]]:
    """What a service uses by name under `networks`, `secrets` or `configs`: the name, its place and its path."""
    node = service.node(key)
    for name, place, child in children(node) if node is not None else ():
        path = service.field(f"{key}.{name}")
        if isinstance(node, Table):
            yield name, place, path
        elif isinstance(child, Table):
            source = child.entries.get("source")
            yield (as_text(source.node) or "") if source else "", place, path
        else:
            yield as_text(child) or "", place, path


def _undefined(
    service: Fields, wanted: tuple[str, str], known: Mapping[str, object], at: tuple[Place, str] | None
) -> None:
    """Note a name (`wanted`: its section and itself) that the file does not declare."""
    if service.report.full:
        return
    key, name = wanted
    kind = key.removesuffix("s")
    near = difflib.get_close_matches(name, list(known)[:MOST_COMPARED], 1, 0.6)
    body = "{external: true}" if kind in ("secret", "config") else ""
    hint = f"Write {near[0]}" if near else f"Add at the end: {key}: {{{name[:80]}: {body}}}"
    message = f"the {kind} {name[:80]} is not among the file's {key}."
    place, path = at or (service.at(key), service.field(key))
    service.report.wrong(place, _UNDEFINED[key], message, hint, path)
