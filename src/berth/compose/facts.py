"""What the loader must be told about the server: how a constraint reads, and whether the person is an admin."""

from collections.abc import Callable

import msgspec

from berth.model.errors import Problem


class Reading(msgspec.Struct, frozen=True):
    """What a constraint is, once read. `swarm`: Swarm itself can check it, and it is on no label that Berth writes.

    `free` is the N of `gpu.free >= N`, which is also a number of cards; 0 for every other constraint.
    """

    swarm: bool = False
    free: int = 0


class Facts(msgspec.Struct, frozen=True):
    """`constraint` reads one text of the constraint language: a Reading, or the Problem with it.

    Of the problem only `message`, `hint` and `column` (from 1, in the text) are used. `admin`: may have what opens
    the host, such as a mount of the engine's socket, in services without cards. `native`: the engine itself places
    services without cards. `host`: it is a single Docker host, whose containers take what services cannot.
    """

    constraint: Callable[[str], Reading | Problem]
    admin: bool = False
    native: bool = True
    host: bool = False
