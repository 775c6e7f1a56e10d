"""The constraint language: `parse` a text once, then ask it of nodes and cards; an engine never sees it unread."""

from berth.core.constraints.language import BadConstraint, Constraint, Op
from berth.core.constraints.match import card_ok, is_swarm_only, node_ok
from berth.core.constraints.parse import parse

__all__ = ["BadConstraint", "Constraint", "Op", "card_ok", "is_swarm_only", "node_ok", "parse"]
