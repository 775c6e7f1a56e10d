"""Figures of the cluster for Prometheus, counted when they are asked for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from berth import __version__
from berth.api import show
from berth.control.context import Control

CONTENT_TYPE = CONTENT_TYPE_LATEST.partition("; charset")[0]
Counts = Counter[tuple[str, ...]]
JOB_STATES = ("waiting", "starting", "running", "stopping")


def text(control: Control) -> bytes:
    """All figures in Prometheus' text form."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(control))
    return generate_latest(registry)


class _Figures(Collector):
    def __init__(self, control: Control) -> None:
        self._control = control

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        cluster = self._control.cluster
        yield _gauge("berth_build_info", "The server's version.", ("version",), {(__version__,): 1})
        yield _gauge("berth_cards", "Cards by model and state.", ("model", "state"), self._cards())
        nodes: Counts = Counter((node.state,) for node in cluster.nodes.values())
        yield _gauge("berth_nodes", "Nodes by state.", ("state",), nodes)
        yield _gauge("berth_jobs", "Jobs that have not ended, by state.", ("state",), self._jobs())
        waits: Counts = Counter((wait.reason,) for wait in cluster.waits.values())
        yield _gauge("berth_waiting_tasks", "Waiting tasks by reason.", ("reason",), waits)
        yield GaugeMetricFamily("berth_stacks", "Deployed stacks.", len(cluster.stacks))
        yield CounterMetricFamily("berth_events", "Events since the first start.", cluster.last_event)
        passes, seconds = self._control.decisions, self._control.decisions_s
        yield CounterMetricFamily("berth_decisions", "Passes of the decision since the start.", passes)
        yield CounterMetricFamily("berth_decisions_seconds", "Seconds that these passes took.", seconds)
        trouble = float(bool(self._control.engine_trouble))
        yield GaugeMetricFamily("berth_engine_trouble", "1 while the engine complains.", trouble)
        look = self._control.look
        if look is not None:
            took = look.ended - look.began
            yield GaugeMetricFamily("berth_engine_look_seconds", "How long the last look at the engine took.", took)

    def _cards(self) -> Counts:
        cluster, holders = self._control.cluster, self._control.cluster.ledger.holders
        return Counter(
            (card.model, card.obstacle[0] if card.obstacle else ("used" if holders[card.uuid] else "free"))
            for card in cluster.cards.values()
        )

    def _jobs(self) -> Counts:
        cluster = self._control.cluster
        jobs = [cluster.jobs[key] for key in cluster.work.live]
        found: Counts = Counter({(state,): 0 for state in JOB_STATES})
        found.update((show.status(cluster, job, show.tasks_of(cluster, job)).state,) for job in jobs)
        return found


def _gauge(name: str, words: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family
