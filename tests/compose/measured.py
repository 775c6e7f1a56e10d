"""How much CPU and memory a piece of work takes in this process; the memory by Linux's own peak."""

import time
from pathlib import Path

MOST_SECONDS, MOST_MB = 2.0, 300.0
RESET = Path("/proc/self/clear_refs")


class Measured:
    """How long the block took (CPU seconds), and how far this process's memory grew meanwhile (MB)."""

    seconds = memory = 0.0

    def __enter__(self) -> "Measured":
        RESET.write_text("5")
        self._before = _peak_mb()
        self._began = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._began
        self.memory = _peak_mb() - self._before

    def assert_small(self) -> None:
        """Within what a file may take: 2 s and 300 MB."""
        assert self.seconds < MOST_SECONDS
        assert self.memory < MOST_MB


def _peak_mb() -> float:
    """The peak of resident memory since it was reset: VmHWM."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000
