"""A set that forgets its oldest members: what was heard of must not grow for as long as a server runs."""

from collections import OrderedDict


class Bounded(OrderedDict[str, None]):
    """At most `limit` members, the newest ones."""

    def __init__(self, limit: int = 10_000) -> None:
        super().__init__()
        self._limit = limit

    def keep(self, key: str) -> None:
        """Take in a member; one that is in already is as new again."""
        self[key] = None
        self.move_to_end(key)
        while len(self) > self._limit:
            self.popitem(last=False)
