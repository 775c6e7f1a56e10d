"""The Swarm engine: carries the loop's calls to a manager. `wanted` writes what it sends, `look` reads what it sees."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from berth.dockerapi import digests, drivers, fitness, marking, networks, output
from berth.dockerapi.address import Address
from berth.dockerapi.client import Docker, segment
from berth.dockerapi.events import Ears
from berth.dockerapi.images import Images
from berth.engines.swarm import following, likeness, records, refusals, wanted
from berth.engines.swarm.claim import claim
from berth.engines.swarm.files import Files
from berth.engines.swarm.look import Reader
from berth.engines.swarm.signals import Signals
from berth.engines.swarm.store import SwarmFiles
from berth.model import marks
from berth.model.errors import EngineConflict, EngineError, EngineUnknown, ObjectGone, Problem, StaleVersion
from berth.model.image import RegistryAnswer
from berth.model.job import Network, Stack
from berth.model.launch import Handle, Launch
from berth.model.node import Node
from berth.model.seen import Observed, SlotObject
from berth.model.spec import Pinned, TaskSpec
from berth.ports import Capabilities, Clock, EngineIdentity, LogLine

TRIES = 5
FRESH_S = 3.0
"""A look this young is believed without asking again."""


class SwarmEngine:
    """One Swarm through one of its managers. See `ports.Engine` for what each call promises.

    Swarm has no kill and no grace of its own per call: `stop` asks for no replicas, and the grace is the spec's.
    """

    name = "swarm"
    capabilities = Capabilities(slot_objects=True, native=True, node_labels=True, images=True, ingress=True)

    def __init__(self, address: Address, clock: Clock) -> None:
        """Name the manager; nothing is connected before `open`."""
        self._docker = Docker(address)
        self._images = Images(self._docker)
        self._clock = clock
        self._files = Files(self._docker)
        self.files = SwarmFiles(self._docker)
        signals = Signals()
        self._look = Reader(signals)
        self._ears = Ears(self._docker, ("service", "node", "container"), signals.hear)

    async def open(self) -> EngineIdentity:
        """Connect; refuse rootless Docker and a daemon that does not manage a Swarm."""
        version = await self._docker.open()
        try:
            info = msgspec.json.decode(await self._docker.read("/info"), type=records.Info)
            refusals.check(info, self._docker.address)
        except BaseException:
            await self._docker.close()
            raise
        self._ears.open()
        cluster = info.swarm.cluster.id if info.swarm.cluster else ""
        warnings = fitness.open_door(self._docker.address)
        return EngineIdentity(id=cluster, version=version.version, warnings=warnings)

    async def close(self) -> None:
        """Leave; what runs goes on."""
        await self._ears.close()
        await self._docker.close()

    async def claim(self, cluster: str, now: float) -> str:
        """Hold the Swarm, so that no second Berth counts its cards."""
        return await claim(self._docker, cluster, now)

    async def observe(self) -> Observed:
        """Nodes, services and tasks, asked for at one moment.

        Services are read before tasks: an object that is seen has its tasks in the same look.
        """
        began = self._clock.monotonic()
        nodes, services = await asyncio.gather(self._docker.read("/nodes"), self._docker.read("/services"))
        tasks = await self._docker.read("/tasks")
        return self._look.read((nodes, services, tasks), began, self._clock.monotonic())

    def changes(self) -> AsyncIterator[str]:
        """Swarm tells of services and nodes; containers only where they run on the manager itself."""
        return self._ears.changes()

    async def problems(self, spec: TaskSpec, networks: tuple[Network, ...]) -> tuple[Problem, ...]:
        """Secrets, configs, external networks and drivers that the Swarm does not have."""
        lacking = await drivers.problems(self._docker, spec, networks, swarm=True)
        return (*await self._files.problems(spec), *await self._networks().problems(networks), *lacking)

    async def pin(self, image: str, auth: str) -> Pinned:
        """Asked by the daemon, as the docker CLI has it asked."""
        return await digests.pin(self._docker, image, auth)

    async def image(self, name: str, auth: str) -> RegistryAnswer:
        """Asked by the server itself, with the daemon's own settings for registries."""
        return await self._images.ask(name, auth)

    async def ensure_stack(self, stack: Stack) -> None:
        """Create the stack's overlay networks; volumes are made by the mounts that use them."""
        await self._networks().ensure(stack)

    async def remove_stack(self, stack: Stack) -> None:
        """Remove its networks; for some seconds after the last task they are still in use."""
        await self._networks().remove(stack)

    async def prepare(self, launch: Launch) -> Handle:
        """Create the slot's service with its one task pinned to a node that never exists."""
        waiting = msgspec.structs.replace(launch, attempt=0, node=None, cards=())
        return await self._create(waiting, await self._slot_service(waiting))

    async def start(self, launch: Launch) -> Handle:
        """Point the slot's service at the granted node, by the version that came with the grant; or create it."""
        body = await self._slot_service(launch)
        if launch.handle is None or not launch.handle.object_id:
            return await self._create(launch, body)
        try:
            await self._update(launch.handle.object_id, launch.handle.object_version, body, launch.registry_auth)
        except StaleVersion as stale:
            return await self._repeated(launch, launch.handle.object_id, stale)
        return await self._handle(launch.handle.object_id, launch)

    async def stop(self, handle: Handle, grace_s: float | None) -> None:  # noqa: ARG002 - the grace is the spec's
        """Ask for no replicas; a task that Swarm is already ending is left to it."""
        key = handle.object_id or await self._service_of(handle.engine_id) or handle.name
        if not key or (handle.engine_id and not await self._wanted_still(handle.engine_id)):
            return
        for left in reversed(range(TRIES)):
            try:
                await self._scale_to(key, 0)
                return
            except StaleVersion:
                if not left:
                    raise

    async def remove(self, handle: Handle) -> None:
        """Remove the slot's service; Swarm ends its task."""
        key = handle.object_id or await self._service_of(handle.engine_id) or await self._own(handle.name)
        if not key:
            return
        with contextlib.suppress(ObjectGone):
            await self._docker.send(f"/services/{segment(key)}", method="DELETE")

    async def apply_native(self, launch: Launch) -> Handle:
        """Create or update the job's service; Swarm itself leaves tasks alone where nothing changed for them."""
        secrets, configs = await self._files.resolve(launch.spec)
        body = wanted.native_service(launch, secrets, configs)
        fresh = not launch.job.applied  # then its name is there only by an earlier call, or as somebody else's
        for left in reversed(range(TRIES)):
            there = None if fresh else await self._find(launch.name)
            fresh = False
            if there is not None and _labels(there).get(marks.JOB) != launch.job.id:
                raise refusals.name_taken(launch.name)
            try:
                return Handle(object_id=await self._put_native(launch, body, there), name=launch.name)
            except (StaleVersion, EngineConflict):
                if not left:
                    raise
        raise AssertionError("unreachable")

    async def _put_native(self, launch: Launch, body: dict[str, Any], there: dict[str, Any] | None) -> str:
        """Create or update by the version that was read; the service's id. Raises EngineConflict, StaleVersion."""
        if there is None:
            return await self._made(launch, body)
        body["TaskTemplate"]["ForceUpdate"] = there["Spec"]["TaskTemplate"].get("ForceUpdate", 0)
        await self._update(there["ID"], there["Version"]["Index"], body, launch.registry_auth)
        return str(there["ID"])

    async def unlike(self, launch: Launch, service: str) -> tuple[str, ...]:
        """Fields of the service that are not as Berth would write them."""
        secrets, configs = await self._files.resolve(launch.spec)
        there = await self._find(service)
        return likeness.unlike(wanted.native_service(launch, secrets, configs), (there or {}).get("Spec", {}))

    async def take_over_native(self, launch: Launch, service: str) -> Handle:
        """An update of the service's own labels alone: what its tasks are made from stays, so Swarm leaves them be."""
        for left in reversed(range(TRIES)):
            there = await self._find(service)
            if there is None:
                raise refusals.gone(launch.name)
            body = {**there["Spec"], "Labels": {**_labels(there), **marking.object_labels(launch)}}
            try:
                await self._update(there["ID"], there["Version"]["Index"], body, "")
            except StaleVersion:
                if not left:
                    raise
            else:
                return await self._handle(there["ID"], launch)
        raise AssertionError("unreachable")

    async def resize(self, service: str, replicas: int) -> None:
        """Set the number of replicas of a service that is not Berth's yet; one that is gone stays gone."""
        for left in reversed(range(TRIES)):
            try:
                await self._scale_to(service, replicas)
                return
            except StaleVersion:
                if not left:
                    raise

    async def logs(self, handle: Handle, since: float, follow: bool) -> AsyncIterator[LogLine]:
        """Output of the attempt's task, wherever it runs."""
        path = f"/tasks/{segment(handle.engine_id)}" if handle.engine_id else f"/services/{segment(handle.object_id)}"
        lines = output.lines(self._docker, f"{path}/logs", since, follow)
        async for line in following.until_over(lines, lambda: self._over(handle.engine_id)) if follow else lines:
            yield line

    async def write_labels(self, node: Node, put: dict[str, str], drop: tuple[str, ...]) -> int:
        """One update of the node by the version read; what a person changed meanwhile is not overwritten."""
        path = f"/nodes/{segment(node.engine_id)}"
        there = msgspec.json.decode(await self._docker.read(path))
        version = there["Version"]["Index"]
        if version != node.engine_version:
            raise refusals.stale_node(node.name)
        labels = {key: value for key, value in (there["Spec"].get("Labels") or {}).items() if key not in drop}
        await self._docker.send(f"{path}/update", {**there["Spec"], "Labels": {**labels, **put}}, {"version": version})
        after = msgspec.json.decode(await self._docker.read(path))
        return int(after["Version"]["Index"])

    def _networks(self) -> networks.Networks:
        return networks.Networks(self._docker, "overlay", swarm=True)

    async def _slot_service(self, launch: Launch) -> dict[str, Any]:
        secrets, configs = await self._files.resolve(launch.spec)
        return wanted.slot_service(launch, secrets, configs)

    async def _create(self, launch: Launch, body: dict[str, Any]) -> Handle:
        """Create; where the name exists already it must be this very attempt's."""
        try:
            made = await self._made(launch, body)
        except EngineConflict as error:
            return await self._repeated(launch, launch.name, error)
        return await self._handle(made, launch)

    async def _made(self, launch: Launch, body: dict[str, Any]) -> str:
        """Create a service; its id. Raises EngineConflict when the name is there."""
        headers = {"X-Registry-Auth": launch.registry_auth} if launch.registry_auth else None
        made = msgspec.json.decode(await self._docker.send("/services/create", body, headers=headers))
        return str(made["ID"])

    async def _repeated(self, launch: Launch, key: str, error: EngineError) -> Handle:
        """An earlier call may have done it already: look. Nothing that goes wrong here is a definite no."""
        try:
            there = await self._find(key)
        except EngineError as failed:
            raise EngineUnknown(*failed.problems) from failed
        labels = _labels(there or {})
        if not there or labels.get(marks.TASK, "") != ("" if launch.job.native else launch.task):
            raise refusals.name_taken(launch.name) if there else error
        if marks.attempt_of(labels) != launch.attempt:
            # A slot that was started meanwhile is no longer to be prepared: that is for the caller to see.
            raise refusals.other_attempt(launch, marks.attempt_of(labels)) from error
        return Handle(object_id=there["ID"], object_version=there["Version"]["Index"], name=launch.name)

    async def _handle(self, key: str, launch: Launch) -> Handle:
        """Name what was just made. The version is 0 when it could not be read: the next look has it."""
        node = launch.node.engine_id if launch.node else ""
        try:
            there = await self._find(key)
        except EngineError:
            there = None
        version = there["Version"]["Index"] if there else 0
        return Handle(object_id=key, object_version=version, node=node, name=launch.name)

    async def _update(self, key: str, version: int, body: dict[str, Any], auth: str) -> None:
        query = {"version": version, "registryAuthFrom": None if auth else "spec"}
        headers = {"X-Registry-Auth": auth} if auth else None
        await self._docker.send(f"/services/{segment(key)}/update", body, query, headers)

    async def restore_replicas(self, seen: SlotObject) -> None:
        """Set a slot's service back to the one replica that it may have."""
        await self._scale_to(seen.id, 1)

    async def _scale_to(self, key: str, replicas: int) -> None:
        there = await self._find(key)
        if there is None or there["Spec"]["Mode"].get("Replicated", {}).get("Replicas") == replicas:
            return
        body = {**there["Spec"], "Mode": {"Replicated": {"Replicas": replicas}}}
        await self._update(there["ID"], there["Version"]["Index"], body, "")

    async def _find(self, key: str) -> dict[str, Any] | None:
        return await self._get(f"/services/{segment(key)}")

    async def _own(self, name: str) -> str:
        """The id of a service of this name, if it is one of Berth's."""
        there = await self._find(name) if name else None
        return str(there["ID"]) if there and marks.CLUSTER in _labels(there) else ""

    async def _service_of(self, task: str) -> str:
        there = await self._get(f"/tasks/{segment(task)}") if task else None
        return str(there.get("ServiceID", "")) if there else ""

    async def _over(self, task: str) -> bool:
        """True when the task runs no more: by the newest look, or when that does not know, by asking."""
        fresh = self._clock.monotonic() - self._look.at < FRESH_S
        if task == "" or (fresh and self._look.runs(task)):
            return False
        there = await self._get(f"/tasks/{segment(task)}")
        return there is None or there["Status"]["State"] in records.OVER

    async def _wanted_still(self, task: str) -> bool:
        """False when Swarm is ending this task anyway, or has."""
        there = await self._get(f"/tasks/{segment(task)}")
        return there is not None and there["DesiredState"] not in ("shutdown", "remove")

    async def _get(self, path: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = msgspec.json.decode(await self._docker.read(path))
        except ObjectGone:
            return None
        return found


def _labels(service: dict[str, Any]) -> dict[str, str]:
    return service.get("Spec", {}).get("Labels") or {}
