"""Host ports never clash, `web` resolves to its living slots, `mode: global` follows the nodes, and jobs end."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.berth import Berth, stays, until
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]
CARDS = "gpu-1=A100-SXM4-80GB:2,gpu-2=A100-SXM4-80GB:2,gpu-3=A100-SXM4-80GB:2"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab of its own."""
    with Lab("prt", "10.67.0") as lab:
        yield lab


@pytest.fixture(scope="module")
def swarm(lab: Lab) -> Iterator[Swarm]:
    """Three nodes."""
    with Swarm(lab, 3, variant="debian") as swarm:
        yield swarm


@pytest.fixture
def berth(swarm: Swarm, tmp_path: Path) -> Iterator[Berth]:
    """A server with two cards on each node; all that it started is gone afterwards."""
    with Berth(tmp_path, "--docker-host", swarm.manager.url, "--simulate", CARDS) as berth:
        yield berth
        for stack in berth.json("stack", "ls"):
            berth("stack", "rm", stack["name"], "-y")
        for job in berth.json("jobs"):
            berth("cancel", job["id"], "-y")
        until(lambda: not swarm.cli("service", "ls", "-q"), 60)


def deploy(berth: Berth, name: str, services: str) -> None:
    """Deploy a stack of these services."""
    (berth.folder / f"{name}.yml").write_text(f"services: {services}\n")
    berth("stack", "deploy", "-c", f"{name}.yml", name)


def web(port: int, replicas: int, more: str = "") -> str:
    """A service with a card per slot and a host port."""
    ports = f"[{{target: 80, published: {port}, mode: host}}]"
    body = f"image: 'bb:1', user: '1:1', command: [sleep, '600'], gpus: 1, ports: {ports}"
    return f"{{web: {{{body}, deploy: {{replicas: {replicas}{more}}}}}}}"


def nodes_of(berth: Berth, job: str) -> list[str]:
    """The nodes of the job's running tasks."""
    return sorted(task["node"] for task in berth.job(job)["tasks"] if task["state"] == "running")


def test_a_host_port_is_one_task_s_on_each_node_and_the_next_one_waits_for_it(swarm: Swarm, berth: Berth) -> None:
    deploy(berth, "one", web(18080, 3))
    until(lambda: nodes_of(berth, "one_web") == ["gpu-1", "gpu-2", "gpu-3"], 40)
    deploy(berth, "two", web(18080, 1))
    stays(lambda: berth.job("two_web")["state"] == "waiting", 2)
    why = berth.json("why", "two_web")
    assert why["reason"] == "port"
    rules = [[refusal["rule"] for refusal in node["refusals"]] for node in why["nodes"]]
    assert rules == [["port"]] * 3
    assert "18080" in why["nodes"][0]["refusals"][0]["message"]
    assert "one_web" in why["nodes"][0]["refusals"][0]["message"]
    published = json.loads(swarm.cli("service", "inspect", "one_web", "--format", "{{json .Spec.EndpointSpec.Ports}}"))
    assert [(port["PublishMode"], port["PublishedPort"]) for port in published] == [("host", 18080)]
    berth("scale", "one_web=2")
    until(lambda: nodes_of(berth, "two_web"), 30)
    assert not set(nodes_of(berth, "one_web")) & set(nodes_of(berth, "two_web"))


def test_a_port_that_somebody_else_has_is_not_given(swarm: Swarm, berth: Berth) -> None:
    swarm.cli(
        "service", "create", "--detach", "--no-resolve-image", "--name", "theirs", "--constraint",
        "node.hostname==gpu-2", "--publish", "mode=host,published=18081,target=80", "bb:1", "sleep", "600",
    )  # fmt: skip
    until(lambda: "Running" in swarm.cli("service", "ps", "theirs", "--format", "{{.CurrentState}}"), 30)
    deploy(berth, "three", web(18081, 3))
    until(lambda: nodes_of(berth, "three_web") == ["gpu-1", "gpu-3"], 40)
    stays(lambda: nodes_of(berth, "three_web") == ["gpu-1", "gpu-3"], 2)
    assert berth.json("why", "three_web")["reason"] == "port"
    swarm.cli("service", "rm", "theirs")
    until(lambda: nodes_of(berth, "three_web") == ["gpu-1", "gpu-2", "gpu-3"], 40)


def test_a_storm_of_jobs_for_few_ports_never_has_one_twice_on_a_node(berth: Berth) -> None:
    deploy(berth, "a", web(18082, 2))
    for number in range(1, 9):
        deploy(berth, f"s{number}", web(18082 + number % 2, 1))
    until(lambda: berth.free() == 0, 60)
    taken = [
        (task["node"], 18082 + (int(job["name"][1]) % 2 if job["name"][0] == "s" else 0))
        for job in berth.json("jobs")
        for task in job["tasks"]
        if task["node"] and task["state"] in ("starting", "running")
    ]
    assert len(taken) == len(set(taken)) == 6


def addresses(swarm: Swarm, name: str) -> set[str]:
    """What `web` resolves to in the container of the service `ask`."""
    node = swarm.cli("service", "ps", "n_ask", "--filter", "desired-state=running", "--format", "{{.Node}}").split()[0]
    host = swarm.node(node)
    container = host.docker("ps", "-q", "--filter", "label=com.docker.swarm.service.name=n_ask").split()[0]
    said = host.docker("exec", container, "sh", "-c", f"nslookup {name} 127.0.0.11 2>/dev/null | tail -n +3 || true")
    return {line.split()[-1] for line in said.splitlines() if line.startswith("Address")}


