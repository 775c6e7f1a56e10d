"""Stack files: a plan of 50 services as a whole process, the deployment of 50 services on a Swarm, and a file of 1 MB.

The plan is asked of a server with 64 simulated cards, one for each service; the bare interpreter is its peer. What is
deployed has no cards, so that the docker CLI's own `stack deploy` of the same file, in turn with Berth's, is the peer:
each a whole process to its end, with all services made. The file of 1 MB is read in this process; its peer is PyYAML's
loader in C, which reads the same text and checks nothing. JSON keys: `plan_ms`, `python_ms`, `deploy_ms`,
`docker_deploy_ms`, `parse_ms`, `yaml_ms`, all medians.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from berth.compose import load_stack
from berth.compose.stack import MOST_SERVICES
from berth.model.draft import Bundle, SourceFile
from tests.acceptance.berth import Berth, until
from tests.compose.loading import FACTS
from tests.testbed.daemons import DockerHost, Variant
from tests.testbed.image import IMAGE
from tests.testbed.lab import Lab
from tests.testbed.swarm import Swarm

SERVICES = 50
PLANS = 21
DEPLOYS = 5
PARSES = 5
MILLION = 1_000_000
CARDS = ",".join(f"node{number}=A100-SXM4-80GB:8" for number in range(1, 9))
GONE_S = 120.0
SERVICE = """\
  service-{number}:
    image: {image}
    command: ["sleep", "600"]
    environment:
      ROLE: worker-{number}
      LOG_LEVEL: info
    healthcheck: {{disable: true}}
    labels: {{team: vision, part: "{number}"}}
    stop_grace_period: 1s
    deploy:
      replicas: 1
      labels: {{owner: ann}}
      restart_policy: {{condition: on-failure, delay: 5s, max_attempts: 3}}
      resources:
        limits: {{memory: 64M}}
        reservations: {{memory: 4M{cards}}}
"""
CARD = ", devices: [{capabilities: [gpu], count: 1}]"


def main() -> None:
    """Measure what was asked for, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stack", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--turns", type=int, default=DEPLOYS, metavar="N", help="deployments of each kind")
    parser.add_argument("--only", choices=("plan", "deploy", "parse"), help="this one alone")
    parser.add_argument("--variant", choices=("debian", "today"), default="debian", help="which Docker")
    args = parser.parse_args()
    kinds: dict[str, Callable[[Path], dict[str, float]]] = {
        "plan": plan,
        "deploy": lambda home: deploy(home, args.variant, args.turns),
        "parse": lambda _: parse(),
    }
    found: dict[str, float] = {}
    for kind, measure in kinds.items():
        if args.only in (None, kind):
            with tempfile.TemporaryDirectory() as home:
                found |= measure(Path(home))
    print(json.dumps(found) if args.json else in_words(found))


def in_words(found: Mapping[str, float]) -> str:
    """The figures for a person."""
    rows = (
        (f"plan of {SERVICES} services", "plan_ms", "python -c pass", "python_ms"),
        (f"deploy of {SERVICES} services", "deploy_ms", "docker stack deploy", "docker_deploy_ms"),
        ("a file of 1 MB", "parse_ms", "PyYAML's C loader", "yaml_ms"),
    )
    return "\n".join(
        f"{what:<24}{found[key]:8.0f} ms   {peer:<20}{found[other]:8.0f} ms   (medians)"
        for what, key, peer, other in rows
        if key in found
    )


def text(services: int, cards: str = "") -> str:
    """A stack file of this many services."""
    parts = (SERVICE.format(number=number, image=IMAGE, cards=cards) for number in range(services))
    return "services:\n" + "".join(parts)


