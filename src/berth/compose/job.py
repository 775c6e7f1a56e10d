"""Job files (YAML) and job bodies (JSON) -> drafts; both go through one body, so both get the same answers."""

import re
from typing import Any

import msgspec

from berth.compose import cards, guard, keys, lint, storage, tree, units, unknown
from berth.compose.body import JobBody, LimitsBody, mistake
from berth.compose.cards import Ask, Signs
from berth.compose.container import image_problem
from berth.compose.deploy import CONDITIONS, Constraints
from berth.compose.facts import Facts
from berth.compose.fields import Var
from berth.compose.guard import Mounted
from berth.compose.job_values import Reader, Where
from berth.compose.lint_rules import Looked
from berth.compose.places import Places
from berth.compose.report import Report
from berth.compose.text import Place, decode
from berth.compose.tree import Items, Node, Scalar
from berth.model.draft import Draft, SourceFile
from berth.model.errors import BadInput, Problem, settle
from berth.model.spec import FileRef, Limits, Request, Restart, TaskSpec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_STAND_IN = "stand-in"
_NUMBERS = frozenset(("gpus", "priority", "max_attempts", "pids"))


def load_job(data: bytes, path: str, facts: Facts) -> Draft:
    """The same as `read_job`. Raises BadInput with everything that is wrong, each with its line; Refused."""
    return _right(read_job(data, path, facts))


def read_job(data: bytes, path: str, facts: Facts, strict: bool | None = None) -> Draft:
    """The draft of a job file with all that is wrong in it. `strict` takes what lint finds as errors, False as
    warnings; None does not look. Raises BadInput for what is no YAML.
    """
    report = Report()
    whole = tree.read(decode(SourceFile(path, data)), report.problems)
    if "services" in whole.entries and "image" not in whole.entries:
        message = "this is a stack file, not a job file."
        at = whole.entries["services"].key
        raise BadInput(at.problem("unknown-key", message, f"Type: berth stack deploy -c {path} NAME", "services"))
    unknown.check(keys.JOB, whole, "", report)
    values = {name: _plain(entry.node, name) for name, entry in whole.entries.items() if name in keys.JOB.carried}
    found = _places(whole, "")
    where = Where({path: value for path, _, value in found}, whole.place, {path: key for path, key, _ in found})
    draft = _draft(_body(values, where, report), facts, where, report, strict)
    return msgspec.structs.replace(draft, where=Places(whole, "", whole.place, _elsewhere(draft, where)))


def draft_job(body: JobBody, facts: Facts, strict: bool = False) -> Draft:
    """The same as `read_body`, where lint is asked only if `strict`. Raises BadInput with everything that is wrong,
    each with its field; Refused.
    """
    return _right(read_body(body, facts, strict or None))


def read_body(body: JobBody, facts: Facts, strict: bool | None = None) -> Draft:
    """The draft of a job that came as JSON, with all that is wrong in it, each with its field; `strict` as above."""
    return _draft(body, facts, Where({}, None), Report(), strict)


def _right(draft: Draft) -> Draft:
    settle(draft.problems, draft.refusals)
    return draft


def _draft(body: JobBody, facts: Facts, where: Where, report: Report, strict: bool | None = None) -> Draft:
    read = Reader(body, where, report)
    env, constraints = read.env(), read.constraints(facts)
    ask = cards.settle(_signs(read, env, constraints), report)
    request = _request(read, constraints, ask)
    mounts = [
        mount
        for n, text in enumerate(body.volumes)
        for mount in storage.from_short(text, where.at(f"volumes.{n}"), f"volumes.{n}", None, report)
    ]
    guard.mounts(mounts, request.wants_cards, facts.admin, report)
    _check(read)
    spec = TaskSpec(
        image=body.image,
        args=_args(read),
        env=tuple(guard.environment(env, report).items()),
        user=str(body.user),
        mounts=tuple(mounted.mount for mounted in mounts),
        secrets=tuple(FileRef(source=name, target=name) for name in body.secrets),
        shm_bytes=read.measured("shm_size", body.shm_size, units.size),
        request=request,
        limits=_limits(read),
        restart=_restart(read),
        time_limit_s=_time(read),
    )
    lint.note([_looked(body, where, env, mounts)], strict, report)
    return Draft(
        name=body.name, spec=spec, warnings=report.told(report.warnings),
        problems=report.told(report.problems), refusals=report.told(report.refusals),
        where={"gpus": Problem(code="", message="", field=ask.field)} if ask is not None else {},
    )  # fmt: skip


def _signs(read: Reader, env: dict[str, Var], constraints: Constraints) -> Signs:
    asked = read.gpus()
    model = Ask("model", read.where.at("model"), "model", gpus=1) if read.body.model else None
    return Signs(structured=[asked] if asked else [], env=env, free=constraints.free, label=model)


def _request(read: Reader, constraints: Constraints, ask: Ask | None) -> Request:
    held = read.body.resources.reservations if read.body.resources else None
    return Request(
        gpus=ask.gpus if ask else 0,
        all_matching=ask.all_matching if ask else False,
        named=ask.named if ask else (),
        constraints=constraints.texts,
        cpu_nano=read.measured("resources.reservations.cpus", held.cpus if held else None, units.nano_cpus),
        memory_bytes=read.measured("resources.reservations.memory", held.memory if held else None, units.size),
    )


