"""NVIDIA cards through NVML (nvidia-ml-py): facts and use for the agent, and how a card gets into a container."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from berth.model.card import Card, Use
from berth.model.errors import Problem
from berth.model.gpu_model import normalise
from berth.model.launch import CardMount
from berth.ports import VendorAbsent

T = TypeVar("T")

LINKS = 18
"""NVLink ports that a card has at most."""

# NVML's return codes (nvml.h) that mean a broken installation, each with the problem that a person reads.
_ABSENT = {
    9: (
        "nvidia-driver-not-loaded",
        "NVIDIA's kernel driver is not loaded.",
        "Try `modprobe nvidia`, then read `dmesg`.",
    ),
    12: (
        "nvidia-library-missing",
        "NVIDIA's library libnvidia-ml.so.1 is not on this host.",
        "Install the NVIDIA driver, or use --vendor declared or simulated.",
    ),
    18: (
        "nvidia-driver-mismatch",
        "NVIDIA's kernel driver and its library have different versions.",
        "Restart the node, or unload and load the nvidia modules.",
    ),
}
# NVML's brand numbers (nvml.h, nvmlBrandType_t) in the words that NVIDIA_REQUIRE_CUDA uses.
_BRANDS = (
    "", "quadro", "tesla", "nvs", "grid", "geforce", "titan", "vapps", "vpc", "vcs", "vws", "cloudgaming", "quadrortx",
    "nvidiartx", "nvidia", "geforcertx", "titanrtx",
)  # fmt: skip
_LOST = (15, 16)  # the card fell off the bus, or has to be reset


class Nvidia:
    """The NVIDIA cards of this host. NVML is opened at the first call, kept open, and opened again after a failure."""

    name = "nvidia"

    def __init__(self, node: str = "") -> None:
        self._node = node
        self._nvml: Any = None
        self._faults: tuple[Problem, ...] = ()
        self._lock = threading.Lock()

    @property
    def faults(self) -> tuple[Problem, ...]:
        """Cards that the driver lists but that did not answer the latest `discover`."""
        return self._faults

    def discover(self) -> tuple[Card, ...]:
        """The cards that answer, by NVML's index (PCI order, which is what NVIDIA_VISIBLE_DEVICES counts)."""
        with self._lock:
            return self._with_nvml(self._discover)

    def usage(self) -> tuple[Use, ...]:
        """Memory, load and computing processes of each card that answers."""
        with self._lock:
            return self._with_nvml(self._usage)

    def mount(self, cards: tuple[Card, ...]) -> CardMount:
        """Full UUIDs for the toolkit's environment and for a device request; `void` keeps a task off all cards."""
        uuids = tuple(card.uuid for card in cards)
        if not uuids:
            return CardMount(env={"NVIDIA_VISIBLE_DEVICES": "void"})
        return CardMount(
            env={"NVIDIA_VISIBLE_DEVICES": ",".join(uuids)},
            driver="nvidia",
            cdi_kind="nvidia.com/gpu",
            device_ids=uuids,
            runtime="nvidia",
        )

    def _with_nvml(self, work: Callable[[Any], T]) -> T:
        try:
            nvml = self._opened()
        except ImportError as error:
            hint = "Install Berth with its agent parts: pip install 'gpu-berth[agent]'"
            problem = Problem(
                code="nvidia-bindings-missing", message="The Python package nvidia-ml-py is not here.", hint=hint
            )
            raise VendorAbsent(problem) from error
        try:
            return work(nvml)
        except nvml.NVMLError as error:
            self._close()
            raise _absent(error) from error

    def _opened(self) -> Any:
        if self._nvml is None:
            import pynvml

            try:
                pynvml.nvmlInit()
            except pynvml.NVMLError as error:
                raise _absent(error) from error
            self._nvml = pynvml
        return self._nvml

    def _close(self) -> None:
        nvml, self._nvml = self._nvml, None
        _ask(nvml, nvml.nvmlShutdown)

    def _discover(self, nvml: Any) -> tuple[Card, ...]:
        driver = nvml.nvmlSystemGetDriverVersion()
        cuda = _cuda(_ask(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2) or 0)
        handles = self._handles(nvml)
        buses = {_bus(nvml, handle): uuid for uuid, _, handle in handles}
        return tuple(
            _card(
                nvml,
                handle,
                buses,
                Card(uuid=uuid, node=self._node, index=index, vendor=self.name, model="", driver=driver, cuda=cuda),
            )
            for uuid, index, handle in handles
        )

    def _handles(self, nvml: Any) -> list[tuple[str, int, Any]]:
        """UUID, index and handle of each card that answers; the others become faults."""
        found, faults = [], []
        for index in range(nvml.nvmlDeviceGetCount()):
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(index)
                _touch(nvml, handle)
                found.append((str(nvml.nvmlDeviceGetUUID(handle)), index, handle))
            except nvml.NVMLError as error:
                if error.value in _ABSENT:
                    raise
                message = f"The card with index {index} on {self._node or 'this host'} does not answer: {error}."
                hint = "Look for Xid messages in `dmesg`; reset the card or restart the machine."
                faults.append(Problem(code="card-lost", message=message, hint=hint, field=str(index)))
        self._faults = tuple(faults)
        return found

    def _usage(self, nvml: Any) -> tuple[Use, ...]:
        return tuple(_use(nvml, uuid, handle) for uuid, _, handle in self._handles(nvml))


