"""Whose are the processes on the cards: those outside Berth's containers are foreign, whether they asked or not."""

import re
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

import msgspec

from berth.model.card import Use
from berth.model.wire import ForeignUse

_ID = re.compile(r"(?:/|docker-)([0-9a-f]{64})(?:\.scope)?(?:/|$)", re.MULTILINE)


def strangers(
    uses: Iterable[Use],
    others: Mapping[str, ForeignUse],
    alive: Container[str],
    before: Container[int],
    proc: Path = Path("/proc"),
) -> tuple[ForeignUse, ...]:
    """Foreign uses by the processes that compute on cards.

    `others` are the running containers that are not Berth's, by id; `alive` holds all that run. A process of a running
    container that is not (or not yet) known as somebody else's is left alone. One of no container is a program on the
    host. One of a container that the daemon does not know (another runtime's, or one that has just come or gone) is
    told by itself when an earlier look also found it: `before` has those process ids.
    """
    found: dict[str, ForeignUse] = {}
    for use in uses:
        for pid in use.pids:
            container = _container(proc / str(pid))
            if container is None or (container not in others and (container in alive or _new(container, pid, before))):
                continue
            key = container if container in others else f"process {pid}"
            known = found.get(key) or others.get(key) or _process(proc, pid)
            found[key] = msgspec.structs.replace(known, cards=tuple(sorted({*known.cards, use.uuid})))
    return tuple(found.values())


def _new(container: str, pid: int, before: Container[int]) -> bool:
    return container != "" and pid not in before


def merged(asked: Iterable[ForeignUse], running: Iterable[ForeignUse]) -> tuple[ForeignUse, ...]:
    """Both kinds, a container that asked and also runs on cards once, in one fixed order."""
    by_holder = {(use.container, use.process): use for use in asked}
    by_holder |= {(use.container, use.process): use for use in running}
    return tuple(by_holder[key] for key in sorted(by_holder))


def _container(process: Path) -> str | None:
    """The id of the Docker container of a process: "" outside all of them, None when the process is gone."""
    try:
        found = _ID.search((process / "cgroup").read_text())
    except OSError:
        return None
    return found[1] if found else ""


def _process(proc: Path, pid: int) -> ForeignUse:
    try:
        name, uid = (proc / str(pid) / "comm").read_text().strip(), (proc / str(pid)).stat().st_uid
    except OSError:
        return ForeignUse(process=pid)
    return ForeignUse(process=pid, name=name, uid=uid)
