"""One look at the engine with what is needed to judge it: what diff, expire and closing see beside the tasks."""

from collections.abc import Container, Mapping

import msgspec

from berth.model import marks
from berth.model.capabilities import Capabilities
from berth.model.node import Node
from berth.model.seen import Life, Observed, SlotObject


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """`settled[key]`: monotonic seconds of the last engine call for a task, a native job or a stack (infinity while
    one is under way); an absence in a look that began earlier proves nothing. `killed` are containers that an
    agent saw a person signal, `oom` those that it saw the kernel end for want of memory. `stacks` exist; `superseded`
    are ended jobs whose service has a later job.
    """

    observed: Observed
    capabilities: Capabilities
    nodes: Mapping[str, Node]
    settled: Mapping[str, float]
    cluster: str
    now: float
    stacks: frozenset[str] = frozenset()
    superseded: frozenset[str] = frozenset()
    killed: Container[str] = frozenset()
    oom: Container[str] = frozenset()

    def vouched_off(self, node: str) -> bool:
        """True when a person vouches that nothing runs on this node any more."""
        known = self.nodes.get(node)
        return known is not None and bool(known.fence)

    def proves(self, key: str) -> bool:
        """True when what the look does not show of a task (or job) is not there: no call for it came after."""
        return self.observed.began > self.settled.get(key, 0.0)

    def objects(self) -> dict[str, SlotObject]:
        """This cluster's objects by task."""
        return {seen.task: seen for seen in self.observed.objects if not seen.native and self._ours(seen.labels)}

    def lives(self) -> dict[str, list[Life]]:
        """This cluster's lives by task."""
        found: dict[str, list[Life]] = {}
        for life in self.observed.lives:
            if not life.native and self._ours(life.labels):
                found.setdefault(life.task, []).append(life)
        return found

    def _ours(self, labels: Mapping[str, str]) -> bool:
        return labels.get(marks.CLUSTER) == self.cluster
