"""One service of a stack file -> one draft: its parts are read by container, deploy, storage, objects, and cards."""

from collections.abc import Iterator

import msgspec

from berth.compose import cards, container, deploy, guard, keys, objects, reservations, storage, units
from berth.compose.cards import Ask, Signs
from berth.compose.deploy import Constraints
from berth.compose.facts import Facts
from berth.compose.fields import Fields, Var
from berth.compose.guard import Mounted
from berth.compose.objects import Objects
from berth.compose.reservations import Reserved
from berth.compose.scope import Scope
from berth.compose.text import Place
from berth.compose.tree import Node, Scalar, children
from berth.model.draft import Draft
from berth.model.errors import Problem
from berth.model.spec import NetworkUse, Request, Restart, TaskSpec

_TASK_LABEL = "gpu.task"


class Setting(msgspec.Struct):
    """What a service is read in: the stack's name, its objects, the variables, the server's facts, x-berth defaults."""

    stack: str
    objects: Objects
    scope: Scope
    facts: Facts
    directory: str = ""
    time_limit_s: float | None = None


class Read(msgspec.Struct):
    """A draft, and the keys in the file of the networks that it uses."""

    draft: Draft
    networks: tuple[str, ...]


class _Parts(msgspec.Struct):
    """A service's parts that several steps need."""

    env: dict[str, Var]
    labels: dict[str, Var]
    deploy_labels: dict[str, Var]
    constraints: Constraints
    reserved: Reserved
    mounts: list[Mounted]
    networks: dict[str, NetworkUse]
    ask: Ask | None = None


def service(name: str, one: Fields, setting: Setting) -> Read:
    """Read a service. What is wrong is noted in the report of its fields."""
    table = one.table("deploy", keys.DEPLOY)
    resources = table.table("resources", keys.RESOURCES)
    held = resources.table("reservations", keys.RESERVATIONS)
    parts = _parts(one, table, held, setting)
    parts.ask = cards.settle(_signs(one, parts), one.report)
    request = _request(parts, held)
    guard.mounts(parts.mounts, request.wants_cards, setting.facts.admin, one.report)
    guard.privileges(one, request.wants_cards)
    native = not request.wants_cards and parts.constraints.swarm
    if not native:
        guard.templates(one, parts.env, parts.mounts)
    spec = _spec(one, parts, setting)
    spec = msgspec.structs.replace(
        spec, request=request, limits=deploy.limits(resources), restart=_restart(one, table, request.wants_cards)
    )
    draft = Draft(
        name=f"{setting.stack}_{name}",
        spec=spec,
        service=name,
        replicas=deploy.replicas(table),
        native=native,
        where=_where(one, parts.ask),
    )
    return Read(draft, tuple(parts.networks))


def _parts(one: Fields, table: Fields, held: Fields, setting: Setting) -> _Parts:
    placement = table.table("placement", keys.PLACEMENT)
    path = placement.field("constraints")
    return _Parts(
        env=container.environment(one, setting.scope),
        labels=one.pairs("labels"),
        deploy_labels=table.pairs("labels"),
        constraints=deploy.constraints(placement.strings("constraints"), path, setting.facts, one.report),
        reserved=reservations.reserved(one, held),
        mounts=storage.mounts(one, storage.Stacked(setting.objects.volumes, setting.directory)),
        networks=objects.network_uses(one, setting.objects.networks),
    )


def _signs(one: Fields, parts: _Parts) -> Signs:
    runtime = one.text("runtime")
    if runtime not in ("", "nvidia"):
        message = f"runtime: {runtime[:40]} is not carried yet."
        one.wrong("runtime", "key-not-carried", message, "Remove it, or write runtime: nvidia")
    label = _task_label(parts)
    return Signs(
        structured=parts.reserved.asks,
        env=parts.env,
        free=parts.constraints.free,
        label=Ask(f"the label {_TASK_LABEL}=true", label.place, label.field, gpus=1) if label else None,
        runtime=Ask("runtime: nvidia", one.at("runtime"), one.field("runtime"), 1) if runtime == "nvidia" else None,
    )


def _task_label(parts: _Parts) -> Var | None:
    for pairs in (parts.deploy_labels, parts.labels):
        found = pairs.get(_TASK_LABEL)
        if found is not None and (found.value or "").strip().lower() == "true":
            return found
    return None


def _request(parts: _Parts, held: Fields) -> Request:
    ask = parts.ask
    return Request(
        gpus=ask.gpus if ask else 0,
        all_matching=ask.all_matching if ask else False,
        named=ask.named if ask else (),
        constraints=parts.constraints.texts,
        cpu_nano=held.measured("cpus", units.nano_cpus) or 0,
        memory_bytes=held.measured("memory", units.size) or 0,
        generic=parts.reserved.generic,
    )


def _spec(one: Fields, parts: _Parts, setting: Setting) -> TaskSpec:
    label = _task_label(parts)
    copied = {_TASK_LABEL: label.value or ""} if label else {}
    env = guard.environment(parts.env, one.report)
    if parts.reserved.capabilities:
        env.setdefault(reservations.CAPABILITIES, ",".join(parts.reserved.capabilities))
    base = container.spec(one)
    return msgspec.structs.replace(
        base,
        env=tuple(sorted(env.items())),
        labels=guard.labels(parts.deploy_labels, one.report),
        container_labels={**copied, **guard.labels(parts.labels, one.report)},
        mounts=tuple(mounted.mount for mounted in parts.mounts),
        networks=tuple(parts.networks.values()),
        secrets=objects.file_refs(one, "secrets", setting.objects.secrets),
        configs=objects.file_refs(one, "configs", setting.objects.configs),
        time_limit_s=container.time_limit(one, setting.time_limit_s),
    )


def _restart(one: Fields, table: Fields, has_cards: bool) -> Restart:
    found = deploy.restart(one, table)
    if found is None and has_cards and one.node("restart") is None:
        message = (
            "without a restart_policy the task runs again whenever it ends, even after success (Docker's default)."
        )
        hint = "For work that ends: deploy.restart_policy: {condition: on-failure, max_attempts: 3}"
        place = one.at("deploy") if one.node("deploy") is not None else one.name
        one.report.warn(place, "restart-default", message, hint, one.field("deploy.restart_policy"))
    return found or deploy.DOCKERS


def _where(one: Fields, ask: Ask | None) -> dict[str, Problem]:
    """The place of every field below the service, with its name from the top of the file."""
    where = {path: place.problem("", "", field=one.field(path)) for path, place in _places(one.mapping, "")}
    if ask is not None and ask.place is not None:
        where["gpus"] = ask.place.problem("", "", field=ask.field)
    return where


def _places(node: Node, path: str) -> Iterator[tuple[str, Place]]:
    for name, key, child in children(node):
        below = f"{path}.{name}" if path else name
        yield below, child.place if isinstance(child, Scalar) else key
        yield from _places(child, below)
