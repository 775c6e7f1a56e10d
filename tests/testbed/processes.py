"""Bounded commands and waits, and long-lived processes known by pid and start time; all else stands on it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path


class TestbedError(RuntimeError):
    """Something that the testbed needs failed; the message says what and shows the end of its output."""

    __test__ = False


def run(
    argv: Sequence[str | Path],
    *,
    timeout: float = 30,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return it; raise when it fails or outlives `timeout` seconds."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=timeout,
            env=env,
            cwd=cwd,
            errors="replace",
        )
    except FileNotFoundError as error:
        raise TestbedError(f"{words[0]} is not on this machine: run `python -m tests.testbed install`") from error
    except subprocess.TimeoutExpired as error:
        raise TestbedError(f"no end within {timeout:g} s: {' '.join(words)}") from error
    if check and done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-3000:]
        raise TestbedError(f"exit {done.returncode} from {' '.join(words)}\n{said}")
    return done


def wait_until(ready: Callable[[], bool], timeout: float, what: str, pause: float = 0.02) -> None:
    """Ask `ready` again and again; raise naming `what` when it is still false after `timeout` seconds."""
    end = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > end:
            raise TestbedError(f"waited {timeout:g} s in vain for {what}")
        time.sleep(pause)


@dataclass(frozen=True)
class Process:
    """One process of ours; the start time tells it from a later process that got the same pid."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """Return the living process with this pid; a zombie counts as gone."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else cls(pid, int(fields[19]))

    @classmethod
    def load(cls, record: Path) -> "Process | None":
        """Read what `save` wrote; None when there is nothing readable or the process is gone."""
        try:
            process = cls(**json.loads(record.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None
        return process if process.alive() else None

    def save(self, record: Path) -> None:
        """Write pid and start time to a file, for a later run that must clean up."""
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(asdict(self)))

    def alive(self) -> bool:
        """Tell whether exactly this process still runs, burying it if it was our child."""
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == 0
        except ChildProcessError:
            return Process.of(self.pid) == self

    def gone(self) -> bool:
        """Tell whether it ended."""
        return not self.alive()

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens when the process is already gone."""
        if self.alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def end(self, grace: float = 0) -> None:
        """Ask it to end, wait up to `grace` seconds, then kill it and wait until it is gone."""
        if grace:
            self.send(signal.SIGTERM)
            end = time.monotonic() + grace
            while self.alive() and time.monotonic() < end:
                time.sleep(0.02)
        kill_all([self])


def kill_all(processes: Iterable[Process]) -> None:
    """Kill all of them at once and wait until the last is gone."""
    doomed = list(processes)
    for process in doomed:
        process.send(signal.SIGKILL)
    for process in doomed:
        wait_until(process.gone, 10, f"the end of process {process.pid}", 0.005)


def spawn(argv: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None) -> Process:
    """Start a process that outlives this one, in its own session, its output appended to `log`."""
    words = [str(word) for word in argv]
    out = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawnp(
        words[0],
        words,
        dict(os.environ if env is None else env),
        setsid=True,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), out, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )
    process = Process.of(pid)
    if process is None:
        raise TestbedError(f"{words[0]} ended at once: {tail(log)}")
    return process


def tail(log: Path, characters: int = 2000) -> str:
    """Return the end of a log file, or an empty string when there is none."""
    return log.read_text(errors="replace")[-characters:] if log.exists() else ""


def command_lines() -> dict[int, list[str]]:
    """Return the command line of each process on this machine, by pid."""
    lines: dict[int, list[str]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                lines[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
    return lines
