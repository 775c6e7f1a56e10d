"""Reads Swarm's three lists (nodes, services, tasks) into one look; what did not change is not decoded again."""

import hashlib
from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

from berth.dockerapi import holders, marking
from berth.engines.swarm import published, records
from berth.engines.swarm.records import RawService, RawTask, ServiceSpec, TaskTemplate
from berth.engines.swarm.signals import Signals
from berth.engines.swarm.wanted import WAITING
from berth.model import marks
from berth.model.rollout import Phase, SeenUpdate
from berth.model.seen import Life, LifeState, Observed, Other, SeenNode, SlotObject
from berth.model.spec import TaskSpec

T = TypeVar("T")

NOT_ASSIGNED = ("new", "pending")
STARTING = ("assigned", "accepted", "preparing", "ready", "starting", "allocated")
ENDED_BY_ITSELF = ("complete", "failed")
LEAVING = ("shutdown", "remove", "complete", "failed", "orphaned")

UNHEALTHY = "unhealthy container"
PHASES: dict[str, Phase] = {
    "updating": "updating", "paused": "paused", "completed": "completed", "rollback_started": "rolling-back",
    "rollback_paused": "rollback-paused", "rollback_completed": "rolled-back",
}  # fmt: skip

_nodes = msgspec.json.Decoder(list[records.NodeRecord])
_services = msgspec.json.Decoder(list[RawService])
_tasks = msgspec.json.Decoder(list[RawTask])
_service_spec = msgspec.json.Decoder(ServiceSpec)
_template = msgspec.json.Decoder(TaskTemplate)


class Service(msgspec.Struct, frozen=True):
    """A service as far as Berth reads it; `spec` is what it runs, when it is one of Berth's."""

    id: str
    version: int
    created: float
    wanted: ServiceSpec
    digest: str
    spec: TaskSpec | None
    published: tuple[records.PublishedPort, ...] = ()
    update: SeenUpdate | None = None


class Kept(Generic[T]):
    """Values by id and version, forgotten with the list in which they no longer appear."""

    def __init__(self) -> None:
        self._old: dict[str, tuple[int, T]] = {}
        self._new: dict[str, tuple[int, T]] = {}

    def get(self, key: str, version: int) -> T | None:
        """The value made for this version, if there is one."""
        held = self._new.get(key) or self._old.get(key)
        if held is None or held[0] != version:
            return None
        self._new[key] = held
        return held[1]

    def put(self, key: str, version: int, value: T) -> T:
        """Keep a value."""
        self._new[key] = (version, value)
        return value

    def turn(self) -> None:
        """A list is done: forget what was not in it."""
        self._old, self._new = self._new, {}


