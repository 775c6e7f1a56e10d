"""What a file or request asks for, parsed but not yet admitted: the bundle that travels and the drafts it becomes."""

from collections.abc import Mapping

import msgspec

from berth.model.errors import Problem
from berth.model.image import KnownImage
from berth.model.job import Network, Volume
from berth.model.spec import TaskSpec
from berth.model.stored import NewFile


class SourceFile(msgspec.Struct, frozen=True):
    """One file as the client read it. `data` is its bytes (base64 in JSON), so that bad encodings reach the parser."""

    path: str
    data: bytes

    def __repr__(self) -> str:
        return f"SourceFile({self.path!r}, {len(self.data)} bytes)"


class Bundle(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a stack deployment is made from, so that every client gets the same answer from the server.

    `files` in the order of `-c`; `dotenv` is a `.env` beside the first file. `extra` holds the files that the
    server asked for by path (env_file), `contents` those that become secrets and configs; `variables` the shell
    variables that it asked for (None: not set there).
    `directory` is the absolute path in which relative binds start, as Docker's; "": they are refused.
    """

    files: tuple[SourceFile, ...]
    dotenv: SourceFile | None = None
    extra: dict[str, SourceFile | None] = {}
    variables: dict[str, str | None] = {}
    contents: dict[str, SourceFile | None] = {}
    directory: str = ""


class Needs(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the parser still has to see before it can answer: paths as written in the file, and variable names."""

    files: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A job before admission. `service` is "" outside a stack; `native` says that the engine may place it itself.

    `where` maps a field ("deploy.placement.constraints.0") to an empty-message Problem that carries its place.
    `warnings` are those of a job of its own, as are `problems` (bad input) and `refusals` (what nobody may have); a
    stack's are in LoadedStack. A draft with problems is there only to be checked further. `known` is what
    was learnt of its image.
    """

    name: str
    spec: TaskSpec
    service: str = ""
    replicas: int = 1
    native: bool = False
    queue: str = "default"
    priority: int = 50
    where: Mapping[str, Problem] = {}
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    refusals: tuple[Problem, ...] = ()
    known: KnownImage = KnownImage()


class LoadedStack(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed stack: its drafts, and the networks, volumes, and secrets and configs (`files`) that it creates or looks
    up, by their full names on the engine.

    `needs` is not empty when the parser must see more; then drafts are not final. `warnings` are for the person.
    `problems` (bad input) and `refusals` (what nobody may have) are all that is wrong in the files: with any of them
    the drafts are there only to be checked further.
    """

    drafts: tuple[Draft, ...] = ()
    networks: tuple[Network, ...] = ()
    volumes: tuple[Volume, ...] = ()
    files: tuple[NewFile, ...] = ()
    warnings: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    refusals: tuple[Problem, ...] = ()
    needs: Needs = Needs()
