"""Host ports in the decision: one task per node and port, ingress everywhere, and who waits for whom."""

import msgspec

from berth.core.decide import decide
from berth.core.explain import explain
from berth.core.policies import load
from berth.model.plan import Plan
from berth.model.snapshot import Candidate, NodeView, PortUse, Snapshot
from berth.model.spec import Request
from tests.build import view

FIFO = load("fifo")
NGINX = PortUse("s1", "service nginx")


def asking(*requests: Request, **fields: object) -> tuple[Candidate, ...]:
    """One job after the other."""
    return tuple(
        Candidate(task=f"j{n}.1", job=f"j{n}", name=f"web{n}", request=request, rank=(0, float(n), n, 1), **fields)  # type: ignore[arg-type]
        for n, request in enumerate(requests, 1)
    )


def taking(node: NodeView, **ports: PortUse) -> NodeView:
    """The node with ports taken: p80=NGINX is 80/tcp."""
    return msgspec.structs.replace(node, ports={f"{name[1:]}/tcp": use for name, use in ports.items()})


def decided(nodes: tuple[NodeView, ...], waiting: tuple[Candidate, ...]) -> Plan:
    return decide(Snapshot(0.0, nodes, waiting), FIFO)


def placed(plan: Plan) -> dict[str, str]:
    return {place.task: place.node for place in plan.places}


WEB = Request(ports=("80/tcp",))


def test_tasks_with_one_host_port_go_to_different_nodes_and_the_rest_waits_for_port() -> None:
    plan = decided((view("a"), view("b")), asking(WEB, WEB, WEB))
    assert placed(plan) == {"j1.1": "a", "j2.1": "b"}
    (wait,) = plan.waits
    assert (wait.reason, wait.never) == ("port", False)
    who = "web1 has port 80/tcp on node a, web2 has port 80/tcp on node b"
    assert wait.message == f"needs a node where its port is free: {who}"


def test_another_protocol_or_number_is_another_port() -> None:
    plan = decided((view("a"),), asking(WEB, Request(ports=("80/udp",)), Request(ports=("81/tcp",))))
    assert len(plan.places) == 3


def test_what_others_publish_keeps_the_node_out_and_why_names_them() -> None:
    nodes = (taking(view("a"), p80=NGINX), view("b"))
    assert placed(decided(nodes, asking(WEB))) == {"j1.1": "b"}
    why = explain(Snapshot(0.0, nodes[:1], asking(WEB)), "j1.1", FIFO)
    assert why.reason == "port"
    (refusal,) = why.nodes[0].refusals
    assert (refusal.rule, refusal.message) == ("port", "service nginx has port 80/tcp")


def test_an_ingress_port_is_one_task_s_on_the_whole_engine() -> None:
    ingress = Request(ingress=("80/tcp",))
    plan = decided((view("a"), view("b")), asking(ingress, WEB, ingress, Request(ports=("81/tcp",))))
    assert set(placed(plan)) == {"j1.1", "j4.1"}
    assert {wait.reason for wait in plan.waits} == {"port"}
    assert decided((taking(view("a"), p80=NGINX), view("b")), asking(ingress)).places == ()


def test_who_waits_for_a_port_that_is_taken_everywhere_holds_no_cards_back() -> None:
    nodes = (taking(view("a", 1), p80=NGINX),)
    plan = decided(nodes, asking(Request(gpus=1, ports=("80/tcp",)), Request(gpus=1)))
    assert placed(plan) == {"j2.1": "a"}


def test_who_waits_for_cards_where_its_port_is_free_is_served_before_later_ones() -> None:
    nodes = (taking(view("a", 1), p80=NGINX), view("b", 2, used=[0]))
    both = Request(gpus=2, ports=("80/tcp",), constraints=("node.hostname == b",))
    plan = decided(nodes, asking(both, Request(gpus=1, constraints=("node.hostname == b",)), Request(gpus=1)))
    assert placed(plan) == {}
    assert [wait.reason for wait in plan.waits] == ["free-cards", "behind", "behind"]


def test_a_changed_task_keeps_its_own_port() -> None:
    nodes = (taking(view("a"), p80=PortUse("j1.1", "web1")), view("b"))
    assert placed(decided(nodes, asking(WEB, home="a"))) == {"j1.1": "a"}
    assert placed(decided(nodes, asking(Request(ingress=("80/tcp",)), home="a"))) == {"j1.1": "a"}