class Reader:
    """Makes looks from raw lists; an unchanged list costs a comparison of bytes."""

    def __init__(self, signals: Signals) -> None:
        self._raw: tuple[bytes, bytes, bytes] | None = None
        self._last = Observed(began=0.0, ended=0.0)
        self._services: Kept[Service] = Kept()
        self._specs: Kept[TaskTemplate] = Kept()
        self._started: dict[str, float] = {}
        self._running: frozenset[str] = frozenset()
        self._signals = signals
        self._heard = -1

    @property
    def at(self) -> float:
        """When the newest look began (monotonic seconds)."""
        return self._last.began

    def runs(self, task: str) -> bool:
        """True when the newest look shows this task running."""
        return task in self._running

    def read(self, raw: tuple[bytes, bytes, bytes], began: float, ended: float) -> Observed:
        """One look from nodes, services and tasks as they came."""
        if raw == self._raw and self._heard == self._signals.heard:
            self._last = msgspec.structs.replace(self._last, began=began, ended=ended)
            return self._last
        nodes = _nodes.decode(raw[0])
        services = {found.id: self._service(found) for found in _services.decode(raw[1])}
        tasks = _tasks.decode(raw[2])
        self._last = self._whole(nodes, services, tasks, began, ended)
        self._raw, self._heard = raw, self._signals.heard
        self._services.turn()
        self._specs.turn()
        return self._last

    def _whole(
        self,
        nodes: list[records.NodeRecord],
        services: dict[str, Service],
        tasks: list[RawTask],
        began: float,
        ended: float,
    ) -> Observed:
        down = {node.id for node in nodes if node.status.state != "ready"}
        known = {node.id for node in nodes}
        self._remember_starts(tasks)
        lives: list[Life] = []
        strangers: dict[str, list[tuple[RawTask, TaskTemplate]]] = {}
        for task in tasks:
            template = self._task_template(task)
            labels = (template.container_spec.labels if template.container_spec else None) or {}
            if marks.CLUSTER not in labels:
                strangers.setdefault(task.service, []).append((task, template))
                labels = _adopted(services.get(task.service))
            if labels and not _is_placeholder(template):
                lives.append(
                    self._life(task, labels, task.node in down or (task.node != "" and task.node not in known))
                )
        return Observed(
            began=began,
            ended=ended,
            nodes=tuple(map(_node, nodes)),
            lives=_newest_natives(lives, tasks),
            objects=tuple(_object(found) for found in services.values() if _ours(found)),
            others=tuple(_others(services, strangers)),
            ports=tuple(published.ports(services, (task for task in tasks if _holds(task)))),
        )

    def _service(self, found: RawService) -> Service:
        held = self._services.get(found.id, found.version.index)
        if held:
            return held
        wanted = _service_spec.decode(found.spec)
        env = (wanted.task_template.container_spec.env if wanted.task_template.container_spec else None) or []
        return self._services.put(
            found.id,
            found.version.index,
            Service(
                found.id,
                found.version.index,
                found.created.timestamp(),
                wanted,
                hashlib.blake2b(bytes(found.spec), digest_size=8).hexdigest(),
                marking.spec_of(wanted.labels or {}, env),
                _published(found, wanted),
                _update(found.update),
            ),
        )

    def _task_template(self, task: RawTask) -> TaskTemplate:
        """A task's spec never changes."""
        held = self._specs.get(task.id, 0)
        return held or self._specs.put(task.id, 0, _template.decode(task.spec))

    def _remember_starts(self, tasks: list[RawTask]) -> None:
        """Swarm tells only when the last state came: the start has to be kept while it is the last."""
        starts = self._started
        self._running = frozenset(task.id for task in tasks if task.status.state == "running")
        self._started = {}
        for task in tasks:
            if task.status.state == "running":
                self._started[task.id] = starts.get(task.id, task.status.timestamp.timestamp())
            elif task.id in starts:
                self._started[task.id] = starts[task.id]

    def _life(self, task: RawTask, labels: dict[str, str], silent: bool) -> Life:
        state = _state(task, silent)
        status, container = task.status, task.status.container_status
        container_id = container.container if container else ""
        over = state == "exited"
        ran = over and container is not None and bool(container_id)
        job = labels.get(marks.JOB, "")
        return Life(
            task=labels.get(marks.TASK) or f"{job}.{task.slot or task.node}",
            job=job,
            attempt=marks.attempt_of(labels),
            node=task.node,
            state=state,
            engine_id=task.id,
            container_id=container_id,
            object_id=task.service,
            cards=marks.cards_of(labels),
            exit_code=container.exit_code if ran and container else None,
            oom=over and (self._signals.oom(container_id) or "OOM" in status.err),
            killed=_by_itself(status) and self._signals.killed(container_id),
            error=status.err,
            health="unhealthy" if over and UNHEALTHY in status.err else "",
            started_at=self._started.get(task.id),
            ended_at=status.timestamp.timestamp() if over else None,
            labels=labels,
        )


def _state(task: RawTask, silent: bool) -> LifeState:
    """The word for a task. A task that is to be removed but whose container runs still holds its cards."""
    state = task.status.state
    if state in records.OVER:
        return "exited"
    if state == "orphaned" or (silent and state not in NOT_ASSIGNED):
        return "unknown"
    if state == "running":
        return "running"
    if state in STARTING and task.node:
        return "starting"
    return "exited" if task.desired in LEAVING else "pending"


def _by_itself(status: records.TaskStatus) -> bool:
    """Swarm did not end it: neither by order ("shutdown") nor because its health check failed."""
    return status.state in ENDED_BY_ITSELF and UNHEALTHY not in status.err


def _is_placeholder(template: TaskTemplate) -> bool:
    constraints = (template.placement.constraints if template.placement else None) or []
    return WAITING in constraints


def _ours(service: Service) -> bool:
    return marks.CLUSTER in (service.wanted.labels or {})


def _published(found: RawService, wanted: ServiceSpec) -> tuple[records.PublishedPort, ...]:
    """The ports that a service has; those that it asks for, until Swarm has given it any."""
    given = (found.endpoint.ports if found.endpoint else None) or []
    asked = (wanted.endpoint_spec.ports if wanted.endpoint_spec else None) or []
    return tuple(port for port in given or asked if port.number or port.mode == "host")


def _adopted(service: Service | None) -> dict[str, str]:
    """The labels by which a task counts that is older than the take-over of its service: the service's own."""
    labels = (service.wanted.labels or {}) if service is not None and _ours(service) else {}
    return {} if marks.TASK in labels else {key: value for key, value in labels.items() if key != marks.SPEC}


def _newest_natives(lives: list[Life], tasks: list[RawTask]) -> tuple[Life, ...]:
    """Attempts are told apart by their number; of a native slot, whose lives Swarm makes, only the newest counts.

    An older one stays while it still runs.
    """
    born = {task.id: task.created for task in tasks}
    newest: dict[str, Life] = {}
    result = []
    for life in sorted(lives, key=lambda life: born[life.engine_id]):
        if life.attempt:
            result.append(life)
            continue
        older = newest.get(life.task)
        if older and older.state in ("running", "unknown"):
            result.append(older)
        newest[life.task] = life
    return (*result, *newest.values())


