"""Secrets and configs: what a stack declares, what Berth keeps of them, and their content, which nothing prints."""

import posixpath
from typing import Literal

import msgspec

FileKind = Literal["secret", "config"]
MOST_BYTES: dict[FileKind, int] = {"secret": 500 * 1024, "config": 1000 * 1024}
"""Swarm's own limits."""
_FOLDERS: dict[FileKind, str] = {"secret": "/run/secrets", "config": "/"}


def place_of(kind: FileKind, target: str) -> str:
    """Where a container finds a file: the absolute path without detours; a target that is none lies below a folder."""
    return "/" + posixpath.normpath(posixpath.join(_FOLDERS[kind], target)).lstrip("/")


class Content:
    """The bytes of a secret or config. They show only where `reveal` is written: not in a repr, a log or JSON."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def reveal(self) -> bytes:
        """The bytes themselves."""
        return self._data

    def __len__(self) -> int:
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and other._data == self._data

    def __hash__(self) -> int:
        return hash(self._data)

    def __repr__(self) -> str:
        return f"<{len(self._data)} bytes that are not shown>"


class FileObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A secret or config by its name in the engine's store; an `external` one is only looked up.

    `digest` tells one content from another (KEY-HASH, a keyed hash: nothing can be guessed from it); "": not known.
    With a `driver` the content comes from the engine's plugin.
    """

    kind: FileKind
    name: str
    external: bool = False
    labels: dict[str, str] = {}
    driver: str = ""
    driver_opts: dict[str, str] = {}
    template_driver: str = ""
    digest: str = ""


class NewFile(msgspec.Struct, frozen=True, kw_only=True):
    """A secret or config that is to be there, with its content; `field` and `line` say where the file declares it."""

    file: FileObject
    content: Content = Content(b"")
    field: str = ""
    path: str = ""
    line: int = 0


class KeptFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A secret or config in Berth's own store, for engines that have none: encrypted. `size` is in bytes.

    `stack` is the one that created it, "" for one that a person created by hand. `former`: an earlier content, which
    another has replaced; a job's earlier form names it by its digest.
    """

    id: str
    kind: FileKind
    name: str
    sealed: bytes
    digest: str
    size: int
    user: str = ""
    stack: str = ""
    labels: dict[str, str] = {}
    created_at: float = 0.0
    former: bool = False


class SeenFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a store tells of a secret or config. `users` are the names of what mounts it on the engine."""

    kind: FileKind
    name: str
    labels: dict[str, str] = {}
    created_at: float = 0.0
    user: str = ""
    stack: str = ""
    users: tuple[str, ...] = ()


class PlacedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file to put into one container: absolute path, numeric owner and group, permission bits, content."""

    target: str
    uid: int
    gid: int
    mode: int
    content: Content
