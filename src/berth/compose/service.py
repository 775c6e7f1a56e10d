"""One service of a stack file -> one draft: its parts are read by container, deploy, storage, objects, and cards."""

from collections.abc import Iterator
from typing import Any

import msgspec

from berth.compose import (
    cards,
    container,
    deploy,
    guard,
    keys,
    lint,
    objects,
    ports,
    reservations,
    rollout,
    storage,
    surroundings,
    units,
)
from berth.compose.cards import Ask, Signs
from berth.compose.deploy import Constraints
from berth.compose.facts import Facts
from berth.compose.fields import Fields, Var
from berth.compose.guard import Mounted
from berth.compose.lint_rules import Looked
from berth.compose.places import Places
from berth.compose.report import Report
from berth.compose.reservations import Reserved
from berth.compose.scope import Scope
from berth.compose.sections import Objects
from berth.compose.text import Place
from berth.model import marks
from berth.model.draft import Draft
from berth.model.spec import FileRef, Limits, NetworkUse, Request, Restart, Rollout, Surroundings, TaskSpec

_TASK_LABEL = "gpu.task"


class Setting(msgspec.Struct):
    """What a service is read in: the stack's name, its objects, the variables, the server's facts, x-berth defaults."""

    stack: str
    objects: Objects
    scope: Scope
    facts: Facts
    directory: str = ""
    time_limit_s: float | None = None
    lint_ignored: frozenset[str] = frozenset()


class Read(msgspec.Struct):
    """A draft, the keys in the file of the networks that it uses, and what lint looks at."""

    draft: Draft
    networks: tuple[str, ...]
    looked: Looked


class _Parts(msgspec.Struct):
    """A service's parts that several steps need."""

    env: dict[str, Var]
    labels: dict[str, Var]
    deploy_labels: dict[str, Var]
    constraints: Constraints
    reserved: Reserved
    mounts: list[Mounted]
    networks: dict[str, NetworkUse]
    around: Surroundings
    ask: Ask | None = None


def service(name: str, one: Fields, setting: Setting) -> Read:
    """Read a service. What is wrong is noted in the report of its fields."""
    table = one.table("deploy", keys.DEPLOY)
    resources = table.table("resources", keys.RESOURCES)
    held = resources.table("reservations", keys.RESERVATIONS)
    parts = _parts(one, table, held, setting)
    parts.ask = cards.settle(_signs(one, parts), one.report)
    request = _request(parts, held)
    native = not request.wants_cards and parts.constraints.swarm
    _guarded(one, parts, request.wants_cards, native, setting)
    spec = msgspec.structs.replace(
        _spec(one, parts, setting),
        request=request,
        limits=deploy.limits(resources),
        restart=_restart(one, table, request.wants_cards and not table.text("mode").endswith("-job")),
        **_of_deploy(one, table),
    )
    said = _explicit(one, spec, resources, table)
    spec = msgspec.structs.replace(spec, explicit=tuple(name for name in said if native or name == "limits"))
    draft = Draft(
        name=f"{setting.stack}_{name}",
        spec=_as_placed(one, spec, native, setting.facts),
        service=name,
        replicas=deploy.replicas(table),
        native=native,
        where=_where(one, parts.ask, setting.objects),
    )
    return Read(draft, tuple(parts.networks), _looked(name, one, parts, setting))


def _looked(name: str, one: Fields, parts: _Parts, setting: Setting) -> Looked:
    quiet = Fields(one.mapping, one.path, Report())
    capabilities = (Var(text, place, one.field("cap_add")) for text, place in quiet.strings("cap_add"))
    return Looked(
        name=name,
        image=_var(quiet, "image"),
        user=Var(quiet.text("user"), one.at("user"), one.field("user")),
        env=parts.env,
        mounts=parts.mounts,
        capabilities=tuple(capabilities),
        flags=dict(_opening(quiet, parts)),
        ignored=setting.lint_ignored | lint.ignored(one.table("x-berth", keys.BERTH)),
    )


def _opening(quiet: Fields, parts: _Parts) -> Iterator[tuple[str, Var]]:
    """The keys that open the host, or would where Docker does not ignore them."""
    if quiet.flag("privileged"):
        yield "privileged", _var(quiet, "privileged")
    if quiet.text("network_mode") == "host":
        yield "network", _var(quiet, "network_mode")
    elif any(use.name == "host" for use in parts.networks.values()):
        yield "network", _var(quiet, "networks")


def _var(one: Fields, key: str) -> Var:
    return Var(one.text(key) if one.is_word(key) else None, one.at(key), one.field(key))


def _guarded(one: Fields, parts: _Parts, cards: bool, native: bool, setting: Setting) -> None:
    """Note what would open cards, or the host, past the ledger, and placeholders that cannot be filled in."""
    labels = {name: var.value or "" for name, var in parts.deploy_labels.items()}
    labels |= {marks.NAMESPACE: setting.stack, marks.IMAGE: one.text("image")}
    guard.mounts(parts.mounts, cards, setting.facts.admin, one.report, labels)
    for text in parts.around.tmpfs:
        guard.target(text.partition(":")[0], one.at("tmpfs"), one.field("tmpfs"), one.report)
    guard.privileges(one, cards)
    if cards:
        surroundings.with_cards(one, parts.around)
    if not native:
        guard.templates(one, parts.env, parts.mounts, labels)


