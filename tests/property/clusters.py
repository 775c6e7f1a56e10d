"""Random clusters and requests for hypothesis: small enough that every rule meets every other one."""

import msgspec
from hypothesis import strategies as st

from berth.model.card import WHOLE, Card, Room
from berth.model.node import Node
from berth.model.snapshot import Candidate, CardView, NodeView, PortUse, Snapshot
from berth.model.spec import Request

MODELS = ("A100-SXM4-80GB", "Tesla-V100-SXM2-16GB", "A10-24GB", "")
CONSTRAINTS = (
    "gpu.model == A100", "gpu.model != A100", "gpu.model in (V100, A10)", "gpu.memory >= 40GiB", "gpu.index >= 1",
    "gpu.driver >= 550.9", "gpu.numa == 0", "node.labels.zone == x", "node.labels.zone != x", "node.hostname =~ ^n[01]",
    "gpu.free >= 2", "gpu.free < 2", "gpu.free == 1", "gpu.count >= 2", "gpu.enable == true",
)  # fmt: skip
PORTS = ("80/tcp", "80/udp", "443/tcp")
often = st.sampled_from([False, False, False, False, True])


@st.composite
def cards(draw: st.DrawFn, node: str) -> tuple[CardView, ...]:
    """Cards of one node, some used, some unwell, linked at random."""
    count = draw(st.integers(0, 4))
    found = []
    for index in range(count):
        trouble = draw(st.sampled_from(["", "", "", "", "", "fence", "foreign", "quarantine", "lost"]))
        memory = draw(st.sampled_from([0, 16384, 81920]))
        peers = draw(st.sets(st.integers(0, 3), max_size=2)) - {index}
        card = Card(
            uuid=f"GPU-{node}-{index}", node=node, index=index, vendor="nvidia", model=draw(st.sampled_from(MODELS)),
            memory_mib=memory, driver=draw(st.sampled_from(["", "550.54"])), numa=draw(st.sampled_from([None, 0, 1])),
            nvlink=tuple(f"GPU-{node}-{peer}" for peer in sorted(peers)),
        )  # fmt: skip
        if trouble:
            card = msgspec.structs.replace(card, **{trouble: True if trouble == "lost" else "reason"})
        room = Room(0, 0) if draw(st.booleans()) else Room(WHOLE, memory)
        found.append(CardView(card, room))
    return tuple(found)


@st.composite
def views(draw: st.DrawFn, name: str) -> NodeView:
    """A node in any state, with or without limits of CPU and memory."""
    labels = {}
    if draw(st.booleans()):
        labels["zone"] = draw(st.sampled_from(["x", "y"]))
    if draw(often):
        labels[draw(st.sampled_from(["gpu.enable", "gpu.schedule"]))] = "false"
    if draw(often):
        labels["gpu.model"] = draw(st.sampled_from(["A100", "Tesla-V100+A10"]))
    state = draw(st.sampled_from([{}, {}, {}, {"up": False}, {"drain": "r"}, {"fence": "r"}, {"gone": True}]))
    cpu, memory = draw(st.sampled_from([(0, 0), (8, 0), (8, 100)]))
    node = Node(name=name, engine="swarm", hostname=name, labels=labels, cpu_nano=cpu, memory_bytes=memory, **state)
    left = draw(st.integers(-1, cpu)) if cpu else None
    ports = {port: PortUse(f"s{port}", "service x") for port in draw(st.sets(st.sampled_from(PORTS), max_size=1))}
    room = draw(st.integers(0, memory)) if memory else None
    return NodeView(node, draw(cards(name)), left, room, ports=ports if draw(often) else {})


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Any request that a submit lets through."""
    kind = draw(st.sampled_from(["count", "count", "count", "named", "every"]))
    names = st.sampled_from(["0", "1", "GPU-n0-0", "GPU-n1-1", "n1/0", "n0/2"])
    return Request(
        gpus=draw(st.integers(0, 3)) if kind == "count" else 0,
        all_matching=kind == "every",
        named=tuple(draw(st.lists(names, min_size=1, max_size=2, unique=True))) if kind == "named" else (),
        constraints=tuple(draw(st.lists(st.sampled_from(CONSTRAINTS), max_size=2, unique=True))),
        cpu_nano=draw(st.sampled_from([0, 0, 2, 9])),
        memory_bytes=draw(st.sampled_from([0, 0, 30])),
        pinned_node=draw(st.sampled_from(["", "", "", "n0", "elsewhere"])),
        ports=tuple(sorted(draw(st.sets(st.sampled_from(PORTS), max_size=2)))) if draw(often) else (),
        ingress=(draw(st.sampled_from(PORTS)),) if draw(often) else (),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A cluster and what waits: few shapes, so that many tasks share one; some are changed tasks with own cards."""
    nodes = tuple(draw(views(f"n{n}")) for n in range(draw(st.integers(0, 3))))
    shapes = draw(st.lists(requests(), min_size=1, max_size=4))
    free_to_own = {view.node.name: [seen for seen in view.cards if not seen.free] for view in nodes}
    waiting = []
    for number in range(draw(st.integers(0, 7))):
        home, owns = "", ()
        if nodes and draw(often):
            home = draw(st.sampled_from([view.node.name for view in nodes]))
            mine = free_to_own[home][: draw(st.integers(0, 2))]
            free_to_own[home] = free_to_own[home][len(mine) :]
            owns = tuple(seen.card.uuid for seen in mine)
        waiting.append(
            Candidate(
                task=f"j{number}.1", job=f"j{number}", name="t", request=draw(st.sampled_from(shapes)),
                rank=(-draw(st.sampled_from([50, 50, 60])), float(number), number, 1), owns=owns, home=home,
                blocked=draw(st.sampled_from(["", "", "", "held"])),
            )
        )  # fmt: skip
    return Snapshot(0.0, nodes, tuple(draw(st.permutations(waiting))))


