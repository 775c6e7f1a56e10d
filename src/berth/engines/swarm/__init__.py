"""Docker Swarm: one service per slot; `engine` carries out, `wanted` writes requests, `look` reads what is there."""

from berth.engines.swarm.engine import SwarmEngine

__all__ = ["SwarmEngine"]
