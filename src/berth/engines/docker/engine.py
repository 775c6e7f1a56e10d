"""The engine of one Docker host: carries the loop's calls. `wanted` writes what it sends, `look` reads what it sees."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

import msgspec

from berth.dockerapi import drivers, fitness, networks, output
from berth.dockerapi.address import Address
from berth.dockerapi.client import Docker, segment
from berth.dockerapi.events import Ears
from berth.dockerapi.images import Images
from berth.engines.docker import placing, records, refusals, wanted
from berth.engines.docker.chores import Chores
from berth.engines.docker.look import Reader, published
from berth.engines.docker.placing import Placing
from berth.engines.docker.pulls import Pulls
from berth.engines.placing_nothing import PlacesNothing
from berth.model import marks
from berth.model.bounded import Bounded
from berth.model.errors import (
    BerthError,
    EngineConflict,
    EngineError,
    EngineUnknown,
    ObjectGone,
    Problem,
    Refused,
)
from berth.model.image import RegistryAnswer
from berth.model.job import Network, Stack
from berth.model.launch import Handle, Launch
from berth.model.node import Node
from berth.model.seen import Life, Observed, Other, SeenNode, SeenPort
from berth.model.spec import Pinned, TaskSpec
from berth.ports import Capabilities, Clock, EngineIdentity, LogLine

CREATED = "created"
LEFTOVER_S = 60.0
FACTS_S = 60.0
STOP_TRIES = 5
EARLY_S = 0.3
GRACE_S = 10.0


class DockerEngine(PlacesNothing):
    """One daemon. See `ports.Engine` for what each call promises. A slot has no object of its own here."""

    name = "docker"
    capabilities = Capabilities(hints_all=True, images=True, container_keys=True)

    def __init__(self, address: Address, clock: Clock) -> None:
        """Name the daemon; nothing is connected before `open`."""
        self._docker = Docker(address)
        self._images = Images(self._docker)
        self._clock = clock
        self._info = records.Info()
        self._informed = 0.0
        self._look = Reader(self._docker, "")
        self._ears = Ears(self._docker, ("container",), self._look.hear)
        self._chores = Chores()
        self._pulls = Pulls(self._docker, clock)
        self._placing = Placing(self._docker)
        self._removed = Bounded()
        self._busy: dict[str, asyncio.Lock] = {}

    files = None
    """It has no store of secrets: Berth keeps them."""

    async def open(self) -> EngineIdentity:
        """Connect; refuse rootless Docker."""
        version = await self._docker.open()
        try:
            await self._learn()
            fitness.refuse_rootless(self._info.security, self._docker.address)
        except BaseException:
            await self._docker.close()
            raise
        self._ears.open()
        warnings = fitness.open_door(self._docker.address)
        if not self._info.live_restore:
            warnings = (*warnings, refusals.NO_LIVE_RESTORE)
        return EngineIdentity(id=self._info.id, version=version.version, warnings=warnings)

    async def close(self) -> None:
        """Leave; what runs goes on. Pulls and pending stops end here and are asked for again at the next start."""
        await self._pulls.close()
        await self._chores.close()
        await self._ears.close()
        await self._docker.close()

    async def claim(self, cluster: str, now: float) -> str:  # noqa: ARG002
        """Nothing to claim: the data folder's lock guards it."""
        return ""

    async def observe(self) -> Observed:
        """The host and all its containers, those that are still being started included."""
        began = self._clock.monotonic()
        if began - self._informed > FACTS_S:
            await self._learn()
        lives: dict[str, Life] = {**self._look.ghosts, **self._pulls.lives(self._info.id)}
        others: list[Other] = []
        ports: list[SeenPort] = []
        for line, details in await self._look.containers():
            lives.pop(line.name, None)
            labels = details.config.labels or {}
            ports += published(line, self._info.id)
            if marks.CLUSTER not in labels:
                if line.state == "running":
                    others.append(await self._look.other(details))
            elif line.state != CREATED or details.state.error:
                lives[line.id] = self._look.life(line, details)
            else:
                self._tidy(line)
        ended = self._clock.monotonic()
        return Observed(
            began=began, ended=ended, nodes=(self._node(),), lives=tuple(lives.values()), others=tuple(others),
            ports=tuple(ports),
        )  # fmt: skip

    def changes(self) -> AsyncIterator[str]:
        """Every container event of this daemon."""
        return self._ears.changes()

    async def problems(self, spec: TaskSpec, networks: tuple[Network, ...]) -> tuple[Problem, ...]:
        """External networks and drivers that are not there."""
        lacking = await drivers.problems(self._docker, spec, networks, swarm=False)
        return (*await self._networks().problems(networks), *lacking)

    async def pin(self, image: str, auth: str) -> Pinned:  # noqa: ARG002
        """One host: what it has pulled is what runs. Nothing is pinned."""
        return Pinned()

    async def image(self, name: str, auth: str) -> RegistryAnswer:
        """Asked by the server itself, with the daemon's own settings for registries."""
        return await self._images.ask(name, auth)

    async def ensure_stack(self, stack: Stack) -> None:
        """Create the stack's bridge networks, and its volumes with their drivers and labels."""
        await self._networks().ensure(stack)
        for volume in stack.volumes:
            if not volume.external:
                body = {"Name": volume.name, "Driver": volume.driver or "local", "DriverOpts": volume.driver_opts}
                await self._docker.send(
                    "/volumes/create", {**body, "Labels": {**volume.labels, marks.NAMESPACE: stack.name}}
                )

    async def remove_stack(self, stack: Stack) -> None:
        """Remove its networks; volumes stay, as with `docker stack rm`."""
        await self._networks().remove(stack)

    async def prepare(self, launch: Launch) -> Handle:
        """Nothing can exist before the grant: a container takes neither node nor cards later on."""
        return Handle(name=launch.name)

    async def start(self, launch: Launch) -> Handle:
        """Create the attempt's container and start it; a missing image is pulled first, in the background."""
        name = wanted.container_name(launch)
        if _key(launch) in self._removed:
            raise refusals.removed(launch)
        async with self._busy.setdefault(name, asyncio.Lock()):
            try:
                return await self._start(name, launch)
            finally:
                self._busy.pop(name, None)

    async def stop(self, handle: Handle, grace_s: float | None) -> None:
        """Ask for TERM, then KILL after the grace; returns once the daemon has the question."""
        key = handle.engine_id or handle.name
        if not key or self._pulls.cancel(key):
            return
        key = self._look.id_of(key)
        self._look.asked(key)
        task = self._chores.begin(self._stop(key, grace_s))
        done, _ = await asyncio.wait({task}, timeout=EARLY_S)
        if done:
            task.result()

    async def remove(self, handle: Handle) -> None:
        """Remove the container, and those of the task's earlier attempts."""
        key = handle.engine_id or handle.name
        if not key:
            return
        self._pulls.forget(key)
        key = self._look.id_of(key)
        labels = self._look.labels(key) or await self._labels(key)
        self._look.asked(key)
        if labels:
            self._removed.keep(f"{labels.get(marks.TASK)}#{marks.attempt_of(labels)}")
        await self._remove(key, labels)
        for older in self._look.older(labels):
            await self._remove(older, self._look.labels(older))

    async def logs(self, handle: Handle, since: float, follow: bool) -> AsyncIterator[LogLine]:
        """Output of the container, as its log driver keeps it."""
        key = handle.engine_id or handle.name
        path = f"/containers/{segment(key)}"
        details = msgspec.json.decode(await self._docker.read(f"{path}/json"), type=records.Container)
        async for line in output.lines(self._docker, f"{path}/logs", since, follow, details.config.tty):
            yield line

    async def write_labels(self, node: Node, put: dict[str, str], drop: tuple[str, ...]) -> int:
        """A Docker host has no labels that can be written. Always raises Refused."""
        raise Refused(refusals.no_labels(node.name, (*put, *drop)))

    async def _start(self, name: str, launch: Launch) -> Handle:
        made = None if self._pulls.under_way(name) else await self._create(name, launch)
        if made is None:
            return self._pulls.begin(name, launch, self._pulled)
        return await self._started(made, launch)

    async def _create(self, name: str, launch: Launch) -> str | None:
        """The id of the attempt's container; None when its image is not here."""
        body = wanted.container(launch, self._info)
        try:
            async with self._placing.around(launch):
                answer = await self._docker.send("/containers/create", body, {"name": name})
        except EngineConflict:
            return await self._repeated(name, launch)
        except EngineError as error:
            if error.problems[0].code != "image-absent":
                raise
            return None
        return str(msgspec.json.decode(answer)["Id"])

    async def _pulled(self, name: str, launch: Launch) -> Handle:
        """What `start` does once the image is here."""
        made = await self._create(name, launch)
        if made is None:
            raise refusals.image_vanished(launch.spec.image)
        return await self._started(made, launch)

    async def _started(self, container: str, launch: Launch) -> Handle:
        """Join the other networks, start, and let go of attempts that nobody reads any more."""
        try:
            for use in launch.spec.networks[1:]:
                body = {"Container": container, "EndpointConfig": wanted.endpoint(launch, use)}
                await self._join(use.name, body)
            await self._docker.send(f"/containers/{segment(container)}/start")
        except EngineUnknown:
            raise
        except EngineError:
            # Definitely not running: the create is undone too, so that the refusal leaves nothing.
            self._look.asked(container)
            await self._remove(container, placing.labels(launch) | launch.labels())
            raise
        return Handle(engine_id=container, node=self._info.id, name=wanted.container_name(launch))

    async def _join(self, network: str, body: Mapping[str, object]) -> None:
        try:
            await self._docker.send(f"/networks/{segment(network)}/connect", body)
        except EngineError as error:
            if "already exists in network" not in str(error):
                raise

    async def _repeated(self, name: str, launch: Launch) -> str:
        """The name exists: it must be this very attempt's. Nothing that goes wrong here is a definite no."""
        try:
            answer = await self._docker.read(f"/containers/{segment(name)}/json")
        except EngineError as failed:
            raise EngineUnknown(*failed.problems) from failed
        there = msgspec.json.decode(answer, type=records.Container)
        labels = there.config.labels or {}
        if (labels.get(marks.TASK), marks.attempt_of(labels)) != (launch.task, launch.attempt):
            raise refusals.name_taken(name)
        return there.id

    async def _stop(self, key: str, grace_s: float | None) -> None:
        """Ask until the daemon has carried it out; what is gone is stopped."""
        query = {"t": None if grace_s is None else round(grace_s)}
        wait = (GRACE_S if grace_s is None else grace_s) + 60.0
        for left in reversed(range(STOP_TRIES)):
            try:
                await self._docker.send(f"/containers/{segment(key)}/stop", query=query, answer_s=wait)
                return
            except ObjectGone:
                return
            except BerthError as error:
                if not left or not isinstance(error, EngineUnknown):
                    raise
            await asyncio.sleep(1.0)

    async def _labels(self, key: str) -> dict[str, str]:
        """The labels of a container that no look has shown yet, or that a person removed."""
        ghost = self._look.ghosts.get(key)
        if ghost is not None:
            return ghost.labels
        try:
            answer = await self._docker.read(f"/containers/{segment(key)}/json")
        except ObjectGone:
            return {}
        return msgspec.json.decode(answer, type=records.Container).config.labels or {}

    async def _remove(self, key: str, labels: Mapping[str, str]) -> None:
        """The files first: while the container is there, a repeat finds what is left to do."""
        await self._placing.wipe_of(labels)
        with contextlib.suppress(ObjectGone, EngineConflict):
            await self._docker.send(f"/containers/{segment(key)}", query={"force": True, "v": True}, method="DELETE")

    def _tidy(self, line: records.Listed) -> None:
        """A container that was created and never started, by a server that is gone: nothing ran, nothing is lost."""
        if self._clock.now() - line.created > LEFTOVER_S and line.name not in self._busy:
            self._look.asked(line.id)
            self._chores.begin(self._remove(line.id, line.labels or {}))

    def _networks(self) -> networks.Networks:
        return networks.Networks(self._docker, "bridge", swarm=False)

    async def _learn(self) -> None:
        self._info = msgspec.json.decode(await self._docker.read("/info"), type=records.Info)
        self._informed = self._clock.monotonic()
        self._look.node = self._info.id

    def _node(self) -> SeenNode:
        info = self._info
        return SeenNode(
            engine_id=info.id,
            hostname=info.name,
            os=info.os,
            arch=info.arch,
            engine_labels=dict(label.partition("=")[::2] for label in info.labels or ()),
            cpu_nano=info.cpus * 10**9,
            memory_bytes=info.memory,
        )


def _key(launch: Launch) -> str:
    return f"{launch.task}#{launch.attempt}"
