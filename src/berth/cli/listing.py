"""Lists: one table or one JSON array, and with `--watch` again whenever something has changed."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from berth.cli.screen import Screen
from berth.cli.table import Column
from berth.cli.verb import Session
from berth.client.errors import ClientError

EVERY_S = 1.0
Item = dict[str, Any]


class Listing(NamedTuple):
    """How a list is shown: its columns, the cells of one item, and the sentence for an empty one."""

    columns: tuple[Column, ...]
    row: Callable[[Item], Sequence[str]]
    empty: str

    def show(self, screen: Screen, items: Sequence[Item]) -> None:
        """The whole list once."""
        if screen.as_json:
            screen.value(items)
        else:
            screen.table(self.columns, (self.row(item) for item in items), self.empty)


def show_list(session: Session, listing: Listing, fetch: Callable[[], list[Item]]) -> int:
    """Show what `fetch` answers, once or for as long as `--watch` goes on."""
    if not getattr(session.args, "watch", False):
        listing.show(session.screen, fetch())
        return 0
    looks = looking(session.screen, fetch)
    if session.screen.as_json:
        _watch_json(session.screen, looks)
    else:
        _watch_table(session.screen, listing, looks)
    return 0


def looking(screen: Screen, fetch: Callable[[], list[Item]]) -> Iterator[list[Item]]:
    """The list again and again, over a server that is away for a moment."""
    from berth.client.streams import Patience

    retry = Patience(lambda text: screen.note(f"berth: {text}"))
    while True:
        try:
            items = fetch()
        except ClientError as error:
            retry.wait(error)
            continue
        retry.calm()
        yield items
        time.sleep(EVERY_S)


def _watch_json(screen: Screen, looks: Iterator[list[Item]]) -> None:
    """One object per line: all at first, later each one that is new or has changed."""
    before: list[Item] = []
    for items in looks:
        for item in items:
            if item not in before:
                screen.value(item)
        before = items


def _watch_table(screen: Screen, listing: Listing, looks: Iterator[list[Item]]) -> None:
    """The table again: on a terminal in place (its ages grow), elsewhere only after a change."""
    before: list[Item] | None = None
    for items in looks:
        if screen.terminal or items != before:
            if screen.terminal or before is not None:
                screen.clear()
            listing.show(screen, items)
        before = items
