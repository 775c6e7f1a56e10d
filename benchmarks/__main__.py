"""All figures in one table, each with its target and its peer from the same run: `python -m benchmarks [NAME ...]`.

A benchmark is a process of its own. Before each it is looked how busy the machine is without it: figures that were
taken beside other work are marked, since they show what Berth did then, not what it can do.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from benchmarks.process import Machine, busy

Figures = Mapping[str, float]
NAMES = ("cli", "submit", "store", "api", "footprint", "agent", "start", "stack", "place")
LIMIT_S = 600.0
LOOK_S = 2.0
BUSY_CORES = 0.2
MB_PER_MIB = 1.048576


class Row(NamedTuple):
    """A line of the table: what it says, and how it is read from the figures of its benchmark."""

    benchmark: str
    title: str
    value: Callable[[Figures], float]
    unit: str
    target: str
    met: Callable[[Figures], bool]
    peer: str


def below(key: str, limit: float) -> Callable[[Figures], bool]:
    """The figure is under the limit."""
    return lambda found: found[key] < limit


def at_least(key: str, limit: float) -> Callable[[Figures], bool]:
    """The figure is the limit or more."""
    return lambda found: found[key] >= limit


def of(key: str) -> Callable[[Figures], float]:
    """The figure as it is."""
    return lambda found: found[key]


def in_mb(key: str) -> Callable[[Figures], float]:
    """A figure in MiB, told in MB."""
    return lambda found: found[key] * MB_PER_MIB


def over_bare(prefix: str, berth: str = "berth_ms", bare: str = "bare_ms") -> Callable[[Figures], bool]:
    """At most 300 ms over the bare engine."""
    return lambda found: found[f"{prefix}{berth}"] - found[f"{prefix}{bare}"] <= 300.0


def untold(_: Figures) -> bool:
    """There is no target yet."""
    return True


MS, PER_S, MB, CORE = "ms", "/s", "MB", "% of a core"
ROWS = (
    Row("cli", "berth cards, whole process", of("verb_ms"), MS, "< 100", below("verb_ms", 100),
        "python -c pass {python_ms:.0f}; Slurm's sbatch 5"),
    Row("cli", "berth run --detach", of("run_ms"), MS, "< 100", below("run_ms", 100), "python -c pass {python_ms:.0f}"),
    Row("submit", "1,000 jobs, one list", of("list_ms"), MS, "< 1,000", below("list_ms", 1000),
        "bare sqlite3 {sqlite_list_ms:.0f}"),
    Row("submit", "1,000 jobs, 8 clients", of("clients_ms"), MS, "< 4,000", below("clients_ms", 4000),
        "bare sqlite3, one by one {sqlite_single_ms:.0f}"),
    Row("store", "1,000 jobs, one commit", of("thousand_ms"), MS, "", untold, "bare sqlite3 {sqlite_thousand_ms:.0f}"),
    Row("api", "GET /v1/cards", of("requests_per_s"), PER_S, ">= 25,000", at_least("requests_per_s", 25000),
        "plain route {peer_requests_per_s:,.0f}"),
    Row("api", "  p99", of("p99_ms"), MS, "< 5", below("p99_ms", 5), "plain route {peer_p99_ms:.1f}"),
    Row("api", "GET /v1/cards, 100 jobs/s", of("loaded_requests_per_s"), PER_S, ">= 6,800",
        at_least("loaded_requests_per_s", 6800), ""),
    Row("api", "  p99", of("loaded_p99_ms"), MS, "< 15", below("loaded_p99_ms", 15), ""),
    Row("api", "  jobs that come and go", of("jobs_per_s"), PER_S, ">= 100", at_least("jobs_per_s", 100), ""),
    Row("footprint", "server, 1,000 nodes x 8", in_mb("rss_mib"), MB, "< 150",
        lambda found: found["rss_mib"] * MB_PER_MIB < 150, "python -c pass {python_rss_mib:.0f} MiB"),
    Row("footprint", "  idle", of("cpu_percent"), CORE, "< 5", below("cpu_percent", 5), ""),
    Row("footprint", "  until it is up", lambda found: found["start_s"] * 1000, MS, "", untold,
        "with one node {one_node_start_s:.2f} s"),
    Row("footprint", "a job from submit to end", of("job_cpu_ms"), "ms of CPU", "", untold, "at 100 jobs/s"),
    Row("agent", "agent, 8 cards", in_mb("rss_mib"), MB, "< 60",
        lambda found: found["rss_mib"] * MB_PER_MIB < 60, "python -c pass {python_rss_mib:.0f} MiB"),
    Row("agent", "  idle", of("cpu_percent"), CORE, "< 0.5", below("cpu_percent", 0.5), ""),
    Row("start", "submit to running, Docker", of("berth_ms"), MS, "bare + 300", over_bare(""),
        "bare {bare_ms:.0f}; Slurm 310"),
    Row("start", "  stack file", of("stack_ms"), MS, "bare + 300", over_bare("", "stack_ms", "bare_stack_ms"),
        "bare, with a network {bare_stack_ms:.0f}"),
    Row("start", "  freed to next, p95", of("freed_to_start_ms"), MS, "< 1,000", below("freed_to_start_ms", 1000),
        "median {freed_to_start_median_ms:.0f}"),
    Row("start", "submit to running, Swarm", of("swarm_berth_ms"), MS, "bare + 300", over_bare("swarm_"),
        "bare {swarm_bare_ms:.0f}"),
    Row("start", "  stack file", of("swarm_stack_ms"), MS, "bare + 300",
        over_bare("swarm_", "stack_ms", "bare_stack_ms"), "bare, with a network {swarm_bare_stack_ms:.0f}"),
    Row("start", "  freed to next, p95", of("swarm_freed_to_start_ms"), MS, "< 1,000",
        below("swarm_freed_to_start_ms", 1000), "median {swarm_freed_to_start_median_ms:.0f}"),
    Row("stack", "plan of 50 services", of("plan_ms"), MS, "< 300", below("plan_ms", 300),
        "python -c pass {python_ms:.0f}"),
    Row("stack", "deploy of 50 services, Swarm", of("deploy_ms"), MS, "docker x 1.2",
        lambda found: found["deploy_ms"] <= 1.2 * found["docker_deploy_ms"],
        "docker stack deploy {docker_deploy_ms:.0f}"),
    Row("stack", "a stack file of 1 MB", of("parse_ms"), MS, "< 1,000", below("parse_ms", 1000),
        "PyYAML's C loader {yaml_ms:.0f}"),
    Row("place", "decisions, 10,000 nodes x 8", of("decisions_per_s"), PER_S, "", untold,
        "plain loop {naive_decisions_per_s:,.0f}"),
)  # fmt: skip


def main() -> None:
    """Run what is named, or all, and print the table (or one JSON object by benchmark)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if unknown := set(args.names) - set(NAMES):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}: use {', '.join(NAMES)}")
    found: dict[str, dict[str, float]] = {}
    failed: dict[str, str] = {}
    for name in args.names or NAMES:
        before = used_by_others()
        try:
            found[name] = {**run(name), "busy_cores": before}
        except RuntimeError as error:
            failed[name] = str(error)
    print(json.dumps({**found, "failed": failed}) if args.json else table(found, failed))
    if failed:
        raise SystemExit(1)