def _limits(read: Reader) -> Limits:
    given = (read.body.resources.limits if read.body.resources else None) or LimitsBody()
    return Limits(
        cpu_nano=read.measured("resources.limits.cpus", given.cpus, units.nano_cpus),
        memory_bytes=read.measured("resources.limits.memory", given.memory, units.size),
        pids=max(0, given.pids or 0),
    )


def _restart(read: Reader) -> Restart:
    given = read.body.restart
    if given is None:
        return Restart()
    if given.condition not in CONDITIONS:
        hint = f"Write one of: {', '.join(CONDITIONS)}"
        read.wrong("restart.condition", "bad-value", f"condition: {given.condition[:40]} does not exist.", hint)
    if given.max_attempts is not None and given.max_attempts < 0:
        read.wrong("restart.max_attempts", "out-of-range", "max_attempts is negative.", "Write max_attempts: 3")
    delay = read.measured("restart.delay", given.delay, units.nanoseconds)
    return Restart(
        condition=CONDITIONS.get(given.condition, "none"),
        delay_s=5.0 if given.delay is None else delay / units.NANO,
        max_attempts=given.max_attempts or None,
        window_s=read.measured("restart.window", given.window, units.nanoseconds) / units.NANO,
    )


def _time(read: Reader) -> float | None:
    if read.body.time is None:
        return None
    found = read.measured("time", read.body.time, units.nanoseconds)
    if not found and not read.report.problems:
        read.wrong("time", "bad-value", "a time limit of 0 would end the job at once.", "Write time: 2h")
    return found / units.NANO


def _looked(body: JobBody, where: Where, env: dict[str, Var], mounts: list[Mounted]) -> Looked:
    """What lint looks at; a job without a file was typed."""
    return Looked(
        name=body.name,
        image=Var(body.image, where.at("image"), "image"),
        user=Var(str(body.user), where.at("user"), "user"),
        env=env,
        mounts=mounts,
        typed=where.at("image") is None,
    )


def _elsewhere(draft: Draft, where: Where) -> dict[str, tuple[Place | None, str]]:
    """Places of what is asked about by another name than that of its key: cards (perhaps a variable), each secret."""
    fields = {name: problem.field for name, problem in draft.where.items()}
    fields |= {f"secrets/{ref.source}": f"secrets.{n}" for n, ref in enumerate(draft.spec.secrets)}
    return {name: (where.at(field), field) for name, field in fields.items()}


def _args(read: Reader) -> tuple[str, ...] | None:
    command = read.body.command
    if not isinstance(command, str):
        return tuple(command) or None
    try:
        return units.words(command) or None
    except ValueError as error:
        message, hint = error.args
        read.wrong("command", "bad-value", message, hint)
        return None


def _check(read: Reader) -> None:
    body = read.body
    wrong = image_problem(body.image)
    if wrong is not None:
        read.wrong("image", "image-missing" if not body.image else "bad-image", *wrong)
    if body.name and not _NAME.fullmatch(body.name):
        message = f"'{body.name[:80]}' cannot name a job: letters, digits, and - _ . between them, 63 at most."
        read.wrong("name", "bad-job-name", message, "Write name: train")
    if body.queue != "default":
        read.wrong("queue", "unknown-queue", f"there is no queue {body.queue[:80]}.", "Write queue: default")
    if body.priority != 50:
        read.wrong("priority", "key-not-carried", "priorities are not carried yet.", "Leave it out, or write 50.")
    for n, name in enumerate(body.secrets):
        if not name.strip() or "/" in name:
            read.wrong(f"secrets.{n}", "bad-value", f"'{name[:80]}' is not the name of a secret.", "Write its name.")


def _plain(node: Node, name: str) -> Any:
    """The node as plain values; a number is text as it is written, except where a number is meant."""
    if isinstance(node, Scalar):
        numeric = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        return node.written if numeric and name not in _NUMBERS else node.value
    if isinstance(node, Items):
        return [_plain(item, name) for item in node.items]
    return {key: _plain(entry.node, key if name != "env" else "") for key, entry in node.entries.items()}


def _places(node: Node, path: str) -> list[tuple[str, Place, Place]]:
    """(path, place of the key, place of the value) of everything below a node."""
    found = []
    for name, key, child in tree.children(node):
        below = f"{path}.{name}" if path else name
        found.append((below, key, child.place if isinstance(child, Scalar) else key))
        found += _places(child, below)
    return found


def _body(values: dict[str, Any], where: Where, report: Report) -> JobBody:
    """The body of a job file. What has a wrong type is noted and left out, until the rest fits."""
    values = {name: value for name, value in values.items() if value is not None}
    while True:
        try:
            return msgspec.convert(values, JobBody)
        except msgspec.ValidationError as error:
            wrong = mistake(error)
            field = re.sub(r"\[(\d+)\]", r".\1", wrong.field)
            place = where.key(field) if wrong.key else where.at(field)
            report.wrong(place, wrong.code, wrong.message, wrong.hint, field or "image")
            if not _drop(values, field):
                values = {"image": _STAND_IN, **(values if "image" not in values else {})}


def _drop(values: dict[str, Any], field: str) -> bool:
    """Take the innermost key on the way to a field out of the values; False when the way leads nowhere."""
    holder, last, here = values, "", values
    for part in field.split("."):
        if not isinstance(here, dict) or part not in here:
            break
        holder, last, here = here, part, here[part]
    return last != "" and holder.pop(last, _STAND_IN) is not _STAND_IN
