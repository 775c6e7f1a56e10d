"""An engine in this process that runs nothing: for trying Berth out, for tests, and for the simulator.

`engine` keeps slots and runs, `script` says what a command would do and how long, `journal` keeps it over a restart.
"""

from berth.engines.simulated.engine import SimulatedEngine

__all__ = ["SimulatedEngine"]
