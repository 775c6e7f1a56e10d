"""Which CUDA a driver brings, and which driver a toolkit needs: NVIDIA's tables as data.

Sources: docs.nvidia.com/cuda/cuda-toolkit-release-notes, "CUDA Toolkit and Corresponding Driver Versions" (Linux) and
"CUDA Toolkit and Minimum Required Driver Version for CUDA Minor Version Compatibility".
"""

from berth.core.constraints import quantity

DRIVERS: tuple[tuple[str, str], ...] = (
    ("8.0", "375.26"), ("9.0", "384.81"), ("9.1", "390.46"), ("9.2", "396.26"), ("10.0", "410.48"),
    ("10.1", "418.39"), ("10.2", "440.33"), ("11.0", "450.36.06"), ("11.1", "455.23"), ("11.2", "460.27.03"),
    ("11.3", "465.19.01"), ("11.4", "470.42.01"), ("11.5", "495.29.05"), ("11.6", "510.39.01"),
    ("11.7", "515.43.04"), ("11.8", "520.61.05"), ("12.0", "525.60.13"), ("12.1", "530.30.02"),
    ("12.2", "535.54.03"), ("12.3", "545.23.06"), ("12.4", "550.54.14"), ("12.5", "555.42.02"),
    ("12.6", "560.28.03"), ("12.8", "570.26"), ("12.9", "575.51.03"), ("13.0", "580.65.06"),
    ("13.1", "590.44.01"), ("13.2", "595.45.04"), ("13.3", "610.43.02"),
)  # fmt: skip
"""CUDA version, and the first driver that brings it, oldest first."""
MINOR = {"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}
"""Since CUDA 11 every toolkit of one major version runs on this driver and on newer ones."""


def cuda_of(driver: str) -> str:
    """The CUDA version that a driver brings; "" for one that is no version or older than the table.

    A driver newer than the table's last row may bring more than what is answered: see `newest`.
    """
    found = [cuda for cuda, first in DRIVERS if at_least(driver, first)]
    return found[-1] if found else ""


def newest(cuda: str) -> bool:
    """True for the table's last CUDA version: the driver may be newer than the table."""
    return cuda == DRIVERS[-1][0]


def driver_for(toolkit: str) -> str:
    """The oldest driver on which programs of this toolkit ("12.4") run; "" when the table does not know."""
    major = toolkit.partition(".")[0]
    return MINOR.get(major) or dict(DRIVERS).get(toolkit, "")


def first_driver(cuda: str) -> str:
    """The first driver that brings at least this CUDA version; "" when the table ends before it."""
    return next((first for known, first in DRIVERS if at_least(known, cuda)), "")


def at_least(have: str, wanted: str) -> bool:
    """Compare two dotted versions; False when one of them is none."""
    return (found := order(have, wanted)) is not None and found >= 0


def order(have: str, wanted: str) -> int | None:
    """-1, 0 or 1 for two dotted versions; None when one of them is none."""
    left, right = quantity.read(have, ""), quantity.read(wanted, "")
    if left is None or right is None or left.size is not None or right.size is not None:
        return None
    return quantity.compare(left, right, "")
