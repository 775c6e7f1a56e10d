"""What has changed in the mirror since somebody last asked: counts by kind for kept answers, nodes for kept views."""


class Changed:
    """`counts` goes up with each change, by kind; whoever keeps an answer keeps the counts that it was made from."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {"cards": 0, "nodes": 0, "jobs": 0, "events": 0, "tokens": 0}
        self._nodes: set[str] = set()

    def mark(self, *kinds: str) -> None:
        """Something of these kinds is different."""
        for kind in kinds:
            self.counts[kind] += 1

    def mark_nodes(self, *names: str) -> None:
        """What a decision may see of these nodes is different."""
        self._nodes.update(names)

    def take_nodes(self) -> set[str]:
        """The nodes that were marked since this was last asked."""
        taken, self._nodes = self._nodes, set()
        return taken
