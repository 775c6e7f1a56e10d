"""Published ports at admission: what each service needs of its node, and what the engine would refuse."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from berth.control.context import Control
from berth.core import publish
from berth.model.draft import Draft, LoadedStack
from berth.model.errors import Problem
from berth.model.spec import Port

GLOBAL = ("global", "global-job")


def published(control: Control, loaded: LoadedStack) -> LoadedStack:
    """The stack with the ports that its tasks need in their requests, where Berth places them."""
    return msgspec.structs.replace(loaded, drafts=tuple(_published(control, draft) for draft in loaded.drafts))


async def look_for_ports(control: Control, loaded: LoadedStack) -> None:
    """Look at the engine again where a service needs host ports: somebody may have taken one since the last look."""
    if any(draft.spec.request.ports or draft.spec.request.ingress for draft in loaded.drafts):
        await control.refresh()


def _published(control: Control, draft: Draft) -> Draft:
    if not draft.spec.ports or _left_to_engine(control, draft):
        return draft
    request = publish.request(draft.spec, control.engine.capabilities.ingress)
    return msgspec.structs.replace(draft, spec=msgspec.structs.replace(draft.spec, request=request))


def problems(control: Control, drafts: Sequence[Draft]) -> Iterator[tuple[Draft, Problem]]:
    """What is wrong with the ports of each service, by itself, beside the others, and beside what is there."""
    wide: dict[str, str] = {}
    for draft in (draft for draft in drafts if draft.spec.ports):
        several = draft.replicas > 1 or draft.spec.mode in GLOBAL
        placed = not _left_to_engine(control, draft)
        found = [*publish.problems(draft.spec, several, placed)]
        for word in _ingress(control, draft.spec.ports):
            first = wide.setdefault(word, draft.service)
            if first != draft.service:
                found.append(_taken(word, f"the service {first} of this file", draft))
            elif not placed and (who := _holder(control, draft, word)):
                found.append(_taken(word, who, draft))
        yield from ((draft, problem) for problem in found)


def _left_to_engine(control: Control, draft: Draft) -> bool:
    return draft.native and control.engine.capabilities.native


def _ingress(control: Control, ports: Iterable[Port]) -> tuple[str, ...]:
    if not control.engine.capabilities.ingress:
        return ()
    return tuple(f"{port.published}/{port.protocol}" for port in ports if port.published and port.mode == "ingress")


def _holder(control: Control, draft: Draft, word: str) -> str:
    """Who has a port that a service which Swarm places would publish: Swarm would refuse that service."""
    own = (draft.name, f"service {draft.name}")
    uses = (control.cluster.ports.on(node).get(word) for node in control.cluster.nodes)
    return next((use.who for use in uses if use is not None and use.who not in own), "")


def _taken(word: str, who: str, draft: Draft) -> Problem:
    return Problem(
        code="port-taken",
        message=f"port {word} of {draft.service or draft.name} is taken: {who} has it.",
        hint="Publish another port, or remove the one that has it",
        field="ports",
    )
