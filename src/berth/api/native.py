"""The tasks of native services, which the engine places itself: read from the engine's latest look, kept nowhere."""

from berth.control.mirror.cluster import Cluster
from berth.model.job import Job, Task, TaskState
from berth.model.seen import Life, LifeState

_STATES: dict[LifeState, TaskState] = {
    "pending": "waiting",
    "starting": "starting",
    "running": "running",
    "unknown": "unknown",
}


def native_tasks(cluster: Cluster, job: Job) -> tuple[Task, ...]:
    """One task per life that the engine shows of this service, numbered from 1 in the order of their starts."""
    if job.ended_at is not None:
        return (Task(id=f"{job.id}.1", job=job.id, slot=1, state="ended", reason="cancelled", ended_at=job.ended_at),)
    names = {node.engine_id: node.name for node in cluster.nodes.values()}
    return tuple(_task(job, slot, life, names) for slot, life in enumerate(lives_of(cluster, job), 1))


def lives_of(cluster: Cluster, job: Job) -> list[Life]:
    """What the engine's latest look shows of the service, in the order of the starts."""
    return sorted(cluster.sight.natives.get(job.id, ()), key=lambda life: (life.started_at or 0.0, life.engine_id))


def _task(job: Job, slot: int, life: Life, names: dict[str, str]) -> Task:
    ended = life.state == "exited"
    return Task(
        id=f"{job.id}.{slot}",
        job=job.id,
        slot=slot,
        attempt=1,
        state=_after_exit(job, life) if ended else _STATES[life.state],
        node=names.get(life.node, life.node),
        engine_id=life.container_id or life.engine_id,
        exit_code=life.exit_code,
        error=life.error,
        reason="exit" if ended else "",
        started_at=life.started_at,
        ended_at=life.ended_at,
    )


def _after_exit(job: Job, life: Life) -> TaskState:
    """What the engine does next with a service's task that has ended."""
    when = job.spec.restart_in_force.condition
    if when == "any" or (when == "on-failure" and life.exit_code):
        return "restarting"
    return "failed" if life.exit_code else "ended"