def _of_deploy(one: Fields, table: Fields) -> dict[str, Any]:
    """Fields of the spec that the deploy section gives, and the ports, whose meaning hangs on them."""
    return {
        "mode": deploy.mode(table),
        "endpoint_mode": deploy.endpoint_mode(table),
        "update": rollout.rollout(table, "update_config"),
        "rollback": rollout.rollout(table, "rollback_config"),
        "spread": deploy.spread(table.table("placement", keys.PLACEMENT)),
        "ports": ports.ports(one),
    }


def _explicit(one: Fields, spec: TaskSpec, resources: Fields, table: Fields) -> Iterator[str]:
    """What the file gives with the very value that counts where it gives none."""
    held = spec.request.cpu_nano or spec.request.memory_bytes or spec.request.generic
    if resources.node("limits") is not None and spec.limits == Limits():
        yield "limits"
    if resources.node("reservations") is not None and not held and not spec.request.wants_cards:
        yield "reservations"
    says = table.node("restart_policy") is not None or one.text("restart") in ("always", "unless-stopped")
    if spec.restart == deploy.DOCKERS and says:
        yield "restart"
    restart = table.table("restart_policy")
    times = ((restart, "restart.delay", 5.0), (restart, "restart.window", 0.0))
    rollouts = ((table.table(f"{key}_config"), f"{key}.monitor", Rollout().monitor_s) for key in ("update", "rollback"))
    for where, name, value in (*times, *rollouts):
        if where.seconds(name.partition(".")[2]) == value:
            yield name


def _as_placed(one: Fields, spec: TaskSpec, native: bool, facts: Facts) -> TaskSpec:
    """The spec without what the one who places the service cannot give it, each with a warning or a refusal."""
    around = surroundings.only_on_a_host(one, spec.around, facts.host, one.report)
    spec = msgspec.structs.replace(spec, around=around)
    if not facts.host and any(mount.kind == "image" for mount in spec.mounts):
        one.wrong("volumes", "bad-mount", "a Swarm has no mounts of type image.", "Copy the files into the image.")
    return _without_shm(one, spec) if native and facts.native else spec


def _without_shm(one: Fields, spec: TaskSpec) -> TaskSpec:
    if one.node("shm_size") is None:
        return spec
    message = "shm_size: docker stack deploy ignores it, and so does Berth in a service that Swarm places."
    hint = "Write it as a mount: volumes: [{type: tmpfs, target: /dev/shm, tmpfs: {size: 1073741824}}]"
    one.report.warn(one.at("shm_size"), "key-ignored", message, hint, one.field("shm_size"))
    return msgspec.structs.replace(spec, shm_bytes=0)


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
        around=surroundings.surroundings(one, setting.objects.configs),
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
        env=tuple(sorted(env.items(), key=_line)),
        labels=guard.labels(parts.deploy_labels, one.report),
        container_labels={**copied, **guard.labels(parts.labels, one.report)},
        mounts=tuple(mounted.mount for mounted in parts.mounts),
        networks=tuple(parts.networks.values()),
        around=parts.around,
        secrets=objects.file_refs(one, "secret", setting.objects.secrets),
        configs=_with_credential(objects.file_refs(one, "config", setting.objects.configs), parts.around),
        time_limit_s=container.time_limit(one, setting.time_limit_s),
    )


def _with_credential(configs: tuple[FileRef, ...], around: Surroundings) -> tuple[FileRef, ...]:
    """The configs, among them one that is a credential spec."""
    if around.credential is None or not around.credential.config:
        return configs
    used = FileRef(source=around.credential.config, target="", runtime=True)
    return tuple(sorted((*configs, used), key=lambda ref: ref.source))


def _line(pair: tuple[str, str | None]) -> str:
    """A variable as it is sent: the docker CLI sorts these lines, not the names."""
    name, value = pair
    return name if value is None else f"{name}={value}"


def _restart(one: Fields, table: Fields, should_say: bool) -> Restart:
    found = deploy.restart(one, table)
    if found is None and should_say and one.node("restart") is None:
        message = (
            "without a restart_policy the task runs again whenever it ends, even after success (Docker's default)."
        )
        hint = "For work that ends: deploy.restart_policy: {condition: on-failure, max_attempts: 3}"
        place = one.at("deploy") if one.node("deploy") is not None else one.name
        one.report.warn(place, "restart-default", message, hint, one.field("deploy.restart_policy"))
    return found or deploy.DOCKERS


def _where(one: Fields, ask: Ask | None, declared: Objects) -> Places:
    """The place of every field below the service, with its name from the top of the file; of what the engine must have
    by the engine's own name, too: `secrets/NAME`.
    """
    more: dict[str, tuple[Place | None, str]] = {} if ask is None else {"gpus": (ask.place, ask.field)}
    names = {"secrets": declared.secrets, "configs": declared.configs}
    names["networks"] = {key: network.name for key, network in declared.networks.items()}
    for key, known in names.items():
        for name, place, path in objects.places_of(one, key):
            more[f"{key}/{known.get(name, name)}"] = place, path
    return Places(one.mapping, one.path, one.name, more)
