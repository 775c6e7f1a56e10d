"""What a process has taken: CPU time of all its threads, and resident memory; also how busy the machine is."""

import os
import subprocess
import sys
import time
from pathlib import Path


def cpu_s(pid: int) -> float:
    """Seconds of CPU of the whole process, its ended threads included (clock_getcpuclockid of the C library)."""
    return time.clock_gettime(~pid << 3 | 2)


def resident_mib(pid: int) -> float:
    """Resident memory, shared pages included."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def bare_mib() -> float:
    """Resident memory of an interpreter that does nothing."""
    program = "import re; print(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout) / 1024


def busy(others_since: "Machine") -> float:
    """Cores that the machine used in all since that moment."""
    now = Machine()
    return (now.used_s - others_since.used_s) / max(1e-9, now.at - others_since.at)


class Machine:
    """How much CPU the whole machine has used so far."""

    def __init__(self) -> None:
        words = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        ticks = [int(word) for word in words]
        idle = ticks[3] + ticks[4]
        self.used_s = (sum(ticks[:8]) - idle) / os.sysconf("SC_CLK_TCK")
        self.at = time.monotonic()
