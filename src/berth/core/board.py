"""What is left of every node while one pass places tasks; made from a snapshot, changed only by `book`."""

from collections.abc import Iterable

from berth.core.fit import Left, claims, could_ever, own_mask
from berth.core.hostports import HostPorts
from berth.core.shape import Shape
from berth.core.stand import Memo, Stand
from berth.model.snapshot import Candidate, Snapshot


class Board:
    """The nodes of one pass by number (their order in the snapshot). `log` lists the nodes that `book` changed,
    `ports` knows the host ports.
    """

    def __init__(self, snapshot: Snapshot, memo: Memo) -> None:
        self.memo = memo
        self.views = snapshot.nodes
        self.stands = memo.stands(snapshot.nodes)
        self._free = [memo.free(view) for view in snapshot.nodes]
        self._cpu = [view.cpu_nano for view in snapshot.nodes]
        self._memory = [view.memory_bytes for view in snapshot.nodes]
        self.ports = HostPorts(snapshot.nodes)
        self.tasks = [view.tasks for view in snapshot.nodes]
        self.log: list[int] = []
        self._number = {stand.node.name: at for at, stand in enumerate(self.stands)}

    def number(self, node: str) -> int | None:
        """The number of a node, or None when it is not known."""
        return self._number.get(node)

    def mask(self, at: int, shape: Shape) -> int:
        """The cards of a node that match a shape."""
        return self.memo.mask(self.stands[at], shape)

    def left(self, at: int, shape: Shape, candidate: Candidate | None = None) -> Left:
        """What is left of a node for a shape, beside what the candidate holds there itself."""
        own = own_mask(candidate, self.stands[at]) if candidate is not None and candidate.owns else 0
        ports = self.ports.blocking(at, shape, candidate) if shape.publishes else ()
        return Left(self._free[at], own, self._cpu[at], self._memory[at], ports)

    def load(self, at: int) -> int:
        """Used thousandths of CPU or memory, whichever is more; 0 where the capacity is not known."""
        node = self.stands[at].node
        return max(_used(node.cpu_nano, self._cpu[at]), _used(node.memory_bytes, self._memory[at]))

    def book(self, at: int, shape: Shape, mask: int, candidate: Candidate) -> None:
        """Take cards, CPU, memory and ports of a node."""
        self._free[at] &= ~mask
        cpu, memory = self._cpu[at], self._memory[at]
        self._cpu[at] = None if cpu is None else cpu - shape.cpu_nano
        self._memory[at] = None if memory is None else memory - shape.memory_bytes
        self.tasks[at] += 1
        self.log.append(at)
        if shape.publishes:
            self.ports.give(at, shape, candidate)

    def reach(self, shape: Shape) -> tuple[int, int]:
        """Two big masks of cards that are well, on nodes that are well: all that the shape could ever get, and of
        those the ones that it keeps others off while it waits.
        """
        found = [self._reach(at, stand, shape) for at, stand in enumerate(self.stands)]
        return _joined(mask for mask, _ in found), _joined(mask for _, mask in found)

    def claim(self, shape: Shape, candidate: Candidate) -> int:
        """The cards that a shape with ports keeps others off while it waits: not those of nodes where somebody has its
        port, since waiting for cards there would not help it.
        """
        found = [(at, stand, self._reach(at, stand, shape)[1]) for at, stand in enumerate(self.stands)]
        return _joined(
            bytes(stand.bytes) if any(claim) and self.ports.blocking(at, shape, candidate) else claim
            for at, stand, claim in found
        )

    def _reach(self, at: int, stand: Stand, shape: Shape) -> tuple[bytes, bytes]:
        """What one node adds to both; it depends on facts alone, so the stand keeps it."""
        found = stand.reached.get(shape.key)
        if found is None:
            mask = self.mask(at, shape)
            well = mask & stand.usable if mask > 0 and could_ever(shape, stand, mask) else 0
            could = well.to_bytes(stand.bytes, "little")
            found = could, could if claims(shape, stand) else bytes(stand.bytes)
            stand.keep(shape, found)
        return found


def _joined(parts: Iterable[bytes]) -> int:
    return int.from_bytes(b"".join(parts), "little")


def _used(capacity: int, left: int | None) -> int:
    return 1000 - max(0, left) * 1000 // capacity if capacity and left is not None else 0