def _card(nvml: Any, handle: Any, buses: dict[str, str], known: Card) -> Card:
    limit = _ask(nvml, nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    mig = _ask(nvml, nvml.nvmlDeviceGetMigMode, handle)
    memory = _memory(nvml, handle)
    return msgspec.structs.replace(
        known,
        model=normalise(str(_ask(nvml, nvml.nvmlDeviceGetName, handle) or "")) or "unknown",
        memory_mib=memory[0],
        pci=_bus(nvml, handle),
        minor=_ask(nvml, nvml.nvmlDeviceGetMinorNumber, handle),
        numa=_numa(nvml, handle),
        nvlink=_peers(nvml, handle, buses),
        power_limit_w=None if limit is None else round(limit / 1000),
        mig=bool(mig and mig[0]),
        brand=_brand(nvml, handle),
        arch=".".join(map(str, _ask(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle) or ())),
    )


def _use(nvml: Any, uuid: str, handle: Any) -> Use:
    rates = _ask(nvml, nvml.nvmlDeviceGetUtilizationRates, handle)
    processes = _ask(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    return Use(
        uuid=uuid,
        mem_used_mib=_memory(nvml, handle)[1],
        util=None if rates is None else float(rates.gpu),
        pids=tuple(sorted({int(process.pid) for process in processes})),
    )


def _memory(nvml: Any, handle: Any) -> tuple[int, int]:
    """MiB in all and MiB used. The newer call leaves out what the driver keeps for itself; 0 where neither answers."""
    memory = _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)
    memory = memory or _ask(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return (memory.total >> 20, memory.used >> 20) if memory else (0, 0)


def _brand(nvml: Any, handle: Any) -> str:
    """The product line; "" for one that this version does not know."""
    number = _ask(nvml, nvml.nvmlDeviceGetBrand, handle) or 0
    return _BRANDS[number] if 0 <= number < len(_BRANDS) else ""


def _numa(nvml: Any, handle: Any) -> int | None:
    """The first NUMA node of the set that is near to the card; None where the driver does not say."""
    near = _ask(nvml, nvml.nvmlDeviceGetMemoryAffinity, handle, 4, nvml.NVML_AFFINITY_SCOPE_NODE)
    mask = sum(int(word) << 64 * place for place, word in enumerate(near or ()))
    return (mask & -mask).bit_length() - 1 if mask else None


def _peers(nvml: Any, handle: Any, buses: dict[str, str]) -> tuple[str, ...]:
    """UUIDs of the cards of this host at the other end of an active NVLink (an NVSwitch hides them)."""
    remotes = (_remote(nvml, handle, link) for link in range(LINKS))
    return tuple(sorted({buses[bus] for bus in remotes if bus in buses}))


def _remote(nvml: Any, handle: Any, link: int) -> str:
    if not _ask(nvml, nvml.nvmlDeviceGetNvLinkState, handle, link):
        return ""
    remote = _ask(nvml, nvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
    return str(remote.busId) if remote else ""


def _bus(nvml: Any, handle: Any) -> str:
    info = _ask(nvml, nvml.nvmlDeviceGetPciInfo, handle)
    return str(info.busId) if info else ""


def _touch(nvml: Any, handle: Any) -> None:
    """Raise when the card is lost: its UUID may still be answered from memory, its memory is not."""
    try:
        nvml.nvmlDeviceGetMemoryInfo(handle)
    except nvml.NVMLError as error:
        if error.value in _LOST:
            raise


def _cuda(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}" if number else ""


def _ask(nvml: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    """What one call answers, or None where this card or driver has no answer to it."""
    try:
        return call(*arguments)
    except nvml.NVMLError:
        return None


def _absent(error: Any) -> VendorAbsent:
    """NVML's refusal as a problem with its remedy; an unlisted code is a driver that does not work."""
    unknown = ("nvidia-no-answer", f"NVIDIA's driver answered: {error}.", "Run `nvidia-smi` on the node to see more.")
    code, message, hint = _ABSENT.get(error.value, unknown)
    return VendorAbsent(Problem(code=code, message=message, hint=hint))
