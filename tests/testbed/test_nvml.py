"""The fake NVML under NVIDIA's real Python bindings."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import build
from .nvml import FakeCard, FakeNvml, FakeProcess
from .nvml.state import DRIVER_NOT_LOADED, GPU_IS_LOST, LIBRARY_MISMATCH

pynvml = pytest.importorskip("pynvml")
pytestmark = pytest.mark.engine
A, B = (f"GPU-00000000-0000-0000-0000-00000000000{digit}" for digit in "ab")


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeNvml]:
    """Two linked cards under started bindings."""
    first = FakeCard(A, pci="00000000:3B:00.0", links={0: "00000000:AF:00.0"}, used_mib=512)
    second = FakeCard(B, name="NVIDIA A100-SXM4-40GB", pci="00000000:AF:00.0", numa=1, power_mw=None)
    fake = FakeNvml(tmp_path / "nvml", [first, second])
    fake.write()
    fake.preload(build.nvml())
    pynvml.nvmlInit()
    yield fake
    fake.error = 0
    fake.write()
    pynvml.nvmlShutdown()


def refused(code: int, call: Any, *arguments: Any) -> None:
    """Check that a call of the bindings fails with this code."""
    with pytest.raises(pynvml.NVMLError) as caught:
        call(*arguments)
    assert caught.value.value == code


def test_system_and_identity(fake: FakeNvml) -> None:
    assert pynvml.nvmlSystemGetDriverVersion() == "550.54.15"
    assert pynvml.nvmlSystemGetCudaDriverVersion_v2() == pynvml.nvmlSystemGetCudaDriverVersion() == 12040
    assert pynvml.nvmlSystemGetNVMLVersion() == "12.550.54.15"
    assert pynvml.nvmlDeviceGetCount() == 2
    card = pynvml.nvmlDeviceGetHandleByUUID(B)
    assert pynvml.nvmlDeviceGetUUID(card) == B
    assert pynvml.nvmlDeviceGetName(card) == "NVIDIA A100-SXM4-40GB"
    assert pynvml.nvmlDeviceGetIndex(card) == pynvml.nvmlDeviceGetMinorNumber(card) == 1
    assert pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByPciBusId("0000:3b:00.0")) == A
    refused(6, pynvml.nvmlDeviceGetHandleByUUID, "GPU-x")
    refused(2, pynvml.nvmlDeviceGetHandleByIndex, 2)


def test_figures(fake: FakeNvml) -> None:
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    for memory in (
        pynvml.nvmlDeviceGetMemoryInfo(card),
        pynvml.nvmlDeviceGetMemoryInfo(card, pynvml.nvmlMemory_v2),
    ):
        assert (memory.total >> 20, memory.used >> 20, memory.free >> 20) == (16384, 512, 15872)
    fake.cards[0].gpu_percent, fake.cards[0].memory_percent, fake.cards[0].celsius = 97, 40, 71
    fake.cards[0].ecc_uncorrected = 3
    fake.write()
    rates = pynvml.nvmlDeviceGetUtilizationRates(card)
    assert (rates.gpu, rates.memory) == (97, 40)
    assert pynvml.nvmlDeviceGetTemperature(card, 0) == pynvml.nvmlDeviceGetTemperatureV(card, 0) == 71
    assert pynvml.nvmlDeviceGetPowerUsage(card) == 42000
    assert pynvml.nvmlDeviceGetEnforcedPowerLimit(card) == 300000
    assert pynvml.nvmlDeviceGetPowerManagementLimitConstraints(card) == [100000, 300000]
    assert pynvml.nvmlDeviceGetTotalEnergyConsumption(card) == 1000
    assert pynvml.nvmlDeviceGetTotalEccErrors(card, 1, 0) == 3
    assert pynvml.nvmlDeviceGetTotalEccErrors(card, 0, 0) == 0
    assert pynvml.nvmlDeviceGetEccMode(card) == [1, 1]
    assert pynvml.nvmlDeviceGetPersistenceMode(card) == 1
    assert pynvml.nvmlDeviceGetComputeMode(card) == 0
    assert pynvml.nvmlDeviceGetCudaComputeCapability(card) == (7, 0)
    refused(3, pynvml.nvmlDeviceGetMigMode, card)
    refused(3, pynvml.nvmlDeviceGetPowerUsage, pynvml.nvmlDeviceGetHandleByIndex(1))


def test_topology(fake: FakeNvml) -> None:
    first, second = (pynvml.nvmlDeviceGetHandleByIndex(index) for index in (0, 1))
    assert pynvml.nvmlDeviceGetPciInfo(first).busId == "00000000:3B:00.0"
    assert pynvml.nvmlDeviceGetNvLinkState(first, 0) == 1
    assert pynvml.nvmlDeviceGetNvLinkRemotePciInfo(first, 0).busId == "00000000:AF:00.0"
    refused(3, pynvml.nvmlDeviceGetNvLinkState, first, 1)
    assert list(pynvml.nvmlDeviceGetMemoryAffinity(second, 1, 0)) == [2]
    refused(3, pynvml.nvmlDeviceGetNumaNodeId, second)


def test_processes(fake: FakeNvml) -> None:
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlDeviceGetComputeRunningProcesses(card) == []
    fake.cards[0].processes = [FakeProcess(11, 100), FakeProcess(12, 200), FakeProcess(13, 5, "G")]
    fake.write()
    for call in (
        pynvml.nvmlDeviceGetComputeRunningProcesses_v2,
        pynvml.nvmlDeviceGetComputeRunningProcesses_v3,
    ):
        assert [(held.pid, held.usedGpuMemory >> 20) for held in call(card)] == [(11, 100), (12, 200)]
    assert [held.pid for held in pynvml.nvmlDeviceGetGraphicsRunningProcesses(card)] == [13]


def test_xid_then_lost(fake: FakeNvml) -> None:
    first, second = (pynvml.nvmlDeviceGetHandleByIndex(index) for index in (0, 1))
    fake.xid(fake.cards[0], 13)
    events = pynvml.nvmlEventSetCreate()
    for card in (first, second):
        pynvml.nvmlDeviceRegisterEvents(card, pynvml.nvmlEventTypeXidCriticalError, events)
    refused(10, pynvml.nvmlEventSetWait_v2, events, 30)
    fake.lose(fake.cards[1])
    event = pynvml.nvmlEventSetWait_v2(events, 1000)
    assert (event.eventType, event.eventData) == (pynvml.nvmlEventTypeXidCriticalError, 79)
    refused(GPU_IS_LOST, pynvml.nvmlDeviceGetUUID, second)
    refused(GPU_IS_LOST, pynvml.nvmlEventSetWait_v2, events, 30)
    assert pynvml.nvmlDeviceGetUUID(first) == A
    pynvml.nvmlEventSetFree(events)
    del fake.cards[1]
    fake.write()
    assert pynvml.nvmlDeviceGetCount() == 1
    refused(GPU_IS_LOST, pynvml.nvmlDeviceGetName, second)


def test_slow_and_broken_calls(fake: FakeNvml) -> None:
    fake.delay = 60
    fake.write()
    begun = time.monotonic()
    pynvml.nvmlDeviceGetCount()
    assert time.monotonic() - begun >= 0.06
    fake.delay, fake.error = 0, 999
    fake.write()
    refused(999, pynvml.nvmlDeviceGetCount)


@pytest.mark.parametrize("code", [0, DRIVER_NOT_LOADED, LIBRARY_MISMATCH])
def test_start_of_a_program(tmp_path: Path, code: int) -> None:
    fake = FakeNvml(tmp_path / "nvml", [FakeCard(A)], init=code)
    fake.write()
    program = """if True:
        import json, pynvml
        try:
            pynvml.nvmlInit()
            print(json.dumps([pynvml.nvmlDeviceGetCount(), ""]))
        except pynvml.NVMLError as error:
            print(json.dumps([error.value, str(error)]))"""
    ran = subprocess.run(
        [sys.executable, "-c", program], env=fake.environment(build.nvml()), capture_output=True, check=True
    )
    number, said = json.loads(ran.stdout)
    wanted = {
        0: (1, ""),
        9: (9, "Driver Not Loaded"),
        18: (18, "RM has detected an NVML/RM version mismatch."),
    }
    assert (number, said) == wanted[code]
