"""How many tasks the decision places per second: the core alone, one process, 10,000 nodes of 8 cards.

The peer is a plain loop over all nodes and cards for each task, in the same run; that both end in the same state is
checked. Each pass decides on a batch of waiting tasks, as the server does: what it gave is booked before the next,
outside the time that is taken. CPU time of this process, so that others on the machine do not count. JSON keys:
`decisions_per_s`, `naive_decisions_per_s`, `p99_ms` (of one pass over BATCH tasks), `first_ms` (a pass that knows
nothing of the nodes yet).
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterable, Sequence

import msgspec

from berth.core.decide import Memo, decide
from berth.core.policies import load
from berth.model.card import WHOLE, Card, Room, Share
from berth.model.node import Node
from berth.model.plan import Place
from berth.model.snapshot import Candidate, CardView, NodeView, Snapshot
from berth.model.spec import Request

NODES = 10_000
CARDS = 8
BATCH = 100
PASSES = 50
NAIVE = 200
MODEL = "A100-SXM4-80GB"
SHAPES = tuple(Request(gpus=gpus) for gpus in (1, 2, 4, 8))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.place", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--nodes", type=int, default=NODES, metavar="N")
    args = parser.parse_args()
    found = measure(args.nodes)
    if args.json:
        print(json.dumps(found))
        return
    print(f"berth            {found['decisions_per_s']:10,.0f} decisions/s   p99 {found['p99_ms']:.1f} ms a pass")
    print(f"plain loop       {found['naive_decisions_per_s']:10,.0f} decisions/s")
    print(f"a pass is {BATCH} tasks on {args.nodes:,} nodes; the first one took {found['first_ms']:.0f} ms")


def measure(nodes: int) -> dict[str, float]:
    """All figures. Raises SystemExit when the two disagree on a single node."""
    views = list(cluster(nodes))
    policy, memo = load("fifo"), Memo()
    taken = []
    for number in range(PASSES + 1):
        snapshot = Snapshot(0.0, tuple(views), tuple(waiting(number)))
        began = time.process_time()
        plan = decide(snapshot, policy, memo)
        taken.append(time.process_time() - began)
        if len(plan.places) != BATCH:
            raise SystemExit(f"{len(plan.places)} of {BATCH} tasks were placed")
        book(views, plan.places)
        if (number + 1) * BATCH == NAIVE:
            agreed = [view.free_cards for view in views]
    per_s, free = naive(nodes)
    if free != agreed:
        raise SystemExit("the plain loop placed the same tasks otherwise")
    return {
        "decisions_per_s": round(BATCH / statistics.mean(taken[1:])),
        "naive_decisions_per_s": round(per_s),
        "p99_ms": round(sorted(taken[1:])[math.ceil(PASSES * 0.99) - 1] * 1000, 2),
        "first_ms": round(taken[0] * 1000, 1),
    }


def cluster(nodes: int) -> Iterable[NodeView]:
    """Nodes of equal cards, all free."""
    for number in range(nodes):
        name = f"node{number:05}"
        cards = [
            Card(
                uuid=f"GPU-{number}-{index}", node=name, index=index, vendor="simulated", model=MODEL, memory_mib=81920
            )
            for index in range(CARDS)
        ]
        node = Node(name=name, engine="simulated", engine_id=name, hostname=name, up=True, available=True)
        yield NodeView(node, tuple(CardView(card, Room(WHOLE, card.memory_mib), ()) for card in cards), None, None, 0)


def waiting(number: int) -> Iterable[Candidate]:
    """The tasks of one pass: 1, 2, 4 and 8 cards in turn."""
    for at in range(BATCH):
        job = f"j{number * BATCH + at}"
        yield Candidate(
            task=f"{job}.1", job=job, name=job, request=SHAPES[at % len(SHAPES)], rank=(0, 0.0, number * BATCH + at, 1)
        )


def book(views: list[NodeView], places: Sequence[Place]) -> None:
    """What the grants leave, as the server's mirror has it after the commits."""
    for place in places:
        at = int(place.node.removeprefix("node"))
        given = {share.card: share for share in place.shares}
        cards = tuple(_less(seen, given.get(seen.card.uuid), place.task) for seen in views[at].cards)
        views[at] = msgspec.structs.replace(views[at], cards=cards, tasks=views[at].tasks + 1)


def _less(seen: CardView, share: Share | None, task: str) -> CardView:
    if share is None:
        return seen
    room = Room(seen.room.milli - share.milli, seen.room.mib - share.mib)
    return msgspec.structs.replace(seen, room=room, holders=(*seen.holders, task))


def naive(nodes: int) -> tuple[float, list[int]]:
    """Decisions per second of a loop that takes the node with the fewest cards left, and what is free at the end."""
    free = [[True] * CARDS for _ in range(nodes)]
    began = time.process_time()
    for at in range(NAIVE):
        need = SHAPES[at % len(SHAPES)].gpus
        best = min((sum(cards), number) for number, cards in enumerate(free) if sum(cards) >= need)[1]
        for _ in range(need):
            free[best][free[best].index(True)] = False
    return NAIVE / (time.process_time() - began), [sum(cards) for cards in free]


if __name__ == "__main__":
    main()
