"""What published ports mean where they are published: host ports of a node, or an ingress port of the whole engine.

control asks at admission, so that the decision sees ports as any other resource of a node.
"""

from collections.abc import Iterator

import msgspec

from berth.model.errors import Problem
from berth.model.spec import Port, Request, TaskSpec


def request(spec: TaskSpec, ingress: bool) -> Request:
    """The request of a task that Berth places, with the ports that it needs.

    `ingress`: the engine has ports of its own; elsewhere every published port is the host's. A port whose number the
    engine chooses is no resource: it takes a free one.
    """
    fixed = [port for port in spec.ports if port.published]
    wide = {_word(port) for port in fixed if ingress and port.mode == "ingress"}
    here = {_word(port) for port in fixed} - wide
    return msgspec.structs.replace(spec.request, ports=tuple(sorted(here)), ingress=tuple(sorted(wide)))


def problems(spec: TaskSpec, several: bool, placed: bool) -> Iterator[Problem]:
    """What is wrong with the ports of a service. `several`: it has, or may get, more than one slot; `placed`: Berth
    places it, slot by slot.
    """
    spread = [port for port in spec.ports if port.mode == "ingress"]
    if spread and spec.endpoint_mode == "dnsrr":
        yield Problem(
            code="port-ingress-dnsrr",
            message=f"{_named(spread[0])} is an ingress port, and endpoint_mode: dnsrr has none.",
            hint=f"{_remedy(spread[0])}; or remove endpoint_mode",
            field="ports",
        )
    elif spread and several and placed:
        yield several_slots(spread[0])
    seen: set[str] = set()
    for port in (port for port in spec.ports if port.published):
        if _word(port) in seen:
            message = f"port {_word(port)} is published twice by one service."
            yield Problem(code="port-twice", message=message, hint="Remove one of the two", field="ports")
        seen.add(_word(port))


def several_slots(port: Port) -> Problem:
    """An ingress port belongs to one service, and each slot is one of its own."""
    return Problem(
        code="port-ingress-slots",
        message=f"{_named(port)} can belong to one task only: Berth places each task of this service by itself, "
        "and an ingress port is one service's.",
        hint=f"{_remedy(port)}; or write replicas: 1",
        field="ports",
    )


def _named(port: Port) -> str:
    return f"port {port.published}" if port.published else f"the port published for {port.target}"


def _remedy(port: Port) -> str:
    return f"Write ports: [{{target: {port.target}, published: {port.published or port.target}, mode: host}}]"


def _word(port: Port) -> str:
    return f"{port.published}/{port.protocol}"