def plan(home: Path) -> dict[str, float]:
    """`berth stack deploy --plan`, and the bare interpreter, in turn."""
    file = home / "stack.yml"
    file.write_text('version: "3.8"\n' + text(SERVICES, CARD))
    with Berth(home, "--engine", "simulated", "--simulate", CARDS) as server:
        words = [sys.executable, "-m", "berth", "stack", "deploy", "--plan", "-c", str(file), "many"]
        kinds = {"plan_ms": words, "python_ms": [sys.executable, "-c", "pass"]}
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(PLANS + 1):
            for kind, command in kinds.items():
                taken[kind].append(process_s(command, server.environ))
    return {kind: median_ms(times[1:]) for kind, times in taken.items()}


def deploy(home: Path, variant: Variant, turns: int) -> dict[str, float]:
    """Berth and the docker CLI in turn, each on a Swarm that the other has left empty."""
    file = home / "stack.yml"
    file.write_text('version: "3.8"\n' + text(SERVICES))
    words = ["stack", "deploy", "--resolve-image", "never", "-c", str(file), "many"]
    berth_s, docker_s = [], []
    with Lab("bst", "10.95.0") as lab, Swarm(lab, 2, variant=variant) as swarm:
        manager = swarm.manager
        with Berth(home, "--engine", "swarm", "--docker-host", manager.url) as server:
            for _ in range(turns + 1):
                docker_s.append(process_s(["docker", *words], manager.client_environment()))
                made(swarm)
                manager.docker("stack", "rm", "many")
                gone(swarm)
                berth_s.append(process_s([sys.executable, "-m", "berth", *words], server.environ))
                made(swarm)
                server("stack", "rm", "-y", "many")
                until(lambda: not server.items("/v1/stacks"), GONE_S, "the stack is gone")
                gone(swarm)
    return {"deploy_ms": median_ms(berth_s[1:]), "docker_deploy_ms": median_ms(docker_s[1:])}


def made(swarm: Swarm) -> None:
    """Raises SystemExit unless every service is there when the process has ended."""
    there = len(swarm.cli("service", "ls", "--quiet").split())
    if there != SERVICES:
        raise SystemExit(f"{there} of {SERVICES} services were made")


def gone(swarm: Swarm) -> None:
    """Wait until nothing is left that would be in the way of the next deployment, or keep the machine busy."""

    def left(host: DockerHost) -> bool:
        return bool(host.docker("ps", "--all", "--quiet", "--filter", "label=com.docker.swarm.service.id"))

    until(lambda: not any(map(left, swarm.nodes)), GONE_S, "no container is left", step=0.5)
    networks = ("network", "ls", "--quiet", "--filter", "name=many_default")
    until(lambda: not swarm.cli(*networks), GONE_S, "no network is left", step=0.5)


def parse() -> dict[str, float]:
    """A valid file of a million bytes, read and checked whole; and by the bare YAML loader."""
    data = text(MOST_SERVICES - 1, CARD).encode() + b"  long:\n    image: busybox\n    environment:\n"
    data += b"".join(b"      - NAME_%05d=value\n" % number for number in range((MILLION - len(data)) // 25 + 1))
    bundle = Bundle(files=(SourceFile("stack.yml", data),))
    ours, theirs = [], []
    for _ in range(PARSES + 1):
        with timed(theirs):
            yaml.load(data, yaml.CSafeLoader)
        with timed(ours):
            load_stack(bundle, "many", FACTS)
    return {"parse_ms": median_ms(ours[1:]), "yaml_ms": median_ms(theirs[1:])}


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    """Add the seconds of the block."""
    began = time.perf_counter()
    yield
    into.append(time.perf_counter() - began)


def process_s(words: list[str], environ: Mapping[str, str]) -> float:
    """Seconds that a whole process takes. Raises SystemExit with its last words when it fails."""
    began = time.perf_counter()
    done = subprocess.run(words, env=environ, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} ended {done.returncode}: {done.stderr[-500:]}")
    return took


def median_ms(seconds: list[float]) -> float:
    """The median in milliseconds."""
    return round(statistics.median(seconds) * 1000, 1)


if __name__ == "__main__":
    main()
