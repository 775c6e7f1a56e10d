"""Tables in memory that can be undone: each change notes what was there before, newest last."""

from typing import Any, Final

_ABSENT: Final = object()


class Journal:
    """Changes dictionaries and remembers how to go back."""

    def __init__(self) -> None:
        self._before: list[tuple[dict[Any, Any], Any, Any]] = []

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry."""
        self._before.append((table, key, table.get(key, _ABSENT)))
        table[key] = value

    def drop(self, table: dict[Any, Any], key: Any) -> None:
        """Remove an entry; one that is not there is not an error."""
        if key in table:
            self._before.append((table, key, table.pop(key)))

    def undo(self) -> None:
        """Bring everything back to where it was when this journal began."""
        while self._before:
            table, key, value = self._before.pop()
            if value is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = value
