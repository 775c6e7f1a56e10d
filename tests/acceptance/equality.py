"""What `docker service inspect` shows of a stack, in a form in which two deployments can be compared field by field."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.acceptance.berth import Berth, until
from tests.acceptance.test_stack_on_swarm import tried
from tests.testbed.swarm import Swarm

FILES = Path(__file__).parents[1] / "files" / "stacks"
STACK = "eq"
LABEL = f"label=com.docker.stack.namespace={STACK}"
VOID = "NVIDIA_VISIBLE_DEVICES=void"
OUTSIDE = ("outside", "outside-too")
"""External networks, secrets and configs that the files name."""

LEFT_ALONE = ("short",)
"""Of ports without a number of their own the docker CLI loses all but one when files are merged; Berth keeps them."""

Spec = dict[str, Any]


def names() -> list[str]:
    """The stack files, by name."""
    return sorted(path.name for path in FILES.glob("*.yml"))


def furnish(swarm: Swarm) -> None:
    """Create what the files take as given, and let nothing run: tasks wait where every node is drained."""
    for name in OUTSIDE:
        swarm.cli("network", "create", "--driver", "overlay", name)
        for kind in ("secret", "config"):
            swarm.cli(kind, "create", name, str(FILES / "files" / "one.env"))
    swarm.cli("node", "update", "--availability", "drain", *swarm.cli("node", "ls", "-q").split())


def changed(path: Path, folder: Path) -> Path:
    """A second file that changes every service of the first one by a variable."""
    text = path.read_text()
    version = re.match(r"version:.*\n", text)
    services = re.split(r"^services:\n", text, flags=re.MULTILINE)[1]
    keys = re.findall(r"^  ([\w\"-]+):", re.split(r"^\w", services, flags=re.MULTILINE)[0], flags=re.MULTILINE)
    lines = [f"  {key}: {{environment: {{SECOND: deployment}}}}\n" for key in keys if key not in LEFT_ALONE]
    made = folder / "change.yml"
    made.write_text((version[0] if version else "") + "services:\n" + "".join(lines))
    return made


def docker_deploy(swarm: Swarm, *files: Path) -> None:
    """The docker CLI's own deployment."""
    words = [word for file in files for word in ("-c", str(file))]
    swarm.cli("stack", "deploy", "--detach=true", *words, STACK)


def berth_deploy(berth: Berth, *files: Path) -> str:
    """The same by Berth."""
    words = [word for file in files for word in ("-c", str(file))]
    return berth("stack", "deploy", *words, STACK)


def inspected(swarm: Swarm) -> dict[str, Spec]:
    """All services of the stack as the docker CLI shows them."""
    ids = swarm.cli("service", "ls", "-q", "--filter", LABEL).split()
    found = json.loads(swarm.cli("service", "inspect", *ids)) if ids else []
    return {service["Spec"]["Name"]: service for service in found}


def specs(swarm: Swarm, key: str = "Spec") -> dict[str, Spec]:
    """The specs of the stack's services, without Berth's own marks, and with names in the place of ids."""
    known = _names_of_ids(swarm)
    return {name: plain(service[key], known) for name, service in inspected(swarm).items() if key in service}


def plain(value: Any, known: dict[str, str]) -> Any:
    """A value of a spec in comparable form."""
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if not key.startswith("berth.")}
        return {key: plain(_sorted(key, one), known) for key, one in kept.items()}
    if isinstance(value, list):
        return [plain(one, known) for one in value if one != VOID] or None
    return known.get(value, value) if isinstance(value, str) else value


def same(ours: Any, theirs: Any) -> None:
    """Fail, with every field that differs, unless both are equal."""
    found = list(differences(ours, theirs, ""))
    assert not found, "\n".join(found)


def differences(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    """The fields in which two specs differ, one line each."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            yield from differences(ours.get(key), theirs.get(key), f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for n, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(our, their, f"{path}.{n}")
    elif ours != theirs:
        yield f"{path.removeprefix('.')}: {ours!r}, the docker CLI: {theirs!r}"


def versions(swarm: Swarm) -> dict[str, int]:
    """The version of each service: it counts every write."""
    return {name: service["Version"]["Index"] for name, service in inspected(swarm).items()}


def remove(swarm: Swarm, berth: Berth | None = None) -> None:
    """Remove the stack by the tool that made it, and wait until nothing of it is left."""
    if berth is not None:
        berth("stack", "rm", "-y", STACK)
    else:
        until(lambda: tried(swarm, "stack", "rm", STACK), 60)  # a network may be in use for a moment
    kinds = ("service", "network", "secret", "config")
    until(lambda: not any(swarm.cli(kind, "ls", "-q", "--filter", LABEL) for kind in kinds), 60)


def _names_of_ids(swarm: Swarm) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in ("network", "secret", "config"):
        lines = swarm.cli(kind, "ls", "--format", "{{.ID}} {{.Name}}", *(["--no-trunc"] if kind == "network" else []))
        found |= dict(line.split(" ", 1) for line in lines.splitlines())
    return found


def _sorted(key: str, value: Any) -> Any:
    """The docker CLI puts two uses of one secret in any order."""
    return sorted(value, key=json.dumps) if key in ("Secrets", "Configs") and value else value
