"""Published ports of a service: short form HOST:CONTAINER/PROTOCOL with ranges, or long form; service asks for it."""

import ipaddress
import re
from collections.abc import Iterator
from typing import NamedTuple, get_args

from berth.compose import keys
from berth.compose.fields import Fields, as_text
from berth.compose.tree import Mapping, Node, Scalar
from berth.model.spec import Port, Protocol

MOST = 65_535
MOST_OF_ONE = 4096
"""So many ports of one entry: a longer range is a mistake, and each costs the engine a rule per node."""
_PROTOCOLS: tuple[str, ...] = get_args(Protocol)
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_HINT = 'Write "8080:80", "8080:80/udp", "8000-8002:80-82", or a mapping with target and published.'


class Short(NamedTuple):
    """One entry of the short form. `address` is "" or the address that Swarm passes over."""

    ports: tuple[Port, ...]
    address: str = ""


def ports(service: Fields) -> tuple[Port, ...]:
    """The published ports as the docker CLI orders them: by the published number, else as written."""
    found: list[Port] = []
    for path, node in service.rows("ports"):
        found += _row(service, path, node)
    return tuple(sorted(found, key=lambda port: port.published))


def short(text: str) -> Short:
    """Read an entry of the short form. Raises ValueError with what is wrong and what to write."""
    text = text.strip()
    before, _, target = text.rpartition(":")
    address, _, published = before.rpartition(":")
    target, _, protocol = target.partition("/")
    protocol = protocol.lower() or "tcp"
    if protocol not in _PROTOCOLS:
        raise ValueError(f"'{protocol[:20]}' is no protocol of a port.", f"Write one of: {', '.join(_PROTOCOLS)}")
    inner, outer = _range(target, text), _range(published, text) if published else None
    found = sorted(_paired(inner, outer, protocol, text), key=lambda port: str(port.target))
    return Short(tuple(found), _address(address, text))


def _paired(inner: range, outer: range | None, protocol: str, text: str) -> Iterator[Port]:
    """Two ranges of one length side by side; one container port for each number of a range; or no published ones."""
    if outer is not None and len(inner) != len(outer) and len(inner) > 1:
        raise ValueError(f"'{text[:60]}' has two ranges of different length.", "Write ranges of one length.")
    for n in range(max(len(inner), len(outer or ()))):
        target, published = inner[n if len(inner) > 1 else 0], outer[n] if outer is not None else 0
        yield Port(target=target, published=published, protocol=protocol)  # type: ignore[arg-type]  # one of them


def _range(text: str, whole: str) -> range:
    found = _RANGE.fullmatch(text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last <= MOST:
        raise ValueError(f"'{whole[:60]}' is not a port, a pair or a range of ports.", _HINT)
    if last - first >= MOST_OF_ONE:
        raise ValueError(f"'{whole[:60]}' are more ports than one entry takes ({MOST_OF_ONE}).", "Shorten the range.")
    return range(first, last + 1)


def _address(text: str, whole: str) -> str:
    bare = text.removeprefix("[").removesuffix("]") if text.startswith("[") else text
    if not bare:
        return ""
    try:
        found = ipaddress.ip_address(bare)
    except ValueError:
        raise ValueError(f"'{whole[:60]}' has an address that is none.", _HINT) from None
    return "" if found.is_unspecified else bare


def _row(service: Fields, path: str, node: Node) -> tuple[Port, ...]:
    if isinstance(node, Mapping):
        row = Fields(node, path, service.report, keys.PORT)
        found = _long(row)
        return (found,) if found is not None else ()
    text = as_text(node)
    if text is None or not isinstance(node, Scalar):
        service.mistyped(node, path, 'a port such as "8080:80"')
        return ()
    try:
        read = short(text)
    except ValueError as error:
        message, hint = error.args
        service.report.wrong(node.place, "bad-port", message, hint, path)
        return ()
    if read.address:
        message = f"the address of '{text[:60]}' is passed over: a stack's port is open at every address of a node."
        service.report.warn(
            node.place, "port-address", message, "Leave it out, and close the port in a firewall.", path
        )
    return read.ports


def _long(row: Fields) -> Port | None:
    protocol, mode = row.text("protocol") or "tcp", row.text("mode") or "ingress"
    target = row.whole("target", 1, MOST)
    published = row.whole("published", 0, MOST)
    if row.node("target") is None:
        row.wrong("target", "bad-port", "the target of the port is missing.", "Write target: 80")
    if protocol not in _PROTOCOLS:
        message = f"'{protocol[:20]}' is no protocol of a port."
        row.wrong("protocol", "bad-port", message, f"Write one of: {', '.join(_PROTOCOLS)}")
    if mode not in ("ingress", "host"):
        row.wrong("mode", "bad-port", f"mode: {mode[:20]} does not exist.", "Write mode: ingress, or mode: host")
    elif target is not None and protocol in _PROTOCOLS:
        return Port(target=target, published=published or 0, protocol=protocol, mode=mode)  # type: ignore[arg-type]
    return None
