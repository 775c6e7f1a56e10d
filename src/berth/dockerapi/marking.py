"""Puts Berth's marks on what it makes, and reads back the spec that travels in one of them without secrets."""

from collections.abc import Iterable, Mapping

import msgspec

from berth.model import marks
from berth.model.launch import Launch
from berth.model.spec import TaskSpec


def object_labels(launch: Launch) -> dict[str, str]:
    """Labels of a slot's service (or of a container where that is all there is)."""
    return {**launch.spec.labels, **launch.labels(), **stack_labels(launch), marks.SPEC: spec_label(launch.spec)}


def stack_labels(launch: Launch) -> dict[str, str]:
    """Labels by which the docker CLI knows a stack's services; none for a job of its own."""
    return {marks.NAMESPACE: launch.job.stack, marks.IMAGE: launch.spec.image} if launch.job.stack else {}


def container_labels(launch: Launch) -> dict[str, str]:
    """Labels of the container of an attempt."""
    return {**launch.spec.container_labels, **launch.labels()}


def spec_label(spec: TaskSpec) -> str:
    """The spec as JSON with the values of its environment left out: labels show up in events and metrics."""
    names = tuple((name, None) for name, _ in spec.env)
    return msgspec.json.encode(msgspec.structs.replace(spec, env=names)).decode()


def spec_of(labels: Mapping[str, str], env: Iterable[str]) -> TaskSpec | None:
    """The spec that a label carries, its environment filled in from the object's own ("NAME=value")."""
    if marks.SPEC not in labels:
        return None
    try:
        spec = msgspec.json.decode(labels[marks.SPEC], type=TaskSpec)
    except msgspec.MsgspecError:
        return None
    values = dict(pair.partition("=")[::2] for pair in env if "=" in pair)
    return msgspec.structs.replace(spec, env=tuple((name, values.get(name)) for name, _ in spec.env))