@st.composite
def publishers(draw: st.DrawFn) -> Snapshot:
    """Nodes that are well, and tasks of which nearly all publish ports, so that ports are what they contend for."""
    names, nodes = [f"n{n}" for n in range(draw(st.integers(1, 3)))], []
    for name in names:
        seen = [Card(uuid=f"GPU-{name}-{n}", node=name, index=n, vendor="nvidia", model="A10") for n in range(4)]
        taken = {port: PortUse("s1", "service x") for port in draw(st.sets(st.sampled_from(PORTS), max_size=1))}
        views = tuple(CardView(card, Room(WHOLE, 0)) for card in seen)
        node = Node(name=name, engine="swarm", hostname=name)
        nodes.append(NodeView(node, views, ports=taken if draw(often) else {}))
    waiting = []
    for number in range(draw(st.integers(2, 6))):
        wide = draw(st.sampled_from([False, False, True]))
        ports = (draw(st.sampled_from(PORTS[:2])),)
        request = Request(
            gpus=draw(st.integers(0, 1)), ports=() if wide else ports, ingress=ports if wide else (),
            pinned_node=draw(st.sampled_from(["", "", *names])),
        )  # fmt: skip
        home = draw(st.sampled_from(["", "", "", "n0"]))
        task = f"j{number}.1"
        if home:
            nodes[0] = msgspec.structs.replace(nodes[0], ports={ports[0]: PortUse(task, "t"), **nodes[0].ports})
        waiting.append(
            Candidate(task=task, job=f"j{number}", name="t", request=request, rank=(0, 0.0, number, 1), home=home)
        )
    return Snapshot(0.0, tuple(nodes), tuple(draw(st.permutations(waiting))))


def emptied(snapshot: Snapshot, *waiting: Candidate) -> Snapshot:
    """The same nodes with everything on them well, in service and free."""
    return Snapshot(snapshot.now, tuple(_well(view) for view in snapshot.nodes), waiting)


def _well(view: NodeView) -> NodeView:
    labels = {key: value for key, value in view.node.labels.items() if key != "gpu.schedule"}
    node = msgspec.structs.replace(view.node, up=True, drain="", fence="", gone=False, labels=labels)
    found = tuple(
        CardView(
            msgspec.structs.replace(seen.card, fence="", foreign="", quarantine=""),
            Room(WHOLE, seen.card.memory_mib),
        )
        for seen in view.cards
    )
    found = tuple(CardView(msgspec.structs.replace(seen.card, lost=False), seen.room) for seen in found)
    return NodeView(node, found, node.cpu_nano or None, node.memory_bytes or None)
