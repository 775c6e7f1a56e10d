"""Why a task waits, node by node: runs decide's own pass up to the task and asks fit what stands against each node."""

from collections.abc import Sequence

from berth.core.board import Board
from berth.core.decide import Pass, decide
from berth.core.fit import LAST_OF_MATCH, hindrances
from berth.core.order import Policy
from berth.core.reasons import blocked, told
from berth.core.refusals import refusal
from berth.core.shape import shape_of
from berth.core.stand import Memo
from berth.model.job import Job, Task
from berth.model.lifecycle import FINISHED, OCCUPYING
from berth.model.plan import NodeRefusals, Place, Refusal, Wait, Why
from berth.model.snapshot import Candidate, Snapshot


def explain(snapshot: Snapshot, task: str, policy: Policy, memo: Memo | None = None) -> Why:
    """The whole answer about a waiting task, never contradicting what `decide` says of the same snapshot.

    Raises KeyError when the task does not wait in the snapshot. `expected_start` is None: a snapshot tells nothing
    of when running work ends.
    """
    memo = memo or Memo()
    candidate = {one.task: one for one in snapshot.waiting}[task]
    plan = decide(snapshot, policy, memo)
    starting = tuple(place.task for place in plan.places)
    nodes = _refusals(snapshot, candidate, policy, memo)
    answers: dict[str, Place | Wait] = {one.task: one for one in plan.places}
    answers.update({one.task: one for one in plan.waits})
    found = answers[task]
    if isinstance(found, Place):
        nodes = tuple(NodeRefusals(one.node, ()) if one.node == found.node else one for one in nodes)
        text = f"starts now on node {found.node}"
        return Why(job=candidate.job, reason="", message=text, nodes=nodes, would_start=starting)
    return Why(
        job=candidate.job,
        reason=found.reason,
        message=found.message,
        position=found.position,
        never=found.never,
        nodes=nodes,
        would_start=starting,
    )


def _refusals(snapshot: Snapshot, candidate: Candidate, policy: Policy, memo: Memo) -> tuple[NodeRefusals, ...]:
    """What stands against each node when the task's turn comes; a node that could take it names who goes first."""
    ordered = policy.order(snapshot.waiting)
    run = Pass(snapshot, policy, memo)
    for _ in run.serve(ordered[: ordered.index(candidate)]):
        pass
    line, board = run.line(candidate), run.board
    first = blocked(candidate) if candidate.blocked else run.earlier(line)
    first = told(candidate, first) if first is not None else None
    extra = (Refusal(first.reason, first.message),) if first is not None else ()
    found = []
    for at, stand in enumerate(board.stands):
        mask, left = board.mask(at, line.shape), board.left(at, line.shape, candidate)
        against = hindrances(line.shape, stand, mask, left)
        words = tuple(one for hindrance in against for one in refusal(hindrance, line.shape, stand, mask, left))
        found.append(NodeRefusals(stand.node.name, words or extra))
    return tuple(found)


def on_each_node(snapshot: Snapshot, job: Job, tasks: Sequence[Task]) -> tuple[tuple[NodeRefusals, ...], bool]:
    """For a service with one task per node: what stands against each node that has none, and whether none ever fits."""
    board, shape = Board(snapshot, Memo()), shape_of(job.request)
    there = {task.for_node: task for task in tasks}
    found, never = [], True
    for at, stand in enumerate(board.stands):
        mask, left, name = board.mask(at, shape), board.left(at, shape), stand.node.name
        against = tuple(hindrances(shape, stand, mask, left))
        never = never and bool(against) and against[0] <= LAST_OF_MATCH
        task = there.get(name)
        if task is not None and task.state in OCCUPYING:
            found.append(NodeRefusals(name, ()))
            continue
        words = tuple(one for hindrance in against for one in refusal(hindrance, shape, stand, mask, left))
        over = task is not None and task.state in FINISHED and task.reason != "cancelled"
        ended = (Refusal("ended", f"its task there has ended: {task.reason}"),) if task is not None and over else ()
        found.append(NodeRefusals(name, ended or words))
    return tuple(found), never