def used_by_others() -> float:
    """Cores that the machine uses while no benchmark runs."""
    before = Machine()
    time.sleep(LOOK_S)
    return round(busy(before), 2)


def run(name: str) -> dict[str, float]:
    """The figures of one benchmark. Raises RuntimeError with the last words of one that failed."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"not done within {LIMIT_S:g} s") from error
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().rpartition("\n")[2] or f"ended {done.returncode}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def table(found: Mapping[str, Figures], failed: Mapping[str, str]) -> str:
    """The table for a person."""
    lines = [f"{'':<30}{'berth':>12} {'':<12}{'target':<14}{'':<8}peer"]
    lines += [_line(row, found[row.benchmark]) for row in ROWS if row.benchmark in found]
    lines += [f"{name}: not measured: {why}" for name, why in failed.items()]
    crowded = [f"{name} ({figures['busy_cores']:g} cores)" for name, figures in found.items() if _crowded(figures)]
    if crowded:
        lines.append(f"The machine was busy with other work before: {', '.join(crowded)}.")
    return "\n".join(lines)


def _line(row: Row, figures: Figures) -> str:
    value = row.value(figures)
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    verdict = "" if not row.target else "met" if row.met(figures) else "MISSED"
    return f"{row.title:<30}{shown:>12} {row.unit:<12}{row.target:<14}{verdict:<8}{row.peer.format(**figures)}".rstrip()


def _crowded(figures: Figures) -> bool:
    return figures["busy_cores"] > BUSY_CORES


if __name__ == "__main__":
    main()
