"""Puts secrets and configs where a container mounts them from: a folder of the host's /run, which is memory.

A daemon takes files only into a container, and it cannot write into a tmpfs of one. So a container that is created and
never started binds the folder, the files are copied through it, and the real container binds each file, read-only (`z`
marks the folder as containers' own where SELinux asks for it).
This needs nothing but the Docker API, so a daemon that is reached by ssh or TLS is served like the own one.
"""

import asyncio
import contextlib
import io
import secrets
import tarfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from berth.dockerapi.client import Docker, segment
from berth.engines.docker.records import Listed
from berth.model import marks
from berth.model.errors import EngineConflict, EngineError, EngineUnknown, ObjectGone
from berth.model.launch import Launch
from berth.model.stored import PlacedFile

ROOT = "/run/berth-secrets"
INSIDE = "/berth"
"""The label of a container that mounts such files: the name of their folder."""
_list = msgspec.json.Decoder(list[Listed])
_images = msgspec.json.Decoder(list[dict[str, Any]])


def folder_of(launch: Launch) -> str:
    """The folder of one attempt, the same for a repeat; "" where nothing is mounted."""
    return f"{launch.task}.{launch.attempt}" if launch.files else ""


def labels(launch: Launch) -> dict[str, str]:
    """The label that finds the folder again."""
    return {marks.FILES: folder_of(launch)} if launch.files else {}


def mounts(launch: Launch) -> list[dict[str, Any]]:
    """The files as mounts of the container."""
    where = f"{ROOT}/{launch.cluster}/{folder_of(launch)}"
    return [
        {"Type": "bind", "Source": f"{where}/{number}", "Target": file.target, "ReadOnly": True}
        for number, file in enumerate(launch.files)
    ]


class Placing:
    """The folders of one daemon: written around the creation of a container, wiped once it is to go."""

    def __init__(self, docker: Docker) -> None:
        self._docker = docker
        self._turn = asyncio.Lock()
        self._coming: set[tuple[str, str]] = set()

    @asynccontextmanager
    async def around(self, launch: Launch) -> AsyncIterator[None]:
        """Write the attempt's files before its container is created inside; they go again when that is refused.

        Raises EngineError; its code is `image-absent` when the image is not here yet.
        """
        folder = folder_of(launch)
        if not folder:
            yield
            return
        self._coming.add((launch.cluster, folder))
        try:
            async with self._turn:
                await self._copy(launch.spec.image, launch.cluster, _files(launch.cluster, folder, launch.files))
            yield
        except (EngineConflict, EngineUnknown):
            raise
        except EngineError as error:
            if error.problems[0].code != "image-absent":
                await self.wipe(launch.cluster, folder)
            raise
        finally:
            self._coming.discard((launch.cluster, folder))

    async def wipe_of(self, labels: Mapping[str, str]) -> None:
        """Take the files of the container away that has these labels."""
        if marks.FILES in labels:
            await self.wipe(labels[marks.CLUSTER], labels[marks.FILES])

    async def wipe(self, cluster: str, folder: str) -> None:
        """Take an attempt's files away, and all that is left of others once no container has any.

        An archive can put a file where a folder was, which removes the folder; nothing else in the API removes.
        """
        async with self._turn:
            used = await self._in_use(cluster) - {folder}
            rest = f"{cluster}/{folder}" if used else cluster
            image = await self._any_image()
            if image:
                over = [(f"{cluster}/", None, 0o700, 0, 0)] if used else []
                await self._copy(image, cluster, _archive([*over, (rest, None, 0, 0, 0)]))

    async def _in_use(self, cluster: str) -> set[str]:
        """Folders of containers that exist or are about to."""
        filters = {"label": [marks.FILES, f"{marks.CLUSTER}={cluster}"]}
        listed = _list.decode(await self._docker.read("/containers/json", {"all": True, "filters": filters}))
        there = {(line.labels or {}).get(marks.FILES, "") for line in listed}
        return there | {folder for owner, folder in self._coming if owner == cluster}

    async def _any_image(self) -> str:
        """Any image will do for a container that never runs; "" when the host has none."""
        found = _images.decode(await self._docker.read("/images/json"))
        return str(found[0]["Id"]) if found else ""

    async def _copy(self, image: str, cluster: str, archive: bytes) -> None:
        body = {
            "Image": image,
            "Cmd": ["berth"],
            "Labels": {marks.CLUSTER: cluster},
            "HostConfig": {"Binds": [f"{ROOT}:{INSIDE}:z"], "NetworkMode": "none"},
        }
        name = {"name": f"berth-files-{secrets.token_hex(4)}"}
        made = msgspec.json.decode(await self._docker.send("/containers/create", body, name))["Id"]
        path = f"/containers/{segment(made)}"
        try:
            await self._docker.send(f"{path}/archive", archive, {"path": INSIDE}, method="PUT")
        finally:
            await self._forget(path)

    async def _forget(self, path: str) -> None:
        with contextlib.suppress(ObjectGone, EngineConflict):
            await self._docker.send(path, query={"force": True, "v": True}, method="DELETE")


def _files(cluster: str, folder: str, files: tuple[PlacedFile, ...]) -> bytes:
    """Folders that only root may enter, below them each file with its owner and mode: a bind passes the folders by."""
    entries: list[tuple[str, bytes | None, int, int, int]] = [(f"{cluster}/", None, 0o700, 0, 0)]
    entries.append((f"{cluster}/{folder}/", None, 0o700, 0, 0))
    entries += [
        (f"{cluster}/{folder}/{number}", file.content.reveal(), file.mode, file.uid, file.gid)
        for number, file in enumerate(files)
    ]
    return _archive(entries)


def _archive(entries: list[tuple[str, bytes | None, int, int, int]]) -> bytes:
    """A tar of (name, content, mode, uid, gid); a name with a slash at its end is a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data, mode, uid, gid in entries:
            entry = tarfile.TarInfo(name.rstrip("/"))
            entry.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            entry.mode, entry.uid, entry.gid, entry.size = mode, uid, gid, len(data or b"")
            tar.addfile(entry, io.BytesIO(data or b""))
    return out.getvalue()
