"""NVIDIA cards by the real nvidia-ml-py over a library that answers from a file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from berth.model.card import Use
from berth.ports import VendorAbsent
from berth.vendors.nvidia import Nvidia
from tests.testbed import build
from tests.testbed.nvml import FakeCard, FakeNvml, FakeProcess
from tests.testbed.nvml.state import DRIVER_NOT_LOADED, LIBRARY_MISMATCH, UNKNOWN

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc to build the fake libnvidia-ml.so.1")
A, B, C = (f"GPU-00000000-0000-0000-0000-00000000000{digit}" for digit in "abc")


@pytest.fixture
def fake(tmp_path: Path) -> FakeNvml:
    """Two linked V100 and an A100 of which the driver tells little."""
    bare = FakeCard(C, name="NVIDIA A100-SXM4-80GB", pci="00000000:D8:00.0", total_mib=81920)
    bare.numa = bare.limit_mw = bare.gpu_percent = None
    cards = [
        FakeCard(A, pci="00000000:3B:00.0", links={0: "00000000:AF:00.0", 1: "00000000:AF:00.0"}, used_mib=512),
        FakeCard(B, pci="00000000:AF:00.0", links={2: "00000000:3B:00.0"}, numa=1, limit_mw=250499, gpu_percent=97),
        bare,
    ]
    cards[1].processes = [FakeProcess(12, 200), FakeProcess(11, 100), FakeProcess(13, 5, "G")]
    fake = FakeNvml(tmp_path / "nvml", cards)
    fake.write()
    fake.preload(build.nvml())
    return fake


def test_facts(fake: FakeNvml) -> None:
    first, second, third = Nvidia("gpu-1").discover()
    assert (first.uuid, first.index, first.minor, first.node, first.vendor) == (A, 0, 0, "gpu-1", "nvidia")
    assert (first.model, first.memory_mib, first.pci) == ("Tesla-V100-SXM2-16GB", 16384, "00000000:3B:00.0")
    assert (first.driver, first.cuda, first.power_limit_w, first.mig) == ("550.54.15", "12.4", 300, False)
    assert (first.numa, second.numa, second.power_limit_w) == (0, 1, 250)
    assert (first.nvlink, second.nvlink, third.nvlink) == ((B,), (A,), ())
    assert (third.model, third.memory_mib) == ("A100-SXM4-80GB", 81920)
    assert (first.brand, first.arch) == ("tesla", "7.0")


def test_what_a_card_does_not_support_is_unknown_and_not_a_failure(fake: FakeNvml) -> None:
    third = Nvidia("gpu-1").discover()[2]
    assert (third.numa, third.power_limit_w) == (None, None)
    assert Nvidia("gpu-1").usage()[2].util is None


def test_usage_counts_processes_that_compute(fake: FakeNvml) -> None:
    uses = Nvidia("gpu-1").usage()
    assert uses[0] == Use(uuid=A, mem_used_mib=512, util=0.0)
    assert uses[1] == Use(uuid=B, util=97.0, pids=(11, 12))


def test_a_lost_card_is_left_out_and_reported_until_it_answers_again(fake: FakeNvml) -> None:
    vendor = Nvidia("gpu-1")
    fake.lose(fake.cards[1])
    assert [card.uuid for card in vendor.discover()] == [A, C]
    (fault,) = vendor.faults
    assert (fault.code, fault.field) == ("card-lost", "1")
    assert "index 1 on gpu-1 does not answer" in fault.message
    assert [use.uuid for use in vendor.usage()] == [A, C]
    fake.cards[1].error = 0
    fake.write()
    assert [card.uuid for card in vendor.discover()] == [A, B, C]
    assert vendor.faults == ()


@pytest.mark.parametrize(
    ("code", "named", "remedy"),
    [
        (DRIVER_NOT_LOADED, "nvidia-driver-not-loaded", "modprobe nvidia"),
        (LIBRARY_MISMATCH, "nvidia-driver-mismatch", "Restart the node"),
        (UNKNOWN, "nvidia-no-answer", "nvidia-smi"),
    ],
)
def test_a_driver_that_does_not_work(fake: FakeNvml, code: int, named: str, remedy: str) -> None:
    fake.init = code
    fake.write()
    vendor = Nvidia("gpu-1")
    with pytest.raises(VendorAbsent) as caught:
        vendor.discover()
    assert caught.value.problem.code == named
    assert remedy in str(caught.value)
    fake.init = 0
    fake.write()
    assert len(vendor.discover()) == 3


def test_a_driver_that_fails_later_is_opened_again(fake: FakeNvml) -> None:
    vendor = Nvidia("gpu-1")
    vendor.discover()
    fake.error = DRIVER_NOT_LOADED
    fake.write()
    for call in (vendor.discover, vendor.usage):
        with pytest.raises(VendorAbsent, match="not loaded"):
            call()
    fake.error = 0
    fake.write()
    assert len(vendor.discover()) == 3


def test_a_host_without_the_library() -> None:
    program = """if True:
        from berth.ports import VendorAbsent
        from berth.vendors.nvidia import Nvidia
        try:
            print(Nvidia("gpu-1").discover())
        except VendorAbsent as error:
            print(error.problem.code, error)"""
    bare = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], env=bare, capture_output=True, check=True, text=True)
    if "nvidia-library-missing" not in ran.stdout:
        pytest.skip("this machine has NVIDIA's library")
    assert "libnvidia-ml.so.1 is not on this host" in ran.stdout
    assert "Install the NVIDIA driver" in ran.stdout


def test_a_mount_goes_by_full_uuid_on_every_way_into_a_container(fake: FakeNvml) -> None:
    cards = Nvidia("gpu-1").discover()
    mount = Nvidia().mount(cards[1:])
    assert mount.env == {"NVIDIA_VISIBLE_DEVICES": f"{B},{C}"}
    assert (mount.driver, mount.runtime, mount.cdi_kind) == ("nvidia", "nvidia", "nvidia.com/gpu")
    assert mount.device_ids == (B, C)
