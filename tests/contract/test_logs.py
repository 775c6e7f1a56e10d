"""One contract suite for every keeper of output, and what only files go through: cut lines, full files, odd names."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from berth.ports import LogLine, LogStore
from berth.store import make_logs
from berth.store.logfiles import LogFiles
from berth.store.logs_memory import MemoryLogs


def line(text: str, time: float = 1.0, stream: str = "stdout") -> LogLine:
    """A piece of output with its line end."""
    return LogLine(time, stream, text + "\n")


def numbered(first: int, last: int) -> list[LogLine]:
    """Lines with their number as time and text."""
    return [line(str(number), float(number)) for number in range(first, last + 1)]


class LogContract:
    """What every keeper promises."""

    @pytest.fixture
    def logs(self) -> Iterator[LogStore]:
        raise NotImplementedError

    def small(self, tmp_path: Path) -> LogStore:
        """One with a bound of about 1,500 bytes."""
        raise NotImplementedError

    def test_what_was_added_is_read_in_order(self, logs: LogStore) -> None:
        first = [line("one", 1733130000.123456), line("two", 1733130000.123457, "stderr")]
        rest = [
            LogLine(1733130001.0, "stdout", "no line end"),
            line('ünïcode 漢 \x00\x1b[0m\u2028 "quoted" \\'),
            line(""),
        ]
        logs.append("j1.1", 1, first)
        logs.append("j1.1", 1, rest)
        logs.append("j1.1", 1, [])
        assert logs.read("j1.1", 1) == [*first, *rest]

    def test_attempts_and_slots_are_apart(self, logs: LogStore) -> None:
        for task, attempt in (("j1.1", 1), ("j1.1", 2), ("j1.11", 1), ("j2.1", 1)):
            logs.append(task, attempt, [line(f"{task} {attempt}")])
        assert logs.read("j1.1", 1) == [line("j1.1 1")]
        assert logs.read("j1.1", 2) == [line("j1.1 2")]
        assert logs.read("j1.11", 1) == [line("j1.11 1")]

    def test_since_and_tail(self, logs: LogStore) -> None:
        logs.append("j1.1", 1, numbered(1, 50))
        assert logs.read("j1.1", 1, since=48.0) == numbered(49, 50)
        assert logs.read("j1.1", 1, tail=3) == numbered(48, 50)
        assert logs.read("j1.1", 1, since=48.0, tail=10) == numbered(49, 50)
        assert logs.read("j1.1", 1, since=10.0, tail=2) == numbered(49, 50)
        assert logs.read("j1.1", 1, tail=0) == []
        assert logs.read("j1.1", 1, since=50.0) == []

    def test_the_newest_time(self, logs: LogStore) -> None:
        assert logs.last_time("j1.1", 1) == 0.0
        logs.append("j1.1", 1, [line("a", 5.0), line("late on the other stream", 4.5, "stderr")])
        assert logs.last_time("j1.1", 1) == 5.0

    def test_nothing_is_kept_of_what_never_wrote(self, logs: LogStore) -> None:
        assert logs.read("j1.1", 1) == []
        logs.drop("j1")

    def test_dropping_a_job_drops_all_of_it_and_no_other(self, logs: LogStore) -> None:
        for task in ("j1.1", "j1.2", "j11.1"):
            logs.append(task, 1, [line(task)])
        logs.drop("j1")
        assert (logs.read("j1.1", 1), logs.read("j1.2", 1)) == ([], [])
        assert logs.read("j11.1", 1) == [line("j11.1")]
        logs.append("j1.1", 1, [line("new")])
        assert logs.read("j1.1", 1) == [line("new")]

    def test_the_newest_stay_and_the_oldest_go(self, tmp_path: Path) -> None:
        logs = self.small(tmp_path)
        for start in range(1, 1000, 10):
            logs.append("j1.1", 1, numbered(start, start + 9))
        kept = logs.read("j1.1", 1)
        assert kept == numbered(1001 - len(kept), 1000)
        assert 20 < len(kept) < 900
        assert logs.last_time("j1.1", 1) == 1000.0


class TestFiles(LogContract):
    @pytest.fixture
    def logs(self, tmp_path: Path) -> LogStore:
        return make_logs(tmp_path / "logs")

    def small(self, tmp_path: Path) -> LogStore:
        return LogFiles(tmp_path, segment=500)


class TestMemoryLogs(LogContract):
    @pytest.fixture
    def logs(self) -> LogStore:
        return MemoryLogs()

    def small(self, tmp_path: Path) -> LogStore:
        return MemoryLogs(most=1500)


def files(folder: Path) -> list[Path]:
    """All files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


