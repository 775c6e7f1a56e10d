"""Looks at one running container for `watch`: what Berth's own see, and whether somebody else's was given cards."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from berth.agent.aside import Aside
from berth.agent.inspected import Inspected, read_container, read_image_variable, resolve
from berth.agent.sight import Blind, Sight, look
from berth.agent.verdict import judge
from berth.dockerapi.client import Docker, segment
from berth.model.card import Card
from berth.model.errors import Problem
from berth.model.wire import ForeignUse, Saw

LOOK_S = 5.0


class KnownCards(NamedTuple):
    """The node's cards; `strict`: a driver found them, so that every granted one must show."""

    cards: tuple[Card, ...] = ()
    strict: bool = False


class Other(msgspec.Struct, frozen=True):
    """A running container that is not Berth's. `asked`: its caller asked for cards (in `use`, where they are known)."""

    use: ForeignUse
    asked: bool


class Looker:
    """`cards` gives what the inventory knows at the moment. `blind` is set once a look was forbidden."""

    def __init__(self, docker: Docker, cards: Callable[[], KnownCards]) -> None:
        self.blind: Problem | None = None
        self._docker, self._cards = docker, cards

    async def see(self, container: str) -> Saw | Other | None:
        """What there is to say of a container; None: nothing. Raises BerthError or msgspec.MsgspecError."""
        found = read_container(await self._docker.read(f"/containers/{segment(container)}/json"))
        if found.task:
            return await self._own(found)
        return await self._other(found) if found.running and not found.ours else None

    async def _own(self, found: Inspected) -> Saw:
        saw = Saw(task=found.task, attempt=found.attempt, container=found.id)
        try:
            verdict = judge(await self._sight(found), found, *self._cards())
        except Blind as why:
            self.blind = _problem(why) if why.forbidden else self.blind
            return msgspec.structs.replace(saw, looked=False, note=str(why))
        return msgspec.structs.replace(saw, cards=verdict.cards, problem=verdict.problem)

    async def _sight(self, found: Inspected) -> Sight:
        """Look in a thread: what lies behind a container's /dev may not answer. Raises Blind."""
        if not found.running:
            raise Blind("the container had ended before it could be looked at")
        try:
            return await Aside().run(partial(look, found.pid, found.id), LOOK_S)
        except TimeoutError:
            raise Blind(f"its /dev did not answer within {LOOK_S:g} s") from None

    async def _other(self, found: Inspected) -> Other:
        asked = found.asked_cards(await self._inherited(found))
        use = ForeignUse(
            container=found.id,
            name=found.name,
            image=found.image_name,
            uid=_uid(found.pid),
            cards=resolve(asked, self._cards().cards),
        )
        return Other(use, bool(asked))

    async def _inherited(self, found: Inspected) -> str | None:
        if found.visible is None:
            return None
        return read_image_variable(await self._docker.read(f"/images/{segment(found.image)}/json"))


def _problem(why: Blind) -> Problem:
    hint = "Run it as root on the host, or its container with --pid=host."
    return Problem(code="agent-blind", message=f"The agent cannot check what containers see: {why}.", hint=hint)


def _uid(pid: int) -> int | None:
    try:
        return os.stat(Path("/proc") / str(pid)).st_uid
    except OSError:
        return None
