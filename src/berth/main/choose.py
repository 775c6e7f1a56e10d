"""Chooses the engine: what was asked for, else the best that answers here; says which and why."""

import msgspec

from berth.dockerapi.address import find
from berth.engines import load
from berth.main.options import ENGINE_WORDS, Options
from berth.model.errors import BadInput, BerthError
from berth.model.simulate import SimulatedNode, parse_simulate
from berth.ports import Clock, Engine, EngineIdentity

DEFAULT_SIMULATION = "node1=A100-SXM4-80GB:4,node2=Tesla-V100-SXM2-16GB:2"


class Chosen(msgspec.Struct, frozen=True):
    """An engine that is open. `why` is a sentence for the person; `simulation` the cards that are simulated."""

    engine: Engine
    identity: EngineIdentity
    why: str
    simulation: tuple[SimulatedNode, ...] = ()


async def choose(options: Options, clock: Clock) -> Chosen:
    """Open the engine. Raises BadInput for an unknown word, and what the engine raises when it cannot work."""
    if options.engine not in ENGINE_WORDS:
        words = ", ".join(ENGINE_WORDS)
        raise BadInput.of(
            "unknown-engine", f"there is no engine {options.engine}.", f"Use one of: {words}.", field="--engine"
        )
    simulation = parse_simulate(options.simulate) if options.simulate else ()
    if options.engine == "auto":
        return await _best(options, clock, simulation)
    if options.engine == "simulated":
        return await _simulated(options, clock, simulation, "as asked for")
    engine: Engine = load(options.engine)(find(options.docker_host), clock)
    return Chosen(engine, await engine.open(), "as asked for", simulation)


async def _best(options: Options, clock: Clock, simulation: tuple[SimulatedNode, ...]) -> Chosen:
    address = find(options.docker_host)
    refusals = []
    for name, why in (("swarm", "the daemon at {} manages a Swarm"), ("docker", "the daemon at {} answers")):
        engine: Engine = load(name)(address, clock)
        try:
            return Chosen(engine, await engine.open(), why.format(address.url), simulation)
        except BerthError as error:
            refusals.append(error)
    if options.docker_host:
        raise refusals[-1]
    why = f"no Docker answers at {address.url}: nothing runs for real"
    return await _simulated(options, clock, simulation, why)


async def _simulated(options: Options, clock: Clock, simulation: tuple[SimulatedNode, ...], why: str) -> Chosen:
    nodes = simulation or (() if options.cards else parse_simulate(DEFAULT_SIMULATION))
    engine: Engine = load("simulated")(nodes, clock, options.data / "simulated.json")
    return Chosen(engine, await engine.open(), why, nodes)
