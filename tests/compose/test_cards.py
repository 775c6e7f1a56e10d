"""How many cards: each sign alone, their ranking, and what is refused. A new case is one line."""

import pytest

from berth.model.spec import Request
from tests.compose.loading import load, one, problems, warned, wrap

DEVICE = "deploy: {resources: {reservations: {devices: [{driver: nvidia, capabilities: [gpu]%s}]}}}"
RESERVED = "deploy: {resources: {reservations: {devices: [{%s}]}}}"
GENERIC = "deploy: {resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: %s, value: %s}}]}}}"
BOTH = """
deploy:
  resources:
    reservations:
      devices: [{capabilities: [gpu], count: %s}]
      generic_resources: [{discrete_resource_spec: {kind: gpu, value: %s}}]
"""
FREE = "deploy: {placement: {constraints: [node.labels.gpu.free >= %s]}}"
LABEL = 'deploy: {labels: ["gpu.task=true"]}'
SEE = "environment: {NVIDIA_VISIBLE_DEVICES: '%s'}"
UUID = "GPU-5c2f1b1e-0000-4000-8000-000000000001"


def asked(service: str) -> tuple[int | str | tuple[str, ...], list[str]]:
    """(cards, "all" or names of cards; codes of the warnings about cards)."""
    loaded = load(wrap(service), variables={"NV_GPU": None, "NVIDIA_VISIBLE_DEVICES": None})
    request: Request = loaded.drafts[0].spec.request
    cards = "all" if request.all_matching else request.named or request.gpus
    return cards, [warning.code for warning in loaded.warnings if warning.code.startswith("gpu-")]


@pytest.mark.parametrize(
    ("service", "cards", "warnings"),
    [
        ("", 0, []),
        (DEVICE % ", count: 2", 2, []),
        (DEVICE % ", count: '2'", 2, []),
        (DEVICE % ", count: 0", 0, []),
        (DEVICE % ", count: all", "all", []),
        (DEVICE % "", "all", []),
        (DEVICE % ", device_ids: ['1', '3']", ("1", "3"), []),
        (DEVICE % f", device_ids: [{UUID}]", (UUID,), []),
        (DEVICE % ", count: 1}, {capabilities: [gpu], count: 2", 3, []),
        ("gpus: all", "all", []),
        ("gpus: 2", 2, []),
        ("gpus: [{count: 3}]", 3, []),
        ("gpus: [{driver: nvidia, device_ids: ['0']}]", ("0",), []),
        (GENERIC % ("gpu", 2), 2, []),
        (GENERIC % ("NVIDIA-GPU", 3), 3, []),
        (GENERIC % ("fpga", 2), 0, []),
        (BOTH % (2, 2), 2, []),
        ("environment: [NV_GPU=0]", ("0",), []),
        ("environment: ['NV_GPU=0, 1']", ("0", "1"), []),
        ("environment: [NV_GPU=]", 0, []),
        (SEE % "0,2", ("0", "2"), []),
        (SEE % UUID, (UUID,), []),
        (SEE % "node-2/1", ("node-2/1",), []),
        (SEE % "void", 0, []),
        (SEE % "none", 0, []),
        (SEE % "", 0, []),
        (SEE % "all", 1, ["gpu-assumed"]),
        ("runtime: nvidia", 1, ["gpu-assumed"]),
        (FREE % 2, 2, []),
        ("deploy: {placement: {constraints: [gpu.free >= 3, node.labels.gpu.free >= 2]}}", 3, []),
        ("deploy: {placement: {constraints: [gpu.free > 3]}}", 0, []),
        (LABEL, 1, []),
        ("labels: {gpu.task: 'true'}", 1, []),
        ("labels: {gpu.task: 'false'}", 0, []),
        # ranking: the left one wins
        (DEVICE % ", count: 1" + "\nenvironment: [NV_GPU=0]", 1, ["gpu-overwritten"]),
        (DEVICE % ", device_ids: ['0']" + "\nenvironment: [NV_GPU=0]", ("0",), []),
        (DEVICE % ", count: 0" + "\n" + SEE % "all", 0, ["gpu-overwritten"]),
        (DEVICE % ", count: 0" + "\n" + SEE % "none", 0, []),
        (DEVICE % ", count: all" + "\n" + SEE % "all", "all", []),
        (GENERIC % ("gpu", 2) + "\n" + SEE % "0", 2, ["gpu-overwritten"]),
        ("environment: [NV_GPU=1, NVIDIA_VISIBLE_DEVICES=0]", ("1",), ["gpu-overwritten"]),
        ("environment: ['NV_GPU=0,1', NVIDIA_VISIBLE_DEVICES=all]", ("0", "1"), ["gpu-overwritten"]),
        ("environment: [NV_GPU=1, NVIDIA_VISIBLE_DEVICES=1]", ("1",), []),
        (SEE % "1" + "\n" + FREE % 2, ("1",), []),
        (SEE % "all" + "\n" + FREE % 2, 2, ["gpu-overwritten"]),
        (SEE % "none" + "\n" + FREE % 2, 0, []),
        ("labels: [gpu.task=true]\n" + FREE % 2, 2, []),
        (LABEL + "\nruntime: nvidia", 1, []),
        ("runtime: nvidia\n" + SEE % "all", 1, ["gpu-assumed", "gpu-overwritten"]),
    ],
)  # fmt: skip
def test_signs_and_their_ranking(service: str, cards: object, warnings: list[str]) -> None:
    found, codes = asked(service)
    assert (found, sorted(codes)) == (cards, warnings)


