"""What a database goes through: a kill at any moment, damage, a full disk, two servers, other versions of Berth."""

import os
import random
import resource
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from berth.model.change import PutJob, PutTask, Superseded
from berth.model.errors import BadInput
from berth.ports import StoreBroken, StoreInUse, StoreTooNew
from berth.store import make_store
from berth.store.sql import SqlStore
from berth.store.sql.connect import sqlite_engine
from berth.store.sql.migrate import HEAD, upgrade
from berth.store.sql.schema import metadata
from tests import build
from tests.contract.stores import postgres_place

ROOT = Path(__file__).parents[2]


@contextmanager
def opened(path: Path) -> Iterator[SqlStore]:
    """A store on a file, closed at the end."""
    store = SqlStore(path)
    store.open()
    with closing(store):
        yield store


def one_job(job_id: str = "j1", name: str = "n") -> tuple[PutJob, PutTask]:
    """A batch of two rows that belong together."""
    return PutJob(build.job(job_id, name=name)), PutTask(build.task(job_id))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with one job in it."""
    path = tmp_path / "berth.db"
    with opened(path) as store:
        assert store.commit([one_job()]) == [None]
    return path


class TestKill:
    @pytest.mark.parametrize("seed", range(4))
    def test_what_was_acknowledged_is_there_and_nothing_is_there_by_half(self, tmp_path: Path, seed: int) -> None:
        path, draw = tmp_path / "berth.db", random.Random(seed)
        for _ in range(2):
            last = _run_and_kill(path, draw.randint(1, 60), draw.random() * 0.02)
            with opened(path) as store:
                loaded = store.load()
                jobs = {int(job.id[1:]) for job in loaded.jobs}
                assert max(jobs) in (last, last + 1)
                assert jobs == set(range(max(jobs) + 1))
                assert {task.job for task in loaded.tasks} == {f"j{number}" for number in jobs}
                assert {task for task, _ in loaded.grants} == {f"j{number}.1" for number in sorted(jobs)[-4:]}
                assert loaded.last_event == 2 * len(jobs)
                for card, room in loaded.cards:
                    assert room.milli == 1000 - sum(
                        share.milli for _, share in loaded.grants if share.card == card.uuid
                    )


def _run_and_kill(path: Path, after: int, more_s: float) -> int:
    """Let a child commit, kill it (-9) `more_s` after it has said `after` lines; the number of its last kept commit."""
    command = [sys.executable, "-m", "tests.contract.committer", str(path)]
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(after)]
        time.sleep(more_s)
        child.kill()
        said += child.stdout.readlines()
    return int([line for line in said if line.endswith("\n")][-1])


class TestTwoServers:
    def test_the_second_on_one_file_is_refused(self, file: Path) -> None:
        with opened(file) as first:
            with pytest.raises(StoreInUse, match=r"berth\.db\.lock"):
                SqlStore(file).open()
            assert first.commit([one_job("j2")]) == [None]
        with opened(file) as after:
            assert len(after.load().jobs) == 2

    def test_where_the_lock_was_defeated_the_elder_can_write_nothing_more(self, file: Path) -> None:
        with opened(file) as elder:
            (file.parent / "berth.db.lock").unlink()
            with opened(file) as younger:
                with pytest.raises(Superseded):
                    elder.commit([one_job("elder")])
                assert younger.commit([one_job("younger")]) == [None]
            assert [job.id for job in elder.load().jobs] == ["j1", "younger"]

    def test_postgres_has_one_leader(self, postgres_server: str) -> None:
        place = postgres_place(postgres_server)
        with closing(place.open()), pytest.raises(StoreInUse):
            make_store(place.url).open()
        with closing(place.again()) as store:
            assert store.meta("epoch") == "2"

    def test_a_leader_that_lost_its_connection_goes_on_unless_another_leads(self, postgres_server: str) -> None:
        place = postgres_place(postgres_server)
        with closing(place.open()) as store:
            assert store.commit([one_job("j1")]) == [None]
            _cut_connections(place.url)
            with pytest.raises(StoreBroken) as failure:
                store.commit([one_job("j2")])
            assert failure.value.unknown
            assert store.commit([one_job("j3")]) == [None]
            _cut_connections(place.url)
            other = make_store(place.url)
            other.open()
            with closing(other):
                with pytest.raises((StoreBroken, Superseded)):
                    store.commit([one_job("j4")])
                with pytest.raises(Superseded):
                    store.commit([one_job("j4")])
                assert [job.id for job in other.load().jobs] == ["j1", "j3"]


def _cut_connections(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'berth'"
        )


class TestVersions:
    def test_a_database_of_a_newer_berth_is_left_alone(self, file: Path) -> None:
        with closing(sqlite3.connect(file)) as raw, raw:
            raw.execute("UPDATE alembic_version SET version_num = 'r9999'")
        before = file.read_bytes()
        with pytest.raises(StoreTooNew, match="r9999"):
            SqlStore(file).open()
        assert file.read_bytes() == before

    @pytest.mark.parametrize(
        "revision",
        [script.revision for script in ScriptDirectory(str(ROOT / "src/berth/store/sql/migrations")).walk_revisions()],
    )
    def test_every_earlier_schema_is_brought_to_this_one(self, tmp_path: Path, revision: str) -> None:
        path = tmp_path / "berth.db"
        engine = sqlite_engine(path)
        with engine.begin() as conn:
            upgrade(conn, None, revision)
        engine.dispose()
        with opened(path) as store:
            assert store.commit([one_job()]) == [None]
        _same_as_schema(path)

    def test_the_newest_script_is_the_one_that_open_expects(self) -> None:
        config = Config()
        config.set_main_option("script_location", str(ROOT / "src/berth/store/sql/migrations"))
        assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def _same_as_schema(path: Path) -> None:
    engine = sqlite_engine(path)
    with engine.connect() as conn:
        assert compare_metadata(MigrationContext.configure(conn), metadata) == []
        made = {row[0] for row in conn.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'cards'")}
    engine.dispose()
    for rule in ("free_milli >= 0", "free_milli <= 1000", "free_mib >= 0", "free_mib <= memory_mib"):
        assert rule in "".join(made)


class TestBadFiles:
    def test_the_file_is_private_whatever_the_umask(self, tmp_path: Path) -> None:
        path = tmp_path / "berth.db"
        before = os.umask(0)
        try:
            with opened(path) as store:
                store.commit([one_job()])
                modes = {name.name: stat.S_IMODE(name.stat().st_mode) for name in tmp_path.iterdir()}
        finally:
            os.umask(before)
        assert modes == dict.fromkeys(("berth.db", "berth.db-wal", "berth.db-shm", "berth.db.lock"), 0o600)

    def test_a_file_that_is_no_database(self, tmp_path: Path) -> None:
        path = tmp_path / "berth.db"
        path.write_bytes(b"this is a text, and no database at all\n" * 100)
        with pytest.raises(StoreBroken, match=r"file is not a database\. The file is no database: put it aside"):
            SqlStore(path).open()

    @pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
    def test_a_file_that_was_cut_off(self, file: Path, part: float) -> None:
        with opened(file) as store:
            store.commit([one_job(f"k{number}") for number in range(2000)])
        os.truncate(file, int(file.stat().st_size * part))
        with pytest.raises(StoreBroken, match=r"put it aside and start again|Put it aside and start again"):
            SqlStore(file).open()

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(StoreBroken, match="Its folder must exist"):
            SqlStore(tmp_path / "none" / "berth.db").open()

    def test_a_database_that_another_program_holds_locked(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("berth.store.sql.connect.BUSY_MS", 100)
        with opened(file) as store, closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBroken, match="Another program holds it locked"):
                store.commit([one_job("j2")])
            assert [job.id for job in store.load().jobs] == ["j1"]
            other.execute("ROLLBACK")
            assert store.commit([one_job("j2")]) == [None]

    def test_a_disk_that_takes_no_more(self, file: Path) -> None:
        """The kernel's own limit of a file's size stands in for the disk's end."""
        with opened(file) as store:
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
            try:
                with pytest.raises(StoreBroken):
                    store.commit([one_job(f"k{number}", name="x" * 500) for number in range(3000)])
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert [job.id for job in store.load().jobs] == ["j1"]
            assert store.commit([one_job("j2")]) == [None]
        with opened(file) as again:
            assert [job.id for job in again.load().jobs] == ["j1", "j2"]

    def test_a_row_that_cannot_be_read_is_said(self, file: Path) -> None:
        with closing(sqlite3.connect(file)) as raw, raw:
            raw.execute("UPDATE jobs SET data = '{\"id\": 5}'")
        with opened(file) as store, pytest.raises(StoreBroken, match="a job that cannot be read"):
            store.load()


class TestUrls:
    @pytest.mark.parametrize("url", ["mysql://h/d", "/var/lib/berth.db", "sqlite:///", "postgresql://h:port/d"])
    def test_an_unknown_url_is_refused_with_an_example(self, url: str) -> None:
        with pytest.raises(BadInput) as wrong:
            make_store(url)
        assert wrong.value.problems[0].code == "store-url"
        assert "sqlite:///" in wrong.value.problems[0].hint

    def test_a_password_is_never_shown(self) -> None:
        store = make_store("postgres://berth:hunter2@127.0.0.1:1/berth")
        with pytest.raises(StoreBroken) as failure:
            store.open()
        assert "127.0.0.1" in str(failure.value)
        assert "hunter2" not in str(failure.value)

    def test_odd_characters_in_a_path(self, tmp_path: Path) -> None:
        path = tmp_path / "a b%20?#ü" / "berth.db"
        path.parent.mkdir()
        store = make_store(f"sqlite:///{path}")
        store.open()
        store.close()
        assert path.is_file()
