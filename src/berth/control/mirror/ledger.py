"""The ledger in memory: which card exists where, which task holds what of it, and what is left; as in the store."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from berth.control.mirror.changed import Changed
from berth.model.card import Card, Room, Share, room_of


class Ledger:
    """`holders[card]` maps task -> share and `grants[task]` maps card -> share: one book from two sides.

    `rooms[card]` is what is left of a card: the whole card less what is held of it.
    """

    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self.cards: dict[str, Card] = {}
        self.rooms: dict[str, Room] = {}
        self.holders: dict[str, dict[str, Share]] = {}
        self.grants: dict[str, dict[str, Share]] = {}
        self._on_node: dict[str, set[str]] = {}

    def load(self, cards: Iterable[tuple[Card, Room]], grants: Iterable[tuple[str, Share]]) -> None:
        """Begin with what the store holds."""
        for card, room in cards:
            self.put_card(card)
            self.rooms[card.uuid] = room
        for task, share in grants:
            self._book(task, share)

    def on_node(self, node: str) -> AbstractSet[str]:
        """The uuids of a node's cards."""
        return self._on_node.get(node, frozenset())

    def held_by(self, task_id: str) -> Mapping[str, Share]:
        """What the task holds, by card; empty when it holds nothing."""
        return self.grants.get(task_id, {})

    def put_card(self, card: Card) -> None:
        """Insert a card, or replace its facts; what is held of it stays."""
        self.cards[card.uuid] = card
        self.holders.setdefault(card.uuid, {})
        self._count(card.uuid)
        self._on_node.setdefault(card.node, set()).add(card.uuid)
        self._changed.mark("cards", "nodes")

    def rename_card(self, old: str, card: Card) -> None:
        """A declared card was found to be `card`: what is held of it follows."""
        self.rooms.pop(old)
        self._on_node[self.cards.pop(old).node].discard(old)
        holders = self.holders.setdefault(card.uuid, {})
        for task, share in self.holders.pop(old).items():
            moved = Share(card.uuid, share.milli, share.mib)
            holders[task] = moved
            self.grants[task].pop(old)
            self.grants[task][card.uuid] = moved
        self.put_card(card)

    def drop_card(self, uuid: str) -> None:
        """Forget a card that nobody holds."""
        card = self.cards.pop(uuid, None)
        self.rooms.pop(uuid, None)
        self.holders.pop(uuid, None)
        if card is not None:
            self._on_node.get(card.node, set()).discard(uuid)
            self._changed.mark_nodes(card.node)
        self._changed.mark("cards", "nodes")

    def take(self, task_id: str, shares: tuple[Share, ...]) -> None:
        """Book shares for a task; of a card whose memory is not known only its thousandths are counted."""
        for share in shares:
            known = self.cards[share.card].memory_mib > 0
            self._book(task_id, share if known else Share(share.card, share.milli, 0))
            self._count(share.card)
        self._changed.mark("cards", "nodes")

    def _book(self, task_id: str, share: Share) -> None:
        self.holders[share.card][task_id] = share
        self.grants.setdefault(task_id, {})[share.card] = share

    def give(self, task_id: str, cards: tuple[str, ...] | None) -> None:
        """Give back all that the task holds, or only the named cards."""
        held = self.grants.get(task_id, {})
        for uuid in list(held) if cards is None else [card for card in cards if card in held]:
            del held[uuid]
            self.holders[uuid].pop(task_id, None)
            self._count(uuid)
        if not held:
            self.grants.pop(task_id, None)
        self._changed.mark("cards", "nodes")

    def _count(self, uuid: str) -> None:
        card = self.cards[uuid]
        self.rooms[uuid] = room_of(card, self.holders[uuid].values())
        self._changed.mark_nodes(card.node)
