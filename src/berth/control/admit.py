"""Admit: turn drafts into jobs. All that is wrong is found first, in one go; then one batch creates everything."""

import re
import secrets
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from berth.control import everywhere, files, publish, pullable
from berth.control.context import Control
from berth.control.gather import Gathered, placed
from berth.core.everywhere import covers_nodes
from berth.core.fit import too_many
from berth.core.named import card_problems
from berth.model.change import Batch, PutJob, PutTask
from berth.model.draft import Draft
from berth.model.errors import Problem
from berth.model.job import MOST_SLOTS, Job, Network, Task
from berth.model.token import Actor

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
NAME_LIMIT = 63


def new_id(control: Control) -> str:
    """A short job id that no job in memory has."""
    while True:
        made = "".join(secrets.choice(ALPHABET) for _ in range(7))
        if made not in control.cluster.jobs and not made.isdigit():
            return made


def make_job(control: Control, actor: Actor, draft: Draft, stack: str = "") -> Job:
    """The job of a draft, not yet committed. A repeated name of a job of its own is told apart by its id."""
    job_id, (submitted_at, seq) = new_id(control), control.submission()
    name = f"{stack}_{draft.service}" if stack else draft.name or f"job-{job_id}"
    used = not stack and (bool(control.cluster.work.named(name)) or engine_word(name) in control.coming_names)
    return Job(
        id=job_id,
        name=name,
        spec=draft.spec,
        engine_name=name if stack else f"{engine_word(name)}-{job_id}" if used else engine_word(name),
        stack=stack,
        service=draft.service,
        queue=draft.queue,
        user=actor.name,
        priority=draft.priority,
        replicas=draft.replicas,
        native=draft.native and control.engine.capabilities.native,
        submitted_at=submitted_at,
        seq=seq,
        warnings=tuple(_said(warning) for warning in (*draft.warnings, *pullable.warnings(control, [draft]))),
        demands=pullable.demands(draft),
    )


def _said(warning: Problem) -> str:
    place = f"{warning.file}:{warning.line}: " if warning.file else ""
    return f"{place}{warning.message} {warning.hint}".strip()


def engine_word(name: str) -> str:
    """The name as an engine accepts it: letters, digits, `_` and `-`; with room for a slot's number."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[: NAME_LIMIT - 14] or "job"


def new_tasks(control: Control, job: Job) -> Batch:
    """The job and its tasks, all waiting."""
    if covers_nodes(job):
        job, tasks = everywhere.first_slots(control, job)
        return (PutJob(job), *map(PutTask, tasks))
    slots = () if job.native else range(1, job.replicas + 1)
    return (PutJob(job), *(PutTask(Task(id=f"{job.id}.{slot}", job=job.id, slot=slot)) for slot in slots))


async def check(
    control: Control, drafts: Sequence[Draft], networks: tuple[Network, ...] = (), coming: files.Coming = frozenset()
) -> None:
    """Raise BadInput or Refused with everything that is wrong, before anything is created; each with its place.

    `coming` are the secrets and configs that are not there yet since the stack itself brings them.
    """
    wrong = Gathered(_own(draft.problems for draft in drafts), _own(draft.refusals for draft in drafts))
    wrong.problems += _counts(control, drafts)
    wrong.problems += [placed(problem, draft) for draft, problem in pullable.refusals(control, drafts)]
    wrong.problems += [placed(problem, draft) for draft, problem in publish.problems(control, drafts)]
    asked: dict[bytes, tuple[Problem, ...]] = {}
    for draft in drafts:
        spec = files.without(draft.spec, coming)
        wrong.problems += [placed(problem, draft) for problem in files.missing(control, spec)]
        joined = {use.name for use in spec.networks}
        used = tuple(network for network in networks if network.name in joined)
        mounted = tuple((n, mount.driver) for n, mount in enumerate(spec.mounts) if mount.driver)
        logged = spec.around.logging
        if not (spec.secrets or spec.configs or used or mounted or logged):
            continue
        key = msgspec.json.encode((spec.secrets, spec.configs, used, mounted, logged))
        with wrong.noting():
            if key not in asked:
                asked[key] = await control.engine.problems(spec, used)
            wrong.problems += [placed(problem, draft) for problem in asked[key]]
    wrong.finish()


def _own(found: Iterable[tuple[Problem, ...]]) -> Iterator[Problem]:
    return (problem for problems in found for problem in problems)


def _counts(control: Control, drafts: Sequence[Draft]) -> list[Problem]:
    """Numbers that no known node could ever meet; many drafts of one shape are asked about once."""
    views, found = control.views.nodes(), []
    shape, told = None, None
    for draft in drafts:
        if draft.replicas > MOST_SLOTS:
            text = f"{draft.replicas} replicas are more than Berth takes for one job ({MOST_SLOTS})"
            found.append(placed(Problem(code="too-many-replicas", message=text, field="deploy.replicas"), draft))
        if shape is None or draft.spec.request != shape:
            shape, told = draft.spec.request, too_many(draft.spec.request, views)
        if told:
            hint = "Ask for fewer cards, or spread the work over several tasks; 'berth gpus' shows what there is"
            found.append(placed(Problem(code="too-many-cards", message=told, hint=hint, field="gpus"), draft))
        found += [placed(problem, draft) for problem in card_problems(draft.spec.request, views)]
    return found
