"""Things on the engine that carry this cluster's mark and belong to no task that Berth knows: they must not run."""

from collections.abc import Container, Iterator, Mapping

from berth.core import actions as act
from berth.core.situation import Situation
from berth.model.launch import Handle
from berth.model.seen import Life, SlotObject


def strangers(
    objects: Mapping[str, SlotObject], lives: Mapping[str, list[Life]], known: Container[str], situation: Situation
) -> Iterator[act.Sweep]:
    """A sweep for each; an object takes its lives with it."""
    for task, seen in objects.items():
        if task not in known and situation.proves(task):
            yield act.Sweep(Handle(object_id=seen.id, object_version=seen.version, name=seen.name), f"{seen.name}")
    for task, found in lives.items():
        if task in known or task in objects or not situation.proves(task):
            continue
        for life in found:
            if life.runs or life.state == "exited":
                yield act.Sweep(Handle(engine_id=life.engine_id, node=life.node), f"a container of task {task}")
