"""Makes the API's objects from the cluster's values; nothing here waits or writes."""

from collections.abc import Sequence
from datetime import UTC, datetime

from berth.api import views
from berth.api.native import native_tasks
from berth.control.mirror.cluster import Cluster
from berth.core.rollout import in_words, progress, settings
from berth.core.status import JobStatus, handing_over, job_status
from berth.model.card import WHOLE
from berth.model.errors import Problem
from berth.model.job import Job, Task
from berth.model.lifecycle import OCCUPYING
from berth.model.node import Node
from berth.model.rollout import OVER
from berth.model.snapshot import CardView, NodeView

SIMULATED = "simulated"
"""The `agent` of nodes whose cards the server itself simulates: it is there as long as the server is."""


def moment(seconds: float | None) -> datetime | None:
    """Seconds since the epoch as a time in UTC; None for none (0 stands for never)."""
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def error(problem: Problem) -> views.Error:
    """A problem as INTERFACE's error."""
    return views.Error(
        code=problem.code,
        message=problem.message,
        field=problem.field,
        file=problem.file,
        line=problem.line or None,
        column=problem.column or None,
        excerpt=problem.excerpt,
        cut=problem.cut or None,
        hint=problem.hint,
    )


def cards(cluster: Cluster, view: NodeView) -> list[views.Card]:
    """The cards of one node by index."""
    note = node_reason(view.node)
    note = f"node {view.node.name}: {note}" if note else ""
    return [_card(cluster, one, note) for one in view.cards]


def _card(cluster: Cluster, view: CardView, note: str) -> views.Card:
    card = view.card
    held = [cluster.ledger.holders[card.uuid][task] for task in view.holders]
    holders = [
        views.Holder(job_of(task), task, share.milli, share.mib) for task, share in zip(view.holders, held, strict=True)
    ]
    first = cluster.jobs.get(holders[0].job) if holders else None
    state, reason = card.obstacle or ("used" if holders else "free", note)
    return views.Card(
        uuid=card.uuid,
        node=card.node,
        index=card.index,
        vendor=card.vendor,
        model=card.model,
        memory_mib=card.memory_mib,
        driver=card.driver,
        cuda=card.cuda,
        state=state,
        reason=reason,
        job=holders[0].job if holders else None,
        job_name=first.name if first is not None else None,
        task=holders[0].task if holders else None,
        share=(WHOLE - view.room.milli) / WHOLE,
        holders=holders,
        declared=card.declared,
        numa=card.numa,
        nvlink=card.nvlink,
    )


def job_of(task_id: str) -> str:
    """The job's id in a task's id."""
    return task_id.rpartition(".")[0]


def node_reason(node: Node) -> str:
    """Why no work starts on the node, in words; "" when nothing stands against it."""
    match node.state:
        case "ready":
            return ""
        case "gone":
            return "the engine no longer has it"
        case "fenced":
            return f"fenced: {node.fence}"
        case "silent":
            return "it does not answer"
        case "draining":
            return f"draining: {node.drain or 'the engine takes no work there'}"


def node(view: NodeView) -> views.Node:
    """A node with its counts."""
    one = view.node
    return views.Node(
        name=one.name,
        engine=one.engine,
        state=one.state,
        reason=node_reason(one),
        labels=one.all_labels,
        taints=[],
        cards=len(view.cards),
        free=view.free_cards,
        agent=one.agent or None,
        agent_up=one.agent_up or one.agent == SIMULATED,
        flag=one.complaint,
        hostname=one.hostname,
        role=one.role,
        os=one.os,
        arch=one.arch,
        cpus=one.cpu_nano / 1e9,
        memory_mib=one.memory_bytes >> 20,
        withheld=one.withheld,
    )


def removed_node(one: Node) -> views.Node:
    """A node that has just been forgotten, as it was, without cards."""
    return node(NodeView(one))


def tasks_of(cluster: Cluster, job: Job) -> tuple[Task, ...]:
    """The tasks of a job in memory; those of a native service as the engine shows them."""
    return native_tasks(cluster, job) if job.native else cluster.tasks_of(job.id)


def status(cluster: Cluster, job: Job, tasks: Sequence[Task]) -> JobStatus:
    """The job's state in words."""
    return job_status(job, tasks, cluster.waits)


def job(cluster: Cluster, one: Job, tasks: Sequence[Task] | None = None) -> views.Job:
    """A job with its tasks (those in memory unless given)."""
    tasks = tasks_of(cluster, one) if tasks is None else tasks
    now = status(cluster, one, tasks)
    ask = one.spec.request
    return views.Job(
        id=one.id,
        name=one.name,
        stack=one.stack or None,
        service=one.service or None,
        queue=one.queue,
        user=one.user,
        priority=one.priority,
        state=now.state,
        reason=now.reason or None,
        message=now.message,
        position=now.position,
        expected_start=moment(now.expected_start),
        submitted_at=moment(one.submitted_at),
        started_at=moment(now.started_at),
        ended_at=moment(now.ended_at),
        exit_code=now.exit_code,
        restarts=now.restarts,
        taking=bool(one.taking) and not one.native,
        held=one.held,
        replicas=one.replicas,
        gpus=-1 if ask.all_matching else ask.gpus or len(ask.named),
        image=one.spec.image,
        warnings=one.warnings,
        rollout=rollout(cluster, one, tasks),
        tasks=[_task(cluster, one, task) for task in tasks],
    )


def _task(cluster: Cluster, one: Job, task: Task) -> views.Task:
    wait = cluster.waits.get(task.id)
    return views.Task(
        id=task.id,
        job=task.job,
        service=one.service or None,
        slot=task.slot,
        attempt=task.attempt,
        node=task.node or None,
        cards=task.cards,
        state=task.state,
        engine_id=task.engine_id or None,
        exit_code=task.exit_code,
        error=task.error,
        reason=(wait.reason if wait is not None else task.reason) or None,
        message=wait.message if wait is not None else handing_over(task) or _of_update(one, task),
        position=wait.position if wait is not None else None,
        started_at=moment(task.started_at),
        ended_at=moment(task.ended_at),
    )


def rollout(cluster: Cluster, one: Job, tasks: Sequence[Task]) -> views.Rollout | None:
    """The latest update of the job; that of a native service is the engine's own."""
    plan, native = settings(one), cluster.sight.updates.get(one.id)
    state = native if one.native else one.rollout
    if state is None:
        return None
    done, total = progress(one, tasks) if not one.native else (sum(t.state == "running" for t in tasks), len(tasks))
    return views.Rollout(
        state=state.phase,
        message=state.message if one.native else in_words(one, tasks),
        done=done,
        total=total,
        parallelism=plan.parallelism,
        failure_action=plan.failure_action,
        started_at=moment(state.started_at),
        ended_at=moment(state.ended_at),
    )


def _of_update(one: Job, task: Task) -> str:
    """What an update does with a slot that it has not changed yet; "" for any other."""
    state = one.rollout
    if state is None or state.phase in OVER or task.generation in (0, one.generation) or task.state not in OCCUPYING:
        return ""
    if task.stop_for == "replace" or task.state == "restarting":
        return "is being changed to the new form"
    return "still runs an earlier form"
