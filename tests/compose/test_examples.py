"""The files in examples/ load, and mean what they say."""

from pathlib import Path

import msgspec
import pytest

from berth.compose import load_job, load_stack
from berth.model.draft import Bundle, Needs, SourceFile
from berth.model.job import Network, Volume
from berth.model.spec import (
    FileRef,
    Healthcheck,
    Limits,
    Mount,
    NetworkUse,
    Request,
    Restart,
    TaskSpec,
)
from tests.compose.loading import FACTS

EXAMPLES = Path(__file__).parents[2] / "examples"
GIB = 2**30


def source(name: str) -> SourceFile:
    return SourceFile(f"examples/{name}", (EXAMPLES / name).read_bytes())


def test_the_stack_file_as_teams_write_it() -> None:
    loaded = load_stack(Bundle(files=(source("gpu-job.yml"),)), "gpu-job", FACTS)
    (draft,) = loaded.drafts
    assert (draft.name, draft.service, draft.replicas, draft.native) == ("gpu-job_ai-training", "ai-training", 1, False)
    assert draft.spec == TaskSpec(
        image="nvcr.io/nvidia/pytorch:24.10-py3",
        user="1001:1001",
        groups=("video",),
        env=(("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"), ("NV_GPU", "0,1")),
        labels={"gpu.task": "true"},
        container_labels={"gpu.task": "true"},
        networks=(NetworkUse("gpu-job_default"),),
        secrets=(FileRef(source="ngc_api_key", target="ngc_api_key"),),
        request=Request(
            named=("0", "1"),
            constraints=(
                "node.labels.gpu.enable == true",
                "node.labels.gpu.model == Tesla-V100",
                "node.labels.gpu.free >= 1",
            ),
        ),
        restart=Restart(condition="on-failure", delay_s=10.0, max_attempts=3),
    )
    assert loaded.networks == (Network(name="gpu-job_default"),)
    assert [(w.code, w.line) for w in loaded.warnings] == [("gpu-overwritten", 12)]
    assert draft.where["gpus"].line == 11
    assert draft.where["secrets"].excerpt == "    secrets:"


def test_a_stack_of_a_native_service_and_one_with_cards() -> None:
    files = (source("web-and-training.yml"),)
    first = load_stack(Bundle(files=files), "demo", FACTS)
    assert first.needs == Needs(variables=("LOG_LEVEL", "TRAINERS"))
    loaded = load_stack(Bundle(files=files, variables={"LOG_LEVEL": None, "TRAINERS": "3"}), "demo", FACTS)
    web, trainer = loaded.drafts
    assert (web.native, web.replicas, web.spec.env) == (True, 1, (("LOG_LEVEL", "info"),))
    assert (trainer.native, trainer.replicas) == (False, 3)
    assert trainer.spec == TaskSpec(
        image="nvcr.io/nvidia/pytorch:24.10-py3",
        args=("python", "train.py", "--epochs", "10"),
        env=(("LOG_LEVEL", "info"), ("OMP_NUM_THREADS", "8")),
        networks=(NetworkUse("demo_front", ("workers",)),),
        mounts=(
            Mount(kind="volume", source="demo_models", target="/models", labels={"com.docker.stack.namespace": "demo"}),
            Mount(kind="tmpfs", target="/scratch", tmpfs_bytes=GIB),
        ),
        shm_bytes=8 * GIB,
        healthcheck=Healthcheck(test=("CMD", "nvidia-smi"), interval_ns=60 * 10**9),
        request=Request(gpus=2, constraints=("gpu.memory >= 40GiB",), cpu_nano=4 * 10**9, memory_bytes=32 * GIB),
        limits=Limits(memory_bytes=64 * GIB),
        restart=Restart(condition="on-failure", delay_s=10.0, max_attempts=3),
    )
    assert loaded.networks == (Network(name="demo_front", attachable=True),)
    assert loaded.volumes == (Volume(name="demo_models", labels={"com.docker.stack.namespace": "demo"}),)
    assert loaded.warnings == ()


def test_the_job_file() -> None:
    draft = load_job((EXAMPLES / "train.yml").read_bytes(), "examples/train.yml", FACTS)
    assert draft.name == "train"
    assert draft.spec == TaskSpec(
        image="nvcr.io/nvidia/pytorch:24.10-py3",
        args=("python", "train.py"),
        env=(("EPOCHS", "10"),),
        mounts=(Mount(kind="bind", source="/data", target="/data", read_only=True),),
        user="1001:1001",
        request=Request(
            gpus=2,
            constraints=("gpu.memory >= 40GiB", "gpu.model == A100"),
            cpu_nano=2 * 10**9,
            memory_bytes=8 * GIB,
        ),
        limits=Limits(cpu_nano=4 * 10**9, memory_bytes=16 * GIB),
        restart=Restart(condition="on-failure", delay_s=5.0, max_attempts=3),
        time_limit_s=7200.0,
    )
    assert draft.where["gpus"].line == 5


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.yml")))
def test_every_example_loads(name: str) -> None:
    found = source(name)
    if b"services:" not in found.data:
        assert load_job(found.data, found.path, FACTS).spec.image
        return
    needs = load_stack(Bundle(files=(found,)), "demo", FACTS).needs
    loaded = load_stack(Bundle(files=(found,), variables=dict.fromkeys(needs.variables)), "demo", FACTS)
    assert loaded.drafts
    assert msgspec.json.encode([draft.spec for draft in loaded.drafts])