def test_a_name_resolves_to_every_slot_and_to_no_dead_one(swarm: Swarm, berth: Berth) -> None:
    body = "image: 'bb:1', user: '1:1', command: [sleep, '600']"
    never = "restart_policy: {condition: none}"
    slots = f"web: {{{body}, gpus: 1, deploy: {{replicas: 3, {never}}}}}"
    deploy(berth, "n", f"{{{slots}, ask: {{{body}}}}}")
    until(lambda: len(nodes_of(berth, "n_web")) == 3 and berth.job("n_ask")["state"] == "running", 60)
    until(lambda: len(addresses(swarm, "web")) == 3, 20, "three addresses")
    victim = berth.job("n_web")["tasks"][1]
    host = swarm.node(victim["node"])
    label = f"label=berth.task={victim['id']}"
    host.docker("kill", host.docker("ps", "-q", "--filter", label).split()[0])
    until(lambda: len(addresses(swarm, "web")) == 2, 30, "two addresses")


def test_global_with_cards_has_one_task_on_each_node_that_fits_and_follows(swarm: Swarm, berth: Berth) -> None:
    body = "image: 'bb:1', user: '1:1', command: [sleep, '600'], gpus: 1"
    where = "placement: {constraints: ['node.labels.zone == a']}"
    for node in ("gpu-1", "gpu-2"):
        swarm.cli("node", "update", "--label-add", "zone=a", node)
    deploy(berth, "g", f"{{each: {{{body}, deploy: {{mode: global, {where}}}}}}}")
    until(lambda: nodes_of(berth, "g_each") == ["gpu-1", "gpu-2"], 40)
    assert "scale-global" in berth.refused("scale", "g_each=5", code=4)
    swarm.cli("node", "update", "--label-add", "zone=a", "gpu-3")
    until(lambda: nodes_of(berth, "g_each") == ["gpu-1", "gpu-2", "gpu-3"], 40)
    swarm.cli("node", "update", "--label-rm", "zone", "gpu-1")
    until(lambda: nodes_of(berth, "g_each") == ["gpu-2", "gpu-3"], 40)
    until(lambda: berth.free() == 4, 30)
    for node in ("gpu-2", "gpu-3"):
        swarm.cli("node", "update", "--label-rm", "zone", node)


def test_global_with_cards_leaves_a_drained_node_and_comes_back_to_it(swarm: Swarm, berth: Berth) -> None:
    body = "image: 'bb:1', user: '1:1', command: [sleep, '600'], gpus: 1"
    deploy(berth, "d", f"{{each: {{{body}, deploy: {{mode: global}}}}}}")
    everywhere = ["gpu-1", "gpu-2", "gpu-3"]
    until(lambda: nodes_of(berth, "d_each") == everywhere, 40)
    try:
        swarm.cli("node", "update", "--availability", "drain", "gpu-3")
        until(lambda: nodes_of(berth, "d_each") == ["gpu-1", "gpu-2"], 40)
        why = {one["node"]: one["refusals"] for one in berth.json("why", "d_each")["nodes"]}
        assert why["gpu-1"] == why["gpu-2"] == []
        assert [one["rule"] for one in why["gpu-3"]] == ["draining"]
    finally:
        swarm.cli("node", "update", "--availability", "active", "gpu-3")
    until(lambda: nodes_of(berth, "d_each") == everywhere, 40)
    berth("node", "drain", "gpu-2", "--reason", "test", "--move")
    until(lambda: nodes_of(berth, "d_each") == ["gpu-1", "gpu-3"], 40)
    berth("node", "undrain", "gpu-2")
    until(lambda: nodes_of(berth, "d_each") == everywhere, 40)
    slots = {task["node"]: task["slot"] for task in berth.job("d_each")["tasks"]}
    assert slots == {"gpu-1": 1, "gpu-2": 2, "gpu-3": 3}


def test_modes_of_jobs_end_with_success_or_failure_and_run_no_more(berth: Berth) -> None:
    def job(mode: str, code: int, more: str = "") -> str:
        command = f"[sh, '-c', 'exit {code}']"
        return f"{{image: 'bb:1', user: '1:1', command: {command}, deploy: {{mode: {mode}-job{more}}}"

    never = ", restart_policy: {condition: none}"
    services = {
        "two": job("replicated", 0, ", replicas: 2") + ", gpus: 1}",
        "each": job("global", 0) + ", gpus: 1}",
        "bad": job("replicated", 3, never) + ", gpus: 1}",
        "native": job("replicated", 0, ", replicas: 2") + "}",
    }
    deploy(berth, "j", "{" + ", ".join(f"{name}: {body}" for name, body in services.items()) + "}")
    wanted = {"j_two": "succeeded", "j_each": "succeeded", "j_bad": "failed", "j_native": "succeeded"}
    until(lambda: {name: berth.job(name)["state"] for name in wanted} == wanted, 60, step=0.5)
    stays(lambda: {name: berth.job(name)["state"] for name in wanted} == wanted, 7, step=1.0)
    assert {task["attempt"] for task in berth.job("j_two")["tasks"]} == {1}
    assert len(berth.job("j_each")["tasks"]) == 3
    assert berth.job("j_bad")["exit_code"] == 3


def test_a_slot_that_would_get_the_name_of_another_service_is_refused(berth: Berth) -> None:
    body = "image: 'bb:1', user: '1:1', command: [sleep, '600'], gpus: 1"
    deploy(berth, "x", f"{{web: {{{body}}}, web-2: {{{body}}}}}")
    assert "name-taken" in berth.refused("scale", "x_web=2", code=4)
    assert berth.job("x_web")["state"] in ("waiting", "starting", "running")
