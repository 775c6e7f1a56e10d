"""Says what a simulated command would print, how long it would run and how it would end; `engine` plays that.

A command is a list of statements: the words themselves, or the text behind `sh -c`, split at `;`, `&&` and new lines.
`sleep N` takes N seconds (s, m, h, d too), `echo TEXT` prints, `exit N`, `true` and `false` end as in a shell,
`env` and `printenv NAME` show the environment, `nvidia-smi` lists the granted cards. Any other program runs until it is
stopped, or for the seconds in the job's environment variable BERTH_SIMULATED_SECONDS.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from berth.model.card import Card

SHELLS = ("sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash")
SECONDS = "BERTH_SIMULATED_SECONDS"
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_STATEMENTS = re.compile(r"\s*(?:;|&&|\n)\s*")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")


class Line(msgspec.Struct, frozen=True):
    """Something printed, so many seconds after the start."""

    after_s: float
    text: str


class Script(msgspec.Struct, frozen=True):
    """All of a run: `seconds` None means until it is stopped."""

    seconds: float | None = None
    exit_code: int = 0
    lines: tuple[Line, ...] = ()


class World(msgspec.Struct, frozen=True):
    """What a command can see: its environment and its cards."""

    env: Mapping[str, str]
    cards: tuple[Card, ...] = ()


class _Player:
    """Walks through the statements, keeping time, output and the exit code."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seconds = 0.0
        self.exit_code = 0
        self.lines: list[Line] = []

    def print(self, text: str) -> None:
        self.lines.append(Line(self.seconds, text + "\n"))


def play(command: Sequence[str], world: World) -> Script:
    """The whole run of a command, worked out beforehand. No command at all is the image's own: until it is stopped."""
    player = _Player(world)
    for words in _statements(command):
        if not _one(words, player):
            return _until_stopped(words, player)
        if words[0] == "exit":
            break
    else:
        if not command:
            return _until_stopped(["the", "image's", "command"], player)
    return Script(player.seconds, player.exit_code, tuple(player.lines))


def _statements(command: Sequence[str]) -> Iterator[list[str]]:
    if len(command) >= 3 and command[0] in SHELLS and command[1] in ("-c", "-ec"):
        for statement in _STATEMENTS.split(command[2]):
            words = _words(statement)
            if words:
                yield words
    elif command:
        yield list(command)


def _words(statement: str) -> list[str]:
    try:
        return shlex.split(statement)
    except ValueError:
        return statement.split()


def _one(words: list[str], player: _Player) -> bool:
    """Carry out one statement; False for a program that only real engines know."""
    name, arguments = words[0].rpartition("/")[2], words[1:]
    known = {"sleep": _sleep, "echo": _echo, "exit": _exit, "true": _true, "false": _false, ":": _true}
    shows = {"env": _env, "printenv": _printenv, "nvidia-smi": _nvidia_smi}
    action = known.get(name) or shows.get(name)
    return action(arguments, player) if action else False


def _sleep(arguments: list[str], player: _Player) -> bool:
    found = [_DURATION.fullmatch(argument) for argument in arguments]
    if not found or None in found:
        return False
    player.seconds += sum(float(match[1]) * UNITS[match[2]] for match in found if match)
    player.exit_code = 0
    return True


def _echo(arguments: list[str], player: _Player) -> bool:
    text = " ".join(arguments)
    player.print(re.sub(r"\$\{?(\w+)\}?", lambda name: player.world.env.get(name[1], ""), text))
    player.exit_code = 0
    return True


def _exit(arguments: list[str], player: _Player) -> bool:
    if arguments:
        player.exit_code = int(arguments[0]) % 256 if arguments[0].isdecimal() else 2
    return True


def _true(_: list[str], player: _Player) -> bool:
    player.exit_code = 0
    return True


def _false(_: list[str], player: _Player) -> bool:
    player.exit_code = 1
    return True


def _env(_: list[str], player: _Player) -> bool:
    for name, value in player.world.env.items():
        player.print(f"{name}={value}")
    return True


def _printenv(arguments: list[str], player: _Player) -> bool:
    for name in arguments:
        if name in player.world.env:
            player.print(player.world.env[name])
    player.exit_code = 0 if all(name in player.world.env for name in arguments) else 1
    return True


def _nvidia_smi(_: list[str], player: _Player) -> bool:
    for place, card in enumerate(player.world.cards):
        player.print(f"GPU {place}: {card.model} (UUID: {card.uuid})")
    player.exit_code = 0
    return True


def _until_stopped(words: list[str], player: _Player) -> Script:
    given = player.world.env.get(SECONDS, "")
    match = _DURATION.fullmatch(given)
    if match:
        return Script(player.seconds + float(match[1]) * UNITS[match[2]], 0, tuple(player.lines))
    player.print(f"simulated: {shlex.join(words)} runs until it is stopped ({SECONDS} would end it)")
    return Script(None, 0, tuple(player.lines))
