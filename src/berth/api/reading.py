"""Lends the stack loader the constraint language: one text read, as a Reading or as the Problem with it."""

from berth.compose import Facts, Reading
from berth.core.constraints import BadConstraint, is_swarm_only, parse
from berth.model.errors import Problem
from berth.model.token import Actor
from berth.ports import Capabilities


def facts_for(actor: Actor, engine: Capabilities) -> Facts:
    """What the loader must know to parse for this caller and this engine."""
    admin = actor.role == "admin"
    return Facts(constraint=read_constraint, admin=admin, native=engine.native, host=engine.container_keys)


def read_constraint(text: str) -> Reading | Problem:
    """Read one constraint. `gpu.free >= N` is also a number of cards."""
    try:
        found = parse(text)
    except BadConstraint as bad:
        return Problem(code="bad-constraint", message=bad.message, hint=bad.hint, column=bad.column)
    counts = found.key == "gpu.free" and found.op == ">=" and found.values[0].isdigit()
    return Reading(swarm=is_swarm_only(found), free=int(found.values[0]) if counts else 0)
