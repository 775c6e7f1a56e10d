"""Gathers what the pure twins see: one look, and what this server knows beside it."""

from berth.control.context import Control
from berth.core.situation import Situation
from berth.model.seen import Observed


def situation_of(control: Control, look: Observed) -> Situation:
    """The look, and all that is needed to judge it, as of now."""
    return Situation(
        observed=look,
        capabilities=control.engine.capabilities,
        nodes=control.cluster.nodes,
        settled=control.calls.settled,
        cluster=control.settings.cluster_id,
        stacks=frozenset(name for name, stack in control.cluster.stacks.items() if not stack.removing),
        superseded=control.cluster.work.services.superseded(),
        now=control.clock.now(),
        killed=control.killed,
        oom=control.oom,
    )
