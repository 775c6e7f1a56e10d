"""What becomes of a service that the docker CLI made when Berth takes it over: which slot gets whose node and cards.

Pure, for `control/commands/takeover`; the steps that follow from it are `handover`'s.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from berth.core.fit import needed
from berth.core.foreign import names_card
from berth.core.shape import Shape, shape_of
from berth.core.stand import Memo, Stand
from berth.core.topology import positions
from berth.model.card import WHOLE, Card
from berth.model.errors import Problem
from berth.model.seen import Other
from berth.model.snapshot import NodeView
from berth.model.spec import Request


class Taken(msgspec.Struct, frozen=True):
    """One running task of the old service as a slot: it keeps these cards of this node until it has ended."""

    slot: int
    task: str
    node: str
    cards: tuple[str, ...]


class Wish(msgspec.Struct, frozen=True):
    """A service of the file beside the service of the engine that it takes over."""

    name: str
    request: Request
    replicas: int
    service: Other


class Assigned(msgspec.Struct, frozen=True):
    """By service name what each slot gets, and why some of them cannot be taken over."""

    slots: Mapping[str, tuple[Taken, ...]]
    problems: tuple[Problem, ...] = ()


def assign(wishes: Sequence[Wish], views: Sequence[NodeView], others: Iterable[Other]) -> Assigned:
    """Give each running task of these services the cards that it uses, as far as they can be told.

    Services that name their cards come first. A service that was placed by labels alone gets cards of its node that
    match its request and that nobody else holds or names: first those that were counted as in use when the node was
    adopted, then any. No card is given twice; what cannot be told is a problem, and nothing is taken over.
    """
    table = _Table(views, tuple(others))
    slots: dict[str, tuple[Taken, ...]] = {}
    for wish in sorted(wishes, key=lambda wish: not wish.service.cards):
        slots[wish.name] = table.serve(wish)
    return Assigned(slots, tuple(table.problems))


class _Table:
    """The nodes with what is left of their cards while one take-over is thought out."""

    def __init__(self, views: Sequence[NodeView], others: tuple[Other, ...]) -> None:
        self._memo = Memo()
        self._stands = {stand.node.engine_id: stand for stand in self._memo.stands(tuple(views))}
        self._others = others
        self._given: set[str] = set()
        self.problems: list[Problem] = []

    def serve(self, wish: Wish) -> tuple[Taken, ...]:
        """The slots of one service, in the order of the old tasks' numbers."""
        pairs = list(zip(wish.service.tasks, wish.service.nodes, strict=True))[: wish.replicas]
        found = [self._slot(wish, slot, task, node) for slot, (task, node) in enumerate(pairs, 1)]
        return tuple(taken for taken in found if taken is not None)

    def _slot(self, wish: Wish, slot: int, task: str, node: str) -> Taken | None:
        stand, shape = self._stands.get(node), shape_of(wish.request)
        if stand is None:
            self._wrong(wish, node, "Berth does not know that node yet")
            return None
        if not shape.wants_cards:
            return Taken(slot, task, stand.node.name, ())
        mask = max(0, self._memo.mask(stand, shape))
        cards = self._cards(wish, stand, shape, mask)
        if cards is None:
            return None
        self._given |= set(cards)
        return Taken(slot, task, stand.node.name, cards)

    def _cards(self, wish: Wish, stand: Stand, shape: Shape, mask: int) -> tuple[str, ...] | None:
        need, node = needed(shape, mask), stand.node.name
        matching = [stand.view.cards[at] for at in positions(mask)]
        if len(matching) < need:
            cards = f"{need} matching card{'s' * (need > 1)}"
            self._wrong(wish, node, f"the file asks for {cards}, and {node} has {len(matching)}")
            return None
        mine = [seen for seen in matching if not wish.service.cards or names_card(wish.service, seen.card)]
        if len(mine) < need:
            used = ", ".join(wish.service.cards)
            self._wrong(wish, node, f"it uses the cards named {used}, which is not what the file asks for")
            return None
        whole = [seen.card for seen in mine if seen.room.milli == WHOLE]
        left = [card.uuid for card in whole if not self._elses(wish, card, stand)]
        left.sort(key=lambda uuid: stand.node.taken.get(uuid) != wish.service.id)
        left.sort(key=lambda uuid: uuid not in stand.node.taken)
        if len(left) < need:
            self._wrong(wish, node, "another task has its cards, and Berth gives a card to one task alone")
            return None
        return tuple(left[:need])

    def _elses(self, wish: Wish, card: Card, stand: Stand) -> bool:
        """True when the card was given in this take-over, or another service on the node names it."""
        here = (other for other in self._others if other.id != wish.service.id and stand.node.engine_id in other.nodes)
        return card.uuid in self._given or any(other.cards and names_card(other, card) for other in here)

    def _wrong(self, wish: Wish, node: str, why: str) -> None:
        name = wish.service.name
        self.problems.append(
            Problem(
                code="take-over-cards",
                message=f"{name} cannot be taken over as it runs on {node}: {why}.",
                hint=(
                    "Take it over with the file that it was deployed from, and change that later; or end the task "
                    f"that is in the way, for example: docker service scale {name}=1"
                ),
                field=f"services.{wish.name.partition('_')[2]}",
            )
        )
