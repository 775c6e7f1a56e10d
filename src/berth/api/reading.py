"""Lends the stack loader the constraint language: one text read, as a Reading or as the Problem with it."""

from berth.compose import Facts, Reading
from berth.core.constraints import BadConstraint, is_swarm_only, parse
from berth.model.errors import Problem
from berth.model.token import Actor


def facts_for(actor: Actor) -> Facts:
    """What the loader must know to parse for this caller."""
    return Facts(constraint=read_constraint, admin=actor.role == "admin")


def read_constraint(text: str) -> Reading | Problem:
    """Read one constraint. `gpu.free >= N` is also a number of cards."""
    try:
        found = parse(text)
    except BadConstraint as bad:
        return Problem(code="bad-constraint", message=bad.message, hint=bad.hint, column=bad.column)
    counts = found.key == "gpu.free" and found.op == ">=" and found.values[0].isdigit()
    return Reading(swarm=is_swarm_only(found), free=int(found.values[0]) if counts else 0)
