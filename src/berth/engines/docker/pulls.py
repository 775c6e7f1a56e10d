"""Starts that wait for their image: pulled in the background, shown as starting, their failure kept until removed."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from berth.dockerapi.client import Docker
from berth.model.errors import BerthError, EngineError, Problem
from berth.model.launch import Handle, Launch
from berth.model.seen import Life
from berth.ports import Clock

SILENCE_S = 300.0
"""A registry that sends nothing for so long is given up."""


class _Progress(msgspec.Struct, frozen=True):
    error: str = ""


class Pull:
    """One start on its way; `error` is why it ended without a container."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.error = ""
        self.ended_at: float | None = None
        self.task: asyncio.Task[None] | None = None


class Pulls:
    """Pulls by the name of the attempt's container, which is also the engine's id of such a life."""

    def __init__(self, docker: Docker, clock: Clock) -> None:
        self._docker = docker
        self._clock = clock
        self._pulls: dict[str, Pull] = {}

    def under_way(self, name: str) -> bool:
        """True while an image is being pulled for this attempt, or after that failed."""
        return name in self._pulls

    def begin(self, name: str, launch: Launch, then: Callable[[str, Launch], Awaitable[Handle]]) -> Handle:
        """Pull, create and start; a repeat is the same."""
        if name not in self._pulls:
            pull = self._pulls[name] = Pull(launch)
            pull.task = asyncio.get_running_loop().create_task(self._carry(name, pull, then))
        return Handle(engine_id=name, name=name)

    def cancel(self, name: str) -> bool:
        """Give a pull up; it then counts as ended. False when there is none."""
        pull = self._pulls.get(name)
        if pull is None:
            return False
        if pull.task and not pull.task.done():
            pull.task.cancel()
            self._over(pull, "stopped while its image was being pulled")
        return True

    def forget(self, name: str) -> None:
        """Nothing of this attempt is shown any more."""
        self.cancel(name)
        self._pulls.pop(name, None)

    def lives(self, node: str) -> dict[str, Life]:
        """Starts on their way and failed ones, by name."""
        return {name: _life(name, pull, node) for name, pull in self._pulls.items()}

    async def close(self) -> None:
        """Give all up."""
        tasks = [pull.task for pull in self._pulls.values() if pull.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry(self, name: str, pull: Pull, then: Callable[[str, Launch], Awaitable[Handle]]) -> None:
        try:
            await self._fetch(pull.launch)
            await then(name, pull.launch)
        except BerthError as error:
            self._over(pull, str(error))
        else:
            self._pulls.pop(name, None)

    async def _fetch(self, launch: Launch) -> None:
        try:
            await self._pull(launch)
        except BerthError as error:
            why = "; ".join(problem.message for problem in error.problems)
            hint = "Check the name and the registry's password (`docker login`), or pull it on that host."
            message = f"The image {launch.spec.image} cannot be pulled: {why}"
            raise EngineError(Problem(code="image-absent", message=message, hint=hint)) from error

    async def _pull(self, launch: Launch) -> None:
        image, tag = split(launch.spec.image)
        headers = {"X-Registry-Auth": launch.registry_auth} if launch.registry_auth else None
        query = {"fromImage": image, "tag": tag}
        async with self._docker.stream("/images/create", query, headers, "POST", SILENCE_S) as reader:
            rest = b""
            async for piece in reader.iter_any():
                *lines, rest = (rest + piece).split(b"\n")
                for line in filter(bytes.strip, lines):
                    _check(line)

    def _over(self, pull: Pull, error: str) -> None:
        pull.error = error
        pull.ended_at = self._clock.now()


def split(image: str) -> tuple[str, str]:
    """Repository and tag (or digest) of an image's name; without either, the tag is `latest`."""
    if "@" in image:
        name, _, digest = image.partition("@")
        return name, digest
    head, colon, tag = image.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (image, "latest")


def _check(line: bytes) -> None:
    said = msgspec.json.decode(line, type=_Progress).error
    if said:
        raise EngineError(Problem(code="image-absent", message=said))


def _life(name: str, pull: Pull, node: str) -> Life:
    launch = pull.launch
    return Life(
        task=launch.task,
        job=launch.job.id,
        attempt=launch.attempt,
        node=node,
        state="exited" if pull.error else "starting",
        engine_id=name,
        cards=tuple(card.uuid for card in launch.cards),
        error=pull.error,
        ended_at=pull.ended_at,
        labels=launch.labels(),
        spec=launch.spec,
    )
