"""How long from submit to a running container, and from a freed card to the next start, on real engines.

Every start and death is what the node's own daemon says, by its own clock. The peer is the bare engine through the
same API in the same run, in turn with Berth: container create and start on Docker, service create on Swarm. JSON keys:
`berth_ms` (a job), `bare_ms`, `stack_ms` (a stack file), `bare_stack_ms` (its network made, then the same), all
medians, `freed_to_start_ms` (95 of 100 were faster) on Docker; with `swarm_` on Swarm.
"""

import argparse
import base64
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from benchmarks.daemon import Bare, Ear
from benchmarks.http import Api
from tests.acceptance.berth import Berth
from tests.testbed.daemons import DockerHost, Variant
from tests.testbed.image import IMAGE
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

TURNS = 15
FREED = 20
SLEEP = ["sleep", "600"]
SHORT = ["sleep", "0.3"]
NODE = "gpu-1"
MODEL = "A100-SXM4-80GB"
STACK = f"""\
services:
  work:
    image: {IMAGE}
    command: ["sleep", "600"]
    gpus: 1
"""


def main() -> None:
    """Start engines and servers, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--turns", type=int, default=TURNS, metavar="N", help="starts of each kind")
    parser.add_argument("--engine", choices=("docker", "swarm"), help="only this one")
    parser.add_argument("--variant", choices=("debian", "today"), default="debian", help="which Docker")
    args = parser.parse_args()
    found: dict[str, float] = {}
    with Lab("bch", "10.98.0") as lab:
        if args.engine != "swarm":
            found |= on_docker(lab, args.variant, args.turns)
        if args.engine != "docker":
            found |= {f"swarm_{key}": value for key, value in on_swarm(lab, args.variant, args.turns).items()}
    print(json.dumps(found) if args.json else in_words(found))


def in_words(found: Mapping[str, float]) -> str:
    """The figures for a person."""
    rows = []
    for name, prefix in (("Docker", ""), ("Swarm", "swarm_")):
        if f"{prefix}berth_ms" in found:
            berth, bare = found[f"{prefix}berth_ms"], found[f"{prefix}bare_ms"]
            rows.append(f"{name:<8}submit to running {berth:7.0f} ms   bare engine {bare:6.0f} ms   (medians)")
            rows.append(
                f"{name:<8}as a stack file   {found[f'{prefix}stack_ms']:7.0f} ms   "
                f"bare engine {found[f'{prefix}bare_stack_ms']:6.0f} ms"
            )
            rows.append(f"{name:<8}freed to next     {found[f'{prefix}freed_to_start_ms']:7.0f} ms   (p95)")
    return "\n".join(rows)


def on_docker(lab: Lab, variant: Variant, turns: int) -> dict[str, float]:
    """One Docker host with one card."""
    with DockerHost(lab, NODE, variant=variant) as host, ExitStack() as stack:
        bare = Bare(host.socket)
        stack.callback(bare.close)

        def run(name: str, stack: bool) -> None:
            if stack:
                bare.network(f"{name}_default", "bridge")
            bare.run(name, SLEEP, f"{name}_default" if stack else "default")

        def end(name: str) -> None:
            bare.call("DELETE", f"/containers/{name}?force=true")

        return measure(stack, "docker", (host, host), (run, end), turns)


def on_swarm(lab: Lab, variant: Variant, turns: int) -> dict[str, float]:
    """A manager and a worker; the worker has the one card and is where everything runs."""
    with Swarm(lab, 2, variant=variant) as swarm, ExitStack() as stack:
        bare = Bare(swarm.manager.socket)
        stack.callback(bare.close)
        worker = swarm.node("gpu-2")

        def run(name: str, stack: bool) -> None:
            if stack:
                bare.network(f"{name}_default", "overlay")
            bare.service(name, worker.name, SLEEP, f"{name}_default" if stack else "")

        def end(name: str) -> None:
            bare.call("DELETE", f"/services/{name}")

        return measure(stack, "swarm", (swarm.manager, worker), (run, end), turns)


Bared = tuple[Callable[[str, bool], None], Callable[[str], None]]


def measure(
    stack: ExitStack, engine: str, hosts: tuple[DockerHost, DockerHost], bare: Bared, turns: int
) -> dict[str, float]:
    """All figures of one engine: `hosts` are the one that Berth talks to and the one that has the card."""
    manager, node = hosts
    home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    flags = ("--engine", engine, "--docker-host", manager.url, "--simulate", f"{node.name}={MODEL}:1")
    server = stack.enter_context(Berth(home, *flags))
    api = Api(server.port, home / "data")
    stack.callback(api.close)
    ear = stack.enter_context(Ear(node.socket))
    berth_s, stack_s, bare_s, bare_stack_s = [], [], [], []
    for turn in range(turns + 1):
        bare_s.append(bare_start(ear, bare, f"bare-{turn}", stack=False))
        bare_stack_s.append(bare_start(ear, bare, f"barestack-{turn}", stack=True))
        berth_s.append(berth_start(ear, api))
        stack_s.append(stack_start(ear, api, f"stack-{turn}"))
    freed = freed_to_start(ear, api)
    return {
        "berth_ms": round(statistics.median(berth_s[1:]) * 1000, 1),
        "stack_ms": round(statistics.median(stack_s[1:]) * 1000, 1),
        "bare_stack_ms": round(statistics.median(bare_stack_s[1:]) * 1000, 1),
        "bare_ms": round(statistics.median(bare_s[1:]) * 1000, 1),
        "freed_to_start_ms": round(percentile(freed, 95) * 1000, 1),
        "freed_to_start_median_ms": round(statistics.median(freed) * 1000, 1),
    }


def bare_start(ear: Ear, bare: Bared, name: str, stack: bool) -> float:
    """Seconds from the request to the start that the node tells of."""
    run, end = bare
    began = time.time()
    run(name, stack)

    def ours(about: Mapping[str, str]) -> bool:
        return about["name"].partition(".")[0] == name

    started = ear.wait("start", ours).at
    end(name)
    ear.wait("die", ours)
    return started - began


def berth_start(ear: Ear, api: Api) -> float:
    """The same for a job of one card; then it is cancelled, and the card is waited for."""
    began = time.time()
    job = submit(api, SLEEP)
    started = ear.wait("start", lambda about: about.get("berth.job") == job).at
    api.call("DELETE", f"/v1/jobs/{job}")
    api.call("GET", f"/v1/jobs/{job}?wait=ended&timeout=60")
    return started - began


def stack_start(ear: Ear, api: Api, name: str) -> float:
    """The same for a stack file with one service, whose task waits in sight on the engine before it has its card."""
    source = {"path": "stack.yml", "data": base64.b64encode(STACK.encode()).decode()}
    began = time.time()
    api.call("POST", "/v1/stacks", {"name": name, "bundle": {"files": [source]}})
    moment = ear.wait("start", lambda about: about.get("berth.stack") == name)
    api.call("DELETE", f"/v1/stacks/{name}")
    api.call("GET", f"/v1/jobs/{moment.about['berth.job']}?wait=ended&timeout=60")
    return moment.at - began


def freed_to_start(ear: Ear, api: Api) -> list[float]:
    """Seconds from each death to the next start, while short jobs stand in line for the one card."""
    jobs = [submit(api, SHORT) for _ in range(FREED + 1)]
    known = set(jobs)
    for job in jobs:
        ear.wait("die", lambda about, job=job: about.get("berth.job") == job, 120.0)  # type: ignore[misc]
    mine = [moment for moment in ear.moments if moment.about.get("berth.job") in known]
    deaths = [moment.at for moment in mine if moment.action == "die"]
    starts = [moment.at for moment in mine if moment.action == "start"]
    return [start - death for death, start in zip(sorted(deaths), sorted(starts)[1:], strict=False)]


def submit(api: Api, command: list[str]) -> str:
    """Submit a job of one card; its id."""
    body = {"image": IMAGE, "command": command, "gpus": 1}
    return str(api.call("POST", "/v1/jobs", body)["id"])


def percentile(values: list[float], part: float) -> float:
    """The value that `part` of 100 do not exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * part / 100) - 1)]


if __name__ == "__main__":
    main()
