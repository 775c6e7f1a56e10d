"""A service that gets a card keeps all that the file says of it: its slot's service beside the one without cards."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from berth.engines.swarm import wanted
from berth.model.draft import Bundle, Draft, LoadedStack, Needs, SourceFile
from berth.model.errors import Refused
from berth.model.job import Job
from berth.model.launch import CardMount, Launch
from tests.build import card, node
from tests.compose.loading import ADMIN, load_stack

FILES = sorted((Path(__file__).parents[1] / "files" / "stacks").glob("*.yml"))
DEVICE = "{deploy: {resources: {reservations: {devices: [{capabilities: [gpu], count: 1}]}}}}"
REFUSED = {
    ("01-voting-app", "visualizer"): "mount-of-socket",
    ("02-monitoring", "cadvisor"): "mount-of-socket",
    ("02-monitoring", "node-exporter"): "mount-of-socket",
    ("03-sock-shop", "queue-master"): "mount-of-socket",
    ("04-agent", "agent"): "mount-of-socket",
    ("10-capabilities", "c"): "privileged-with-cards",
    ("21-ignored", "a"): "device-by-hand",
}
"""Services that cannot have a card, with the reason."""
KEPT_BY_BERTH = ("Placement", "RestartPolicy", "ForceUpdate")
PLACEHOLDERS = {"{{.Service.Name}}": "eq_a", "{{.Task.Slot}}": "1"}


def loaded(*files: SourceFile) -> LoadedStack:
    """The stack of these files, with all that they name beside the first one."""
    given: dict[str, Any] = {"variables": {}, "extra": {}, "contents": {}}
    while True:
        stack = load_stack(Bundle(files=files, directory="/home/x", **given), "eq", ADMIN)
        if stack.needs == Needs():
            return stack
        given["variables"] |= dict.fromkeys(stack.needs.variables)
        for kind, paths in (("extra", stack.needs.files), ("contents", stack.needs.contents)):
            given[kind] |= {path: SourceFile(path, (FILES[0].parent / path).read_bytes()) for path in paths}


def services() -> list[Any]:
    """Every service of every file."""
    found = []
    for path in FILES:
        stack = loaded(SourceFile(path.name, path.read_bytes()))
        found += [pytest.param(path, draft.service, id=f"{path.stem}-{draft.service}") for draft in stack.drafts]
    return found


def drafts(path: Path, service: str) -> tuple[Draft, Draft]:
    """The service as it is, and with a card; both from two files: merging sorts mounts and ports, as in Docker."""
    version = next((line for line in path.read_text().splitlines() if line.startswith("version:")), "")
    second = (SourceFile("more.yml", f"{version}\nservices: {{'{service}': {of}}}\n".encode()) for of in ("{}", DEVICE))
    first = SourceFile(path.name, path.read_bytes())
    plain, carded = (loaded(first, more) for more in second)
    pair = [next(draft for draft in stack.drafts if draft.service == service) for stack in (plain, carded)]
    return pair[0], pair[1]


def launch(draft: Draft) -> Launch:
    """The draft's first slot on a node with a card."""
    job = Job(
        id="j", name=draft.name, engine_name=draft.name, spec=draft.spec, stack="eq", service=draft.service,
        native=draft.native, replicas=draft.replicas,
    )  # fmt: skip
    granted = {} if draft.native else {"cards": (card(),), "mount": CardMount(env={"NVIDIA_VISIBLE_DEVICES": "0"})}
    return Launch(
        cluster="c", job=job, task="j.1", slot=1, attempt=1, name=draft.name, spec=draft.spec, node=node(), **granted
    )


def kept(service: dict[str, Any]) -> Any:
    """What must not change with a card, placeholders of slot and service filled in."""
    template = {key: value for key, value in service["TaskTemplate"].items() if key not in KEPT_BY_BERTH}
    container = dict(template["ContainerSpec"])
    container["Env"] = [line for line in container["Env"] if not line.startswith("NVIDIA_VISIBLE_DEVICES=")]
    container["Labels"] = {key: value for key, value in container["Labels"].items() if not key.startswith("berth.")}
    container["CapabilityDrop"] = [name for name in container.get("CapabilityDrop", []) if name != "CAP_MKNOD"]
    if not template["Resources"].get("Reservations", True):
        template["Resources"] = {key: value for key, value in template["Resources"].items() if key != "Reservations"}
    networks = [{key: value for key, value in use.items() if key != "Aliases"} for use in template["Networks"]]
    ports = service["EndpointSpec"].get("Ports", [])
    text = msgspec.json.encode([{**template, "ContainerSpec": container, "Networks": networks}, ports]).decode()
    for placeholder, value in PLACEHOLDERS.items():
        text = text.replace(placeholder, value)
    return msgspec.json.decode(text)


@pytest.mark.parametrize(("path", "service"), services())
def test_all_that_berth_does_not_keep_itself_stays(path: Path, service: str) -> None:
    if (path.stem, service) in REFUSED:
        with pytest.raises(Refused) as caught:
            drafts(path, service)
        assert REFUSED[path.stem, service] in {problem.code for problem in caught.value.problems}
        return
    plain, carded = drafts(path, service)
    assert (plain.native, carded.native, carded.spec.request.gpus) == (True, False, 1)
    native, slot = wanted.native_service(launch(plain), [], []), wanted.slot_service(launch(carded), [], [])
    if path.stem == "24-templates":
        native["TaskTemplate"]["ContainerSpec"]["Env"] = slot["TaskTemplate"]["ContainerSpec"]["Env"]
    assert kept(slot) == kept(native)
