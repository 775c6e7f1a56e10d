"""The ledger's SQL: grants and what is left of the cards, always changed by one transaction.

After each function free_milli = 1000 - sum(grants.milli) and free_mib = memory_mib - sum(grants.mib), but not below 0.
A card whose memory is not known (0 MiB) books thousandths only.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    String,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from berth.model.card import WHOLE, Card
from berth.model.change import DoubleGrant, Stale
from berth.store.sql.failures import is_foreign_key
from berth.store.sql.rows import Row, card_row
from berth.store.sql.schema import cards, grants

_booked = (
    select(cast(func.coalesce(func.sum(grants.c.mib), 0), BigInteger))
    .where(grants.c.card_uuid == cards.c.uuid)
    .scalar_subquery()
)
_taken = (
    select(cast(func.coalesce(func.sum(grants.c.milli), 0), Integer))
    .where(grants.c.card_uuid == cards.c.uuid)
    .scalar_subquery()
)
_wanted_mib = case((cards.c.memory_mib == 0, 0), else_=bindparam("take_mib", type_=BigInteger))
_LOWER = (
    update(cards)
    .where(cards.c.uuid == bindparam("card"))
    .values(
        free_milli=cards.c.free_milli - bindparam("take_milli", type_=Integer),
        free_mib=cards.c.free_mib - _wanted_mib,
    )
)
_BOOK = insert(grants).from_select(
    ["task_id", "card_uuid", "milli", "mib"],
    select(bindparam("task", type_=String), cards.c.uuid, bindparam("take_milli", type_=Integer), _wanted_mib).where(
        cards.c.uuid == bindparam("card")
    ),
)
_UNBOOK = delete(grants).where(grants.c.task_id == bindparam("task"), grants.c.card_uuid == bindparam("card"))
_left = case((cards.c.memory_mib > _booked, cards.c.memory_mib - _booked), else_=0)
_RAISE = (
    update(cards)
    .where(cards.c.uuid == bindparam("card"))
    .values(free_milli=cards.c.free_milli + bindparam("give_milli", type_=Integer), free_mib=_left)
)
_new_memory = bindparam("new_memory", type_=BigInteger)
_PUT = (
    update(cards)
    .where(cards.c.uuid == bindparam("card"))
    .values(
        node=bindparam("new_node"),
        memory_mib=_new_memory,
        data=bindparam("new_data"),
        free_mib=case((_new_memory > _booked, _new_memory - _booked), else_=0),
    )
)
_RECOUNT = update(cards).where(cards.c.uuid == bindparam("card")).values(free_milli=WHOLE - _taken, free_mib=_left)
_CHUNK = 1000


def take(conn: Connection, wanted: Sequence[Row]) -> None:
    """Book rows of `task`, `card`, `take_milli`, `take_mib`. Raises DoubleGrant when a card has not that much left,
    is not there, or is held by the task already; Stale when the task is not there.
    """
    named = ", ".join(dict.fromkeys(row["card"] for row in wanted[:8]))
    try:
        found = conn.execute(_LOWER, wanted).rowcount
    except IntegrityError as error:
        raise DoubleGrant(f"not that much is left of the card, or of one of them: {named}") from error
    if found != len(wanted):
        raise DoubleGrant(f"the card is not there, or one of them: {named}")
    try:
        conn.execute(_BOOK, wanted)
    except IntegrityError as error:
        if is_foreign_key(error):
            raise Stale(f"the task that wants {named} is not there") from error
        raise DoubleGrant(f"the task holds the card already, or one of them: {named}") from error


def give(conn: Connection, wanted: Mapping[str, set[str] | None]) -> None:
    """Give back what the tasks hold: all of it (None) or the named cards. What is not held is not given."""
    tasks = list(wanted)
    held: list[Row] = []
    for start in range(0, len(tasks), _CHUNK):
        query = select(grants.c.task_id, grants.c.card_uuid, grants.c.milli)
        for task, card, milli in conn.execute(query.where(grants.c.task_id.in_(tasks[start : start + _CHUNK]))):
            only = wanted[task]
            if only is None or card in only:
                held.append({"task": task, "card": card, "give_milli": milli})
    if held:
        conn.execute(_UNBOOK, held)
        conn.execute(_RAISE, held)


def put_cards(conn: Connection, found: Iterable[Card]) -> None:
    """Insert cards with their whole room, or replace their facts; what is booked on them stays."""
    rows = {card.uuid: card_row(card) for card in found}
    known: set[str] = set()
    uuids = list(rows)
    for start in range(0, len(uuids), _CHUNK):
        query = select(cards.c.uuid).where(cards.c.uuid.in_(uuids[start : start + _CHUNK]))
        known.update(conn.execute(query).scalars())
    new = [
        {**row, "free_milli": WHOLE, "free_mib": row["memory_mib"]} for row in rows.values() if row["uuid"] not in known
    ]
    old = [
        {"card": row["uuid"], "new_node": row["node"], "new_memory": row["memory_mib"], "new_data": row["data"]}
        for row in rows.values()
        if row["uuid"] in known
    ]
    if new:
        conn.execute(insert(cards), new)
    if old:
        conn.execute(_PUT, old)


def rename_card(conn: Connection, old: str, card: Card) -> None:
    """What is booked on `old` follows to `card`, and `old` goes. Raises Stale when `old` is not there, DoubleGrant
    when `card` was there already and has not that much left.
    """
    if conn.execute(select(cards.c.uuid).where(cards.c.uuid == old)).scalar() is None:
        raise Stale(f"card {old} is not there")
    put_cards(conn, (card,))
    if old == card.uuid:
        return
    try:
        conn.execute(update(grants).where(grants.c.card_uuid == old).values(card_uuid=card.uuid))
        conn.execute(delete(cards).where(cards.c.uuid == old))
        conn.execute(_RECOUNT, [{"card": card.uuid}])
    except IntegrityError as error:
        raise DoubleGrant(f"card {card.uuid} has not that much left for what is booked on {old}") from error


def drop_card(conn: Connection, uuid: str) -> None:
    """Remove the card. Raises Stale when something is booked on it; one that is not there is not an error."""
    try:
        conn.execute(delete(cards).where(cards.c.uuid == uuid))
    except IntegrityError as error:
        raise Stale(f"card {uuid} is held") from error
