"""The `deploy` part of a service: replicas, placement, resources, restarts; cards and service put it together."""

from typing import Literal, get_args

import msgspec

from berth.compose import keys, units
from berth.compose.cards import Ask
from berth.compose.facts import Facts
from berth.compose.fields import Fields
from berth.compose.report import Report
from berth.compose.text import Place
from berth.compose.tree import Mapping
from berth.model.errors import Problem
from berth.model.spec import Limits, Restart, RestartCondition, ServiceMode, Spread

MOST_REPLICAS = 10_000
MOST_CONSTRAINTS = 100
"""Each is weighed against every node and card whenever something changes."""
DOCKERS = Restart(condition="any")
_SHORT: dict[str, RestartCondition | None] = {
    "": None,
    "no": None,
    "always": "any",
    "unless-stopped": "any",
    "on-failure": "on-failure",
}
MODES: dict[str, ServiceMode] = {word: word for word in get_args(ServiceMode)}
CONDITIONS: dict[str, RestartCondition] = {word: word for word in get_args(RestartCondition)}


class Constraints(msgspec.Struct):
    """Constraints of a service: their texts, whether Swarm itself could check all, and the cards that they speak of."""

    texts: tuple[str, ...] = ()
    swarm: bool = True
    free: Ask | None = None


def mode(deploy: Fields) -> ServiceMode:
    """How many tasks a service has: so many, one per node, and whether they are to end (jobs)."""
    word = deploy.text("mode") or "replicated"
    if word not in MODES:
        deploy.wrong("mode", "bad-value", f"mode: {word[:40]} does not exist.", f"Write one of: {', '.join(MODES)}")
    if word in ("global", "global-job") and deploy.node("replicas") is not None:
        message = f"mode: {word} runs one task on every node that fits; replicas contradicts it."
        deploy.wrong("replicas", "replicas-of-global", message, "Remove replicas, or write mode: replicated")
    return MODES.get(word, "replicated")


def replicas(deploy: Fields) -> int:
    """The number of slots; 1 where the file does not say it."""
    found = deploy.whole("replicas", 0, MOST_REPLICAS)
    return 1 if found is None else found


def endpoint_mode(deploy: Fields) -> Literal["", "vip", "dnsrr"]:
    """Whether the service has one address of its own (vip) or its name resolves to those of its tasks (dnsrr)."""
    match deploy.text("endpoint_mode").lower():
        case "":
            return ""
        case "vip":
            return "vip"
        case "dnsrr":
            return "dnsrr"
        case word:
            message = f"endpoint_mode: {word[:40]} does not exist."
            deploy.wrong("endpoint_mode", "bad-value", message, "Write endpoint_mode: vip, or endpoint_mode: dnsrr")
            return ""


def spread(placement: Fields) -> Spread:
    """What the file says of sharing tasks out over nodes."""
    over = []
    for path, node in placement.rows("preferences"):
        if not isinstance(node, Mapping):
            placement.mistyped(node, path, "{spread: node.labels.zone}")
            continue
        over.append(Fields(node, path, placement.report, keys.PREFERENCE).text("spread"))
    return Spread(tuple(over), placement.whole("max_replicas_per_node") or 0)


def constraints(texts: tuple[tuple[str, Place | None], ...], field: str, facts: Facts, report: Report) -> Constraints:
    """Read every constraint; a wrong one is noted at its column inside the text."""
    if len(texts) > MOST_CONSTRAINTS:
        message = f"{len(texts)} constraints are more than Berth takes for one task ({MOST_CONSTRAINTS})."
        hint = "Write alternatives as one: node.labels.zone in (a, b)"
        report.wrong(texts[MOST_CONSTRAINTS][1], "too-many-constraints", message, hint, field)
        return Constraints()
    found = Constraints(tuple(text for text, _ in texts))
    for n, (text, place) in enumerate(texts):
        reading = facts.constraint(text)
        path = f"{field}.{n}"
        if isinstance(reading, Problem):
            report.wrong(_inside(place, text, reading.column), "bad-constraint", reading.message, reading.hint, path)
            continue
        found.swarm = found.swarm and reading.swarm
        if reading.free > (found.free.gpus if found.free else 0):
            found.free = Ask(text.strip(), place, path, gpus=reading.free)
    return found


def restart(service: Fields, deploy: Fields) -> Restart | None:
    """`restart_policy`, else what docker stack deploy makes of `restart`; None when neither says anything."""
    policy = deploy.node("restart_policy")
    if policy is None:
        return _short_restart(service)
    table = deploy.table("restart_policy", keys.RESTART)
    return restart_of(table, default="any")


def restart_of(table: Fields, default: RestartCondition) -> Restart:
    """A restart policy; the delay is 5 s where it is not given, as in Docker."""
    word = table.text("condition") or default
    if word not in CONDITIONS:
        hint = f"Write one of: {', '.join(CONDITIONS)}"
        table.wrong("condition", "bad-value", f"condition: {word[:40]} does not exist.", hint)
    delay = table.seconds("delay")
    return Restart(
        condition=CONDITIONS.get(word, default),
        delay_s=5.0 if delay is None else delay,
        max_attempts=table.whole("max_attempts") or None,
        window_s=table.seconds("window") or 0.0,
    )


def limits(resources: Fields) -> Limits:
    """The ceilings of a task."""
    table = resources.table("limits", keys.LIMITS)
    return Limits(
        cpu_nano=table.measured("cpus", units.nano_cpus) or 0,
        memory_bytes=table.measured("memory", units.size) or 0,
        pids=table.whole("pids", -1) or 0,
    )


def _short_restart(service: Fields) -> Restart | None:
    text = service.text("restart")
    word, _, number = text.partition(":")
    if word not in _SHORT or (number and not (word == "on-failure" and number.isdecimal() and len(number) < 9)):
        hint = "Write deploy.restart_policy with condition: none, on-failure or any"
        service.wrong("restart", "bad-value", f"restart: {text[:40]} does not exist.", hint)
        return None
    if word == "no":
        message = 'docker stack deploy takes restart: "no" for its default, which is any; so does Berth.'
        hint = "Write deploy.restart_policy: {condition: none}"
        service.report.warn(service.at("restart"), "restart-no", message, hint, service.field("restart"))
    condition = _SHORT[word]
    most = int(number) if number else 0
    return Restart(condition=condition, max_attempts=most or None) if condition else None


def _inside(place: Place | None, text: str, column: int) -> Place | None:
    """The column inside a text, where the text stands in the file as it is."""
    if place is None or column < 1 or not place.text.line(place.line).startswith(text, place.column - 1):
        return place
    return place.shifted(column - 1)
