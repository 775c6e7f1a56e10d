"""Label: write the `gpu.*` labels that the ledger dictates, by compare-and-swap, and never where it would kill work."""

import msgspec

from berth.control.context import Control
from berth.control.turns import change_node
from berth.core.labels import OUTPUT, LabelWrite, label_write, leaving, wanted_labels, would_kill
from berth.model.change import Note
from berth.model.errors import BerthError, StaleVersion
from berth.model.node import Node
from berth.model.seen import Other
from berth.model.snapshot import NodeView


class Labeller:
    """Keeps each node's labels true; an edit by hand is put back and reported."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self._sent: dict[str, dict[str, str]] = {}
        self._right: dict[str, NodeView] = {}

    async def run(self) -> None:
        """One pass over the nodes; the guard looks at what runs now, not at an earlier look."""
        if not self.control.engine.capabilities.node_labels:
            return
        due = [(view.node, write) for view in self.control.views.nodes() if (write := self._changed(view))]
        if not due:
            return
        look = await self.control.engine.observe()
        versions = {seen.engine_id: seen.version for seen in look.nodes}
        for node, write in due:
            if versions.get(node.engine_id) == node.engine_version:
                await self._guarded(node, write, look.others)
            elif node.engine_id in versions:
                self.control.wake("observe")

    def _changed(self, view: NodeView) -> LabelWrite | None:
        """What is due; a node whose labels were right is asked again only when something of it has changed."""
        if self._right.get(view.node.name) is view:
            return None
        write = self._due(view)
        if write is None:
            self._right[view.node.name] = view
        return write

    def _due(self, view: NodeView) -> LabelWrite | None:
        node = view.node
        if node.gone or not node.engine_id:
            return None
        if not view.cards:
            return leaving(node) if node.written else None
        return label_write(node, wanted_labels(view), self._sent.get(node.name, {}))

    async def _guarded(self, node: Node, write: LabelWrite, others: tuple[Other, ...]) -> None:
        victims = () if node.labels_permitted else would_kill(node, write, others)
        if victims:
            await self._withhold(node, victims)
            return
        self._sent.setdefault(node.name, {}).update(write.put)
        try:
            version = await self.control.engine.write_labels(node, write.put, write.drop)
        except StaleVersion:
            self.control.wake("observe")
            return
        except BerthError as error:
            self.control.trouble(str(error))
            return
        await self._written(node, write, version)

    async def _withhold(self, node: Node, victims: tuple[str, ...]) -> None:
        current = self.control.cluster.nodes.get(node.name)
        if current is None or current.withheld == victims:
            return
        text = (
            f"labels of {node.name} are not written, it would kill work: {'; '.join(victims)}. "
            f"Type 'berth labels adopt {node.name}' to write them all the same"
        )
        note = self.control.note("labels-withheld", text, node=node.name)
        await change_node(self.control, node.name, lambda now: msgspec.structs.replace(now, withheld=victims), (note,))

    async def _written(self, node: Node, write: LabelWrite, version: int) -> None:
        """Remember the write on the node as it is now: others may have changed its record meanwhile."""
        await change_node(
            self.control, node.name, lambda now: _after_write(now, node, write, version), self._repairs(node, write)
        )

    def _repairs(self, node: Node, write: LabelWrite) -> tuple[Note, ...]:
        texts = (
            f"{key} of {node.name} was set by hand from {node.written[key]} to {node.labels.get(key, 'nothing')}; "
            f"put back to {write.put[key]}"
            for key in write.repairs
        )
        return tuple(self.control.note("label-repaired", text, node=node.name) for text in texts)


def _by_hand(node: Node) -> dict[str, str]:
    """What a person had written under the keys that Berth takes over."""
    return {key: value for key, value in node.labels.items() if key in OUTPUT}


def _after_write(now: Node, written: Node, write: LabelWrite, version: int) -> Node:
    """The node's record after the write; what a newer look has shown of its labels meanwhile stays."""
    ours = {key: value for key, value in {**now.written, **write.put}.items() if key not in write.drop}
    before = now.before or ({} if now.written else _by_hand(written))
    known = msgspec.structs.replace(now, written=ours, before=before, withheld=(), labels_permitted=False)
    if version <= now.engine_version:
        return known
    labels = {key: value for key, value in {**written.labels, **write.put}.items() if key not in write.drop}
    return msgspec.structs.replace(known, labels=labels, engine_version=version)
