"""What the daemon puts around a service's processes: capabilities, sysctls, ulimits, DNS, hosts, logging, and more."""

import ipaddress
import re
from collections.abc import Iterator, Mapping

from berth.compose import keys
from berth.compose.fields import Fields
from berth.compose.report import Report
from berth.compose.text import Place
from berth.compose.tree import Mapping as Table
from berth.model.spec import Credential, Logging, Surroundings, Ulimit

ALL = "ALL"
_CAPABILITY = re.compile(r"[A-Z_]+")
_OPENS_CARDS = ("ALL", "CAP_MKNOD", "CAP_SYS_ADMIN", "CAP_SYS_MODULE", "CAP_SYS_RAWIO")
"""With one of these a process makes device nodes, or changes what its own device rules allow."""
_IPC = ("none", "private", "shareable", "host")
_MOST = 2**63 - 1


def surroundings(service: Fields, configs: Mapping[str, str]) -> Surroundings:
    """All of them; `configs` are the file's configs by key, with their names in the engine's store."""
    add, drop = _effective(_capabilities(service, "cap_add"), _capabilities(service, "cap_drop"))
    return Surroundings(
        cap_add=add,
        cap_drop=drop,
        sysctls=service.texts("sysctls"),
        ulimits=tuple(_ulimits(service)),
        dns=_words(service, "dns"),
        dns_search=_words(service, "dns_search"),
        dns_options=_words(service, "dns_opt"),
        hosts=tuple(hosts(service)),
        logging=_logging(service),
        credential=_credential(service, configs),
        isolation=service.text("isolation"),
        oom_score_adj=service.whole("oom_score_adj", -1000, 1000) or 0,
        tmpfs=_words(service, "tmpfs"),
        ipc=service.text("ipc"),
    )


def with_cards(service: Fields, found: Surroundings) -> None:
    """Note capabilities that would open cards past the ledger, in a service with cards."""
    for name in found.cap_add:
        if name in _OPENS_CARDS:
            message = f"cap_add: {name.removeprefix('CAP_')} opens every card of the node, not only the granted ones."
            place, field = service.at("cap_add"), service.field("cap_add")
            service.report.refuse(place, "privileged-with-cards", message, "Remove it from cap_add.", field)


def only_on_a_host(service: Fields, found: Surroundings, host: bool, report: Report) -> Surroundings:
    """Without what a Swarm's services cannot have, with a warning; on a single Docker host all of it is kept."""
    if host:
        if found.ipc and found.ipc not in _IPC:
            message = f"ipc: {found.ipc[:40]} is not carried."
            service.wrong("ipc", "bad-value", message, f"Write one of: {', '.join(_IPC)}")
        return found
    hints = {
        "oom_score_adj": "Leave it out.",
        "tmpfs": "Write it under volumes: {type: tmpfs, target: /path}",
        "ipc": "Write shm_size for more shared memory: services with cards get it on a Swarm, too.",
    }
    for key, hint in hints.items():
        if service.node(key) is not None:
            message = f"{key}: a Swarm's services cannot have it; docker stack deploy ignores it, too."
            report.warn(service.at(key), "key-ignored", message, hint, service.field(key))
    return Surroundings(**{name: getattr(found, name) for name in found.__struct_fields__ if name not in hints})


def _words(service: Fields, key: str) -> tuple[str, ...]:
    return tuple(text for text, _ in service.strings(key, one=True))


def _capabilities(service: Fields, key: str) -> set[str]:
    """Capabilities as Docker spells them: CAP_NET_ADMIN, and ALL alone."""
    found = set()
    for text, place in service.strings(key):
        name = text.strip().upper()
        if not _CAPABILITY.fullmatch(name):
            message = f"'{text[:40]}' is not a capability."
            service.report.wrong(place, "bad-value", message, f"Write {key}: [NET_ADMIN]", service.field(key))
        found.add(name if name == ALL or name.startswith("CAP_") else f"CAP_{name}")
    return {ALL} if ALL in found else found


def _effective(add: set[str], drop: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is added is not dropped; both sorted, as the docker CLI sends them."""
    return tuple(sorted(add)), tuple(sorted(drop - add))


def _ulimits(service: Fields) -> Iterator[Ulimit]:
    """Each limit by name: a number for both, or soft and hard."""
    node = service.node("ulimits")
    table = service.table("ulimits")
    names = sorted(node.entries) if isinstance(node, Table) else []
    for name in names:
        if not re.fullmatch("[a-z]+", name):
            table.name_wrong(name, "bad-value", f"'{name[:40]}' is not a ulimit.", "Write nofile, nproc, memlock, ...")
        elif isinstance(table.node(name), Table):
            yield _pair(name, table.table(name, keys.ULIMIT))
        else:
            both = table.whole(name, -1, _MOST)
            if table.node(name) is None:
                table.name_wrong(name, "bad-value", f"{name} has no number.", f"Write {name}: 65535")
            yield Ulimit(name, both or 0, both or 0)


def _pair(name: str, row: Fields) -> Ulimit:
    for key in ("soft", "hard"):
        if row.node(key) is None:
            row.wrong(key, "bad-value", f"{key} is missing.", f"Write {name}: {{soft: 1024, hard: 65535}}")
    return Ulimit(name, row.whole("soft", -1, _MOST) or 0, row.whole("hard", -1, _MOST) or 0)


def hosts(service: Fields) -> Iterator[tuple[str, str]]:
    """(name, address) lines: a list in its order, a mapping sorted. Both = and : stand between name and address."""
    for name, address, place in _host_lines(service):
        bare = address.strip()
        bare = bare[1:-1] if len(bare) > 2 and bare[0] == "[" and bare[-1] == "]" else bare
        if not name or not _is_address(bare):
            message = f"'{name[:40]}: {address[:40]}' is not a host with its address."
            hint = 'Write extra_hosts: ["name:10.0.0.1"]'
            service.report.wrong(place, "bad-value", message, hint, service.field("extra_hosts"))
        else:
            yield name, bare


def _host_lines(service: Fields) -> list[tuple[str, str, Place]]:
    node = service.node("extra_hosts")
    if isinstance(node, Table):
        table = service.table("extra_hosts")
        return sorted(
            ((name, table.text(name), entry.key) for name, entry in node.entries.items()),
            key=lambda line: f"{line[0]}:{line[1]}",
        )
    lines = []
    for text, place in service.strings("extra_hosts"):
        name, _, address = text.partition("=" if "=" in text else ":")
        lines.append((name, address, place))
    return lines


def _is_address(text: str) -> bool:
    if text == "host-gateway":
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _logging(service: Fields) -> Logging | None:
    if service.node("logging") is None:
        return None
    table = service.table("logging", keys.LOGGING)
    return Logging(table.text("driver"), table.texts("options"))


def _credential(service: Fields, configs: Mapping[str, str]) -> Credential | None:
    table = service.table("credential_spec", keys.CREDENTIAL)
    given = {name: table.text(name) for name in ("config", "file", "registry") if table.text(name)}
    if len(given) > 1:
        message = f"{' and '.join(given)} contradict each other."
        table.wrong(list(given)[1], "bad-value", message, "Keep one of them.")
    config = given.get("config")
    if config is not None and config not in configs:
        message = f"the config {config[:80]} is not among the file's configs."
        table.wrong("config", "undefined-config", message, f"Add at the end: configs: {{{config}: {{external: true}}}}")
    if not given:
        return None
    return Credential(**{**given, **({"config": configs.get(config, config)} if config else {})})
