"""Whether a service that the docker CLI made asks for what Berth would write: then it is taken over without a restart.

What a person can write in a stack file is compared; what the daemon fills in by itself is not.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from berth.model import marks

CONTAINER = (
    "Command", "Args", "Dir", "User", "Groups", "Hostname", "Mounts", "Healthcheck", "StopSignal", "TTY", "OpenStdin",
    "ReadOnly", "Hosts", "Secrets", "Configs", "CapabilityAdd", "CapabilityDrop", "Sysctls", "Ulimits",
)  # fmt: skip
"""Fields that mean nothing when they are absent, so that one that was dropped from the file is a difference."""
GIVEN = ("Init", "StopGracePeriod")
"""Fields for which the daemon has a value of its own: compared where the file gives one."""
DROPPED = ("Consistency",)
"""Of mounts: what Swarm takes and does not keep."""
VOID = "NVIDIA_VISIBLE_DEVICES=void"
Body = Mapping[str, Any]


def unlike(wanted: Body, there: Body) -> tuple[str, ...]:
    """The names of the fields of two service specs that differ, in the daemon's words; Berth's own marks apart."""
    return tuple(_differences(wanted, there))


def _differences(wanted: Body, there: Body) -> Iterator[str]:
    template, other = wanted["TaskTemplate"], there.get("TaskTemplate") or {}
    yield from _containers(template["ContainerSpec"], other.get("ContainerSpec") or {})
    yield from _named({"Resources": template.get("Resources")}, {"Resources": other.get("Resources")}, "Resources")
    yield from _named(template.get("Placement") or {}, other.get("Placement") or {}, "Constraints", "Preferences")
    if not _within(template.get("RestartPolicy"), other.get("RestartPolicy")):
        yield "RestartPolicy"
    if _aliases(template) != _aliases(other):
        yield "Networks"
    yield from _named(wanted, there, "Mode")
    yield from _named(wanted.get("EndpointSpec") or {}, there.get("EndpointSpec") or {}, "Ports")
    yield from (key for key in ("UpdateConfig", "RollbackConfig") if not _within(wanted.get(key), there.get(key)))


def _containers(wanted: Body, there: Body) -> Iterator[str]:
    if _bare(wanted.get("Image")) != _bare(there.get("Image")):
        yield "Image"
    if sorted(set(wanted.get("Env") or ()) - {VOID}) != sorted(there.get("Env") or ()):
        yield "Env"
    if _labels(wanted) != _labels(there):
        yield "Labels"
    yield from _named(wanted, there, *CONTAINER)
    yield from (key for key in GIVEN if key in wanted and wanted[key] != there.get(key))


def _named(wanted: Body, there: Body, *keys: str) -> Iterator[str]:
    return (key for key in keys if _plain(wanted.get(key)) != _plain(there.get(key)))


def _within(wanted: Any, there: Any) -> bool:
    """True when all that is asked for is there, whatever else the daemon says."""
    if isinstance(wanted, Mapping):
        return all(_within(value, (there or {}).get(key)) for key, value in wanted.items())
    return wanted is None or bool(_plain(wanted) == _plain(there))


def _plain(value: Any) -> Any:
    """A value without what is empty, its lists in one order."""
    if isinstance(value, Mapping):
        kept = {key: _plain(one) for key, one in value.items() if key not in DROPPED}
        return {key: one for key, one in kept.items() if one not in (None, "", [], {}, 0, False)} or None
    if isinstance(value, list | tuple):
        ordered = isinstance(value, list) and all(isinstance(one, str) for one in value)
        found = [_plain(one) for one in value]
        return (found if ordered else sorted(found, key=_text)) or None
    return value or None


def _text(value: Any) -> bytes:
    """A value as text that does not depend on the order of its keys."""
    return msgspec.json.encode(value, order="sorted")


def _bare(image: Any) -> str:
    """The image without the digest that the CLI or Berth resolved."""
    return str(image or "").partition("@")[0]


def _labels(container: Body) -> dict[str, str]:
    return {key: value for key, value in (container.get("Labels") or {}).items() if not key.startswith(marks.PREFIX)}


def _aliases(template: Body) -> list[list[str]]:
    """The aliases on each network; the daemon knows networks by their ids."""
    return sorted(sorted(network.get("Aliases") or ()) for network in template.get("Networks") or ())
