"""The labels by which Berth finds its own objects again, and the spec that travels in one of them without secrets."""

from collections.abc import Iterable, Mapping

import msgspec

from berth.model.launch import Launch
from berth.model.spec import TaskSpec

SPEC = "berth.spec"
CLUSTER = "berth.cluster"
TASK = "berth.task"
JOB = "berth.job"
ATTEMPT = "berth.attempt"
CARDS = "berth.cards"
NAMESPACE = "com.docker.stack.namespace"
IMAGE = "com.docker.stack.image"


def object_labels(launch: Launch) -> dict[str, str]:
    """Labels of a slot's service (or of a container where that is all there is)."""
    return {**launch.spec.labels, **launch.labels(), **stack_labels(launch), SPEC: spec_label(launch.job.spec)}


def stack_labels(launch: Launch) -> dict[str, str]:
    """Labels by which the docker CLI knows a stack's services; none for a job of its own."""
    return {NAMESPACE: launch.job.stack, IMAGE: launch.spec.image} if launch.job.stack else {}


def container_labels(launch: Launch) -> dict[str, str]:
    """Labels of the container of an attempt."""
    return {**launch.spec.container_labels, **launch.labels()}


def spec_label(spec: TaskSpec) -> str:
    """The spec as JSON with the values of its environment left out: labels show up in events and metrics."""
    names = tuple((name, None) for name, _ in spec.env)
    return msgspec.json.encode(msgspec.structs.replace(spec, env=names)).decode()


def spec_of(labels: Mapping[str, str], env: Iterable[str]) -> TaskSpec | None:
    """The spec that a label carries, its environment filled in from the object's own ("NAME=value")."""
    if SPEC not in labels:
        return None
    try:
        spec = msgspec.json.decode(labels[SPEC], type=TaskSpec)
    except msgspec.MsgspecError:
        return None
    values = dict(pair.partition("=")[::2] for pair in env if "=" in pair)
    return msgspec.structs.replace(spec, env=tuple((name, values.get(name)) for name, _ in spec.env))


def cards_of(labels: Mapping[str, str]) -> tuple[str, ...]:
    """The cards that an object's label names."""
    return tuple(card for card in labels.get(CARDS, "").split(",") if card)


def attempt_of(labels: Mapping[str, str]) -> int:
    """The attempt that an object's label names; 0 when it names none."""
    text = labels.get(ATTEMPT, "")
    return int(text) if text.isdecimal() else 0