@pytest.mark.parametrize(
    ("service", "code", "field"),
    [
        (DEVICE % ", count: 2, device_ids: ['0']", "count-and-device-ids", "devices.0.count"),
        (DEVICE % ", count: -1", "gpu-count", "devices.0.count"),
        (DEVICE % ", count: 0.5", "gpu-count", "devices.0.count"),
        (DEVICE % ", count: many", "gpu-count", "devices.0.count"),
        (DEVICE % ", count: 100000", "gpu-count", "devices.0.count"),
        (DEVICE % ", count: [1]", "gpu-count", "devices.0.count"),
        (DEVICE % ", device_ids: ['0', '0']", "duplicate-card", "devices.0.device_ids"),
        (DEVICE % ", device_ids: ['nvidia.com/gpu=0']", "bad-card", "devices.0.device_ids"),
        (DEVICE % ", count: 1}, {capabilities: [gpu], device_ids: ['0']", "gpu-contradiction", "devices"),
        (DEVICE % ", options: {a: b}", "key-not-carried", "devices.0.options"),
        (RESERVED % "driver: cdi, capabilities: [gpu]", "device-driver", "driver"),
        (RESERVED % "capabilities: [tpu]", "device-capabilities", "capabilities"),
        (RESERVED % "count: 1", "device-capabilities", "capabilities"),
        ("deploy: {resources: {reservations: {devices: [gpu]}}}", "wrong-type", "devices.0"),
        (BOTH % (1, 2), "gpu-contradiction", "discrete_resource_spec.value"),
        (BOTH % ("all", 2), "gpu-contradiction", "discrete_resource_spec.value"),
        ("gpus: 1\n" + DEVICE % ", count: 2", "gpu-contradiction", "gpus"),
        ("gpus: -2", "gpu-count", "gpus"),
        ("gpus: some", "gpu-count", "gpus"),
        (GENERIC % ("gpu", -1), "out-of-range", "value"),
        (GENERIC % ("gpu", 0.5), "wrong-type", "value"),
        ("environment: ['NV_GPU=0,0']", "duplicate-card", "environment.0"),
        ("environment: [NV_GPU=x]", "bad-card", "environment.0"),
        (SEE % "0,nvidia.com/gpu=all", "bad-card", "environment.NVIDIA_VISIBLE_DEVICES"),
        ("runtime: kata", "key-not-carried", "runtime"),
    ],
)  # fmt: skip
def test_refused(service: str, code: str, field: str) -> None:
    found = problems(wrap(service))
    assert [problem.code for problem in found] == [code]
    assert found[0].field.endswith(field)
    assert found[0].line > 2
    assert found[0].hint


def test_other_generic_resources_pass_through() -> None:
    assert one(GENERIC % ("fpga", 2)).spec.request.generic == {"fpga": 2}


def test_what_the_user_wrote_of_visible_cards_does_not_reach_the_container() -> None:
    assert one("environment: [NVIDIA_VISIBLE_DEVICES=0, A=1]").spec.env == (("A", "1"),)


def test_capabilities_of_a_device_reach_the_driver() -> None:
    devices = "devices: [{count: 1, capabilities: [gpu, compute, utility]}]"
    draft = one(f"deploy: {{resources: {{reservations: {{{devices}}}}}}}")
    assert draft.spec.env == (("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),)


def test_the_label_is_copied_to_the_container() -> None:
    draft = one(LABEL)
    assert (draft.spec.labels, draft.spec.container_labels) == ({"gpu.task": "true"}, {"gpu.task": "true"})


def test_a_service_with_cards_and_no_restart_policy_is_told_of_dockers_default() -> None:
    loaded = load(wrap("gpus: 1"))
    assert loaded.drafts[0].spec.restart.condition == "any"
    assert [(w.code, w.line) for w in loaded.warnings] == [("restart-default", 2)]
    assert [w.excerpt for w in load(wrap("gpus: 1\ndeploy: {replicas: 2}")).warnings] == ["    deploy: {replicas: 2}"]
    assert load(wrap("")).warnings == ()
    assert warned('gpus: 1\nrestart: "no"') == ["restart-no"]


@pytest.mark.parametrize(
    ("service", "native"),
    [
        ("", True),
        ("deploy: {placement: {constraints: [node.role == worker, node.labels.zone != b]}}", True),
        ("deploy: {placement: {constraints: [node.labels.gpu.enable == true]}}", False),
        ("deploy: {placement: {constraints: [node.labels.zone =~ ^a]}}", False),
        ("gpus: 1", False),
        ("gpus: 0", True),
        ("gpus: all", False),
    ],
)
def test_native(service: str, native: bool) -> None:
    assert one(service).native is native