class TestOnDisk:
    def test_it_is_there_for_the_next_server(self, tmp_path: Path) -> None:
        LogFiles(tmp_path).append("j1.1", 1, numbered(1, 3))
        assert LogFiles(tmp_path).read("j1.1", 1) == numbered(1, 3)

    def test_at_least_ten_megabytes_are_kept_and_at_most_fifteen(self, tmp_path: Path) -> None:
        logs = LogFiles(tmp_path)
        block = [line("x" * 980, float(number)) for number in range(1000)]
        for _ in range(21):
            logs.append("j1.1", 1, block)
        sizes = [path.stat().st_size for path in files(tmp_path)]
        assert len(sizes) == 3
        assert 10_000_000 <= sum(sizes) <= 15_000_000
        assert sum(len(one.text) for one in logs.read("j1.1", 1)) >= 9_700_000

    def test_a_huge_text_does_not_outgrow_the_bound(self, tmp_path: Path) -> None:
        logs = LogFiles(tmp_path, segment=1000)
        logs.append("j1.1", 1, [LogLine(1.0, "stdout", "y" * 5000 + "\n")])
        assert all(path.stat().st_size < 1100 for path in files(tmp_path))
        assert "".join(one.text for one in logs.read("j1.1", 1)).endswith("yyy\n")

    @pytest.mark.parametrize("cut", [1, 2, 5, 12])
    def test_a_line_that_a_crash_cut_off_costs_itself_only(self, tmp_path: Path, cut: int) -> None:
        LogFiles(tmp_path).append("j1.1", 1, numbered(1, 3))
        (path,) = files(tmp_path)
        os.truncate(path, path.stat().st_size - cut)
        logs = LogFiles(tmp_path)
        kept = logs.read("j1.1", 1)
        assert kept in (numbered(1, 2), numbered(1, 3))
        logs.append("j1.1", 1, numbered(4, 5))
        assert logs.read("j1.1", 1) == [*kept, *numbered(4, 5)]

    def test_damage_inside_a_file_costs_its_line_only(self, tmp_path: Path) -> None:
        logs = LogFiles(tmp_path)
        logs.append("j1.1", 1, numbered(1, 3))
        (path,) = files(tmp_path)
        data = path.read_bytes()
        second = data.index(b"\n") + 1
        path.write_bytes(data[:second] + b"\xff\xfe\x00\x00" + data[second + 4 :])
        assert logs.read("j1.1", 1) == [*numbered(1, 1), *numbered(3, 3)]

    def test_output_that_is_not_unicode_is_kept(self, tmp_path: Path) -> None:
        logs = LogFiles(tmp_path)
        logs.append("j1.1", 1, [LogLine(1.0, "stdout", b"bad \xff byte\n".decode("utf-8", "surrogateescape"))])
        assert logs.read("j1.1", 1) == [LogLine(1.0, "stdout", "bad ? byte\n")]

    def test_files_and_folders_are_private_whatever_the_umask(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            LogFiles(tmp_path / "logs").append("j1.1", 1, numbered(1, 1))
        finally:
            os.umask(before)
        modes = [stat.S_IMODE(path.stat().st_mode) for path in sorted((tmp_path / "logs").rglob("*"))]
        assert modes == [0o700, 0o600]
        assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700

    @pytest.mark.parametrize("task", ["../../evil.1", "/etc/x.1", "..1", "...1", ".1", "a/b.1", "j\n\x00.1", "j1.../x"])
    def test_no_id_leads_out_of_the_folder(self, tmp_path: Path, task: str) -> None:
        folder = tmp_path / "a" / "b"
        logs = LogFiles(folder)
        logs.append(task, 1, numbered(1, 1))
        assert logs.read(task, 1) == numbered(1, 1)
        assert all(path.is_relative_to(folder) and len(path.relative_to(folder).parts) == 2 for path in files(tmp_path))
        logs.drop(task.rpartition(".")[0])
        assert files(tmp_path) == []

    def test_reading_while_writing_shows_every_line_once(self, tmp_path: Path) -> None:
        logs = LogFiles(tmp_path, segment=20_000)

        def write() -> None:
            for start in range(1, 4001, 20):
                logs.append("j1.1", 1, numbered(start, start + 19))

        writer = Thread(target=write)
        writer.start()
        while writer.is_alive():
            times = [one.time for one in logs.read("j1.1", 1)]
            assert times == [float(number) for number in range(int(times[0]), int(times[-1]) + 1)] if times else True
        writer.join()
        assert logs.last_time("j1.1", 1) == 4000.0

    def test_a_full_disk_is_said_and_what_is_there_stays(self, tmp_path: Path) -> None:
        import resource

        logs = LogFiles(tmp_path)
        logs.append("j1.1", 1, numbered(1, 100))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                logs.append("j1.1", 1, numbered(101, 500))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        logs.append("j1.1", 1, numbered(501, 502))
        kept = [int(one.time) for one in logs.read("j1.1", 1)]
        assert kept[:100] == list(range(1, 101))
        assert kept[-2:] == [501, 502]
        assert kept == sorted(set(kept))