def _object(service: Service) -> SlotObject:
    labels = service.wanted.labels or {}
    placement = service.wanted.task_template.placement
    replicated = service.wanted.mode.replicated
    return SlotObject(
        id=service.id,
        name=service.wanted.name,
        version=service.version,
        task=labels.get(marks.TASK, ""),
        job=labels.get(marks.JOB, ""),
        attempt=marks.attempt_of(labels),
        replicas=replicated.replicas if replicated else 1,
        labels=labels,
        constraints=tuple((placement.constraints if placement else None) or ()),
        native=marks.TASK not in labels,
        created_at=service.created,
        digest=service.digest,
        spec=service.spec,
        update=service.update if marks.TASK not in labels else None,
    )


def _update(found: records.UpdateStatus | None) -> SeenUpdate | None:
    """Swarm's own update of a service, in Berth's words."""
    phase = PHASES.get(found.state) if found is not None else None
    if found is None or phase is None:
        return None
    return SeenUpdate(
        phase=phase,
        message=found.message,
        started_at=found.started_at.timestamp() if found.started_at else 0.0,
        ended_at=found.completed_at.timestamp() if found.completed_at else None,
    )


def _others(services: dict[str, Service], strangers: dict[str, list[tuple[RawTask, TaskTemplate]]]) -> Iterable[Other]:
    """Services without Berth's labels, services that are gone but whose tasks still run, and tasks that use cards and
    are older than the take-over of their service.
    """
    for service in services.values():
        if not _ours(service):
            found = _other(service.id, service.wanted.name, service.wanted.task_template, strangers.pop(service.id, []))
            stack, mode = (service.wanted.labels or {}).get(marks.NAMESPACE, ""), service.wanted.mode.replicated
            yield msgspec.structs.replace(found, stack=stack, replicas=mode.replicas if mode else None)
    for gone, tasks in strangers.items():
        running = [(task, template) for task, template in tasks if _holds(task)]
        if running and gone not in services:
            yield _other(gone or running[0][0].id, "", running[0][1], running)
        elif running:
            older = _other(gone, services[gone].wanted.name, running[0][1], running)
            yield from (older,) if older.takes_cards else ()


def _other(key: str, name: str, template: TaskTemplate, tasks: list[tuple[RawTask, TaskTemplate]]) -> Other:
    container = template.container_spec or records.ContainerSpec()
    held = (template.resources.reservations if template.resources else None) or records.Reservation()
    takes, cards = holders.by_environment(container.env or [])
    running = sorted((task for task, _ in tasks if _holds(task)), key=lambda task: (task.slot, task.id))
    generic, named = _generic(held.generic, running)
    return Other(
        id=key,
        name=name or key,
        kind="service",
        nodes=tuple(task.node for task in running),
        tasks=tuple(task.id for task in running),
        constraints=tuple((template.placement.constraints if template.placement else None) or ()),
        cpu_nano=held.cpu,
        memory_bytes=held.memory,
        takes_cards=takes or generic,
        cards=cards or named,
        image=container.image,
        user=container.user,
    )


def _generic(asked: list[records.GenericResource] | None, tasks: list[RawTask]) -> holders.Asks:
    """Cards held as generic resources: Swarm says which value each task got."""
    kinds = [_kind(resource) for resource in asked or []]
    given = [resource.named_resource_spec for task in tasks for resource in task.resources or []]
    names = tuple(spec.value for spec in given if spec and spec.kind.lower() in holders.CARD_KINDS)
    return any(kind in holders.CARD_KINDS for kind in kinds), names


def _kind(resource: records.GenericResource) -> str:
    if resource.named_resource_spec:
        return resource.named_resource_spec.kind.lower()
    return resource.discrete_resource_spec.kind.lower() if resource.discrete_resource_spec else ""


def _holds(task: RawTask) -> bool:
    return bool(task.node) and task.status.state not in (*records.OVER, *NOT_ASSIGNED)


def _node(node: records.NodeRecord) -> SeenNode:
    facts = node.description
    address = node.status.addr
    if address in ("", "0.0.0.0", "127.0.0.1") and node.manager:  # noqa: S104 - what a manager may say of itself
        address = node.manager.addr.rpartition(":")[0]
    return SeenNode(
        engine_id=node.id,
        hostname=facts.hostname,
        version=node.version.index,
        ip=address,
        role=node.spec.role,
        os=facts.platform.os.lower() or "linux",
        arch=facts.platform.arch,
        labels=node.spec.labels or {},
        engine_labels=facts.engine.labels or {},
        cpu_nano=facts.resources.cpu,
        memory_bytes=facts.resources.memory,
        up=node.status.state == "ready",
        available=node.spec.availability == "active",
    )
