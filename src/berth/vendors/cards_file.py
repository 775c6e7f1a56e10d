"""Reads the --cards file again when it changes, for the declared and simulated vendors; a bad edit is reported once."""

from pathlib import Path

from berth.model.cards_file import CardEntry, of_node, parse_cards
from berth.model.errors import BadInput, Problem


class CardsFile:
    """The file's objects, as it last was good; `version` counts its good contents.

    Raises BadInput at the start when it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.faults: tuple[Problem, ...] = ()
        self.version = 1
        self._mark: tuple[int, ...] | None = self._stat()
        self._entries = self._parse()

    def entries(self, node: str) -> dict[int, CardEntry]:
        """The objects of a node by index."""
        mark = self._stat()
        if mark != self._mark:
            self._mark = mark
            try:
                self._entries, self.faults, self.version = self._parse(), (), self.version + 1
            except BadInput as error:
                self.faults = error.problems
        return of_node(self._entries, node)

    def nodes(self) -> tuple[str, ...]:
        """The nodes that the file names."""
        return tuple(sorted({entry.node for entry in self._entries if entry.node}))

    def _stat(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _parse(self) -> tuple[CardEntry, ...]:
        try:
            data = self._path.read_bytes()
        except OSError as error:
            problem = Problem(
                code="cards-file",
                message=f"{self._path} cannot be read: {error.strerror}.",
                hint="Name a readable file that holds a JSON list of card objects.",
                field="--cards",
                file=str(self._path),
            )
            raise BadInput(problem) from error
        return parse_cards(data, str(self._path))
