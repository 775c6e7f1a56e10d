"""SqlStore: opens, locks and fences a database, and commits batches; `reads` answers the questions."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, delete, func, insert, select, update
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError

from berth.model.change import Batch, DoubleGrant, Stale, Superseded
from berth.model.event import Event
from berth.model.job import Attempt, Job, Task
from berth.ports import Loaded, StoreBroken, StoreInUse
from berth.store.sql import reads
from berth.store.sql.connect import READ, FileLock, postgres_engine, sqlite_engine
from berth.store.sql.failures import broken
from berth.store.sql.migrate import migrate
from berth.store.sql.schema import events, meta
from berth.store.sql.unit import Unit

_REFUSED = (Stale, DoubleGrant, IntegrityError, DataError, ValueError, OverflowError)
"""What one batch did wrong: its neighbours are kept. All else ends the whole commit."""


class SqlStore:
    """`ports.Store` in a SQLite file (a path) or a PostgreSQL database (a URL)."""

    def __init__(self, place: Path | URL) -> None:
        self._place = place
        self._file = FileLock(place) if isinstance(place, Path) else None
        self._engine: Engine
        self._epoch = 0
        self._seq = 0

    @property
    def name(self) -> str:
        """Where the data is, without a password."""
        return str(self._place) if isinstance(self._place, Path) else self._place.render_as_string(hide_password=True)

    def open(self) -> None:
        """Lock, create or migrate, check, and raise the epoch."""
        if isinstance(self._place, Path):
            self._engine = sqlite_engine(self._place)
        else:
            self._engine = postgres_engine(self._place)
        try:
            if self._file is not None:
                self._file.take()
            with self._failures(), self._engine.begin() as conn:
                self._check(conn)
                migrate(conn)
                self._seq = conn.execute(select(func.coalesce(func.max(events.c.seq), 0))).scalar_one()
                self._epoch = _raise_epoch(conn)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection and let go of the lock."""
        self._engine.dispose()
        if self._file is not None:
            self._file.release()

    def commit(self, batches: Sequence[Batch]) -> list[Exception | None]:
        """All batches as one unit of work; where that is refused, again by halves, each half undone by a savepoint."""
        try:
            with self._writing() as conn:
                self._write(conn, batches)
            return [None] * len(batches)
        except _REFUSED as error:
            if len(batches) == 1:
                return [error]
        with self._writing() as conn:
            return self._sift(conn, batches)

    def load(self) -> Loaded:
        """Everything that is live."""
        return self._ask(reads.load)

    def events(self, after: int, limit: int, job: str = "") -> list[Event]:
        """Events after a number."""
        return self._ask(lambda conn: reads.stored_events(conn, after, limit, job))

    def attempts(self, job: str) -> list[Attempt]:
        """Attempts of a job."""
        return self._ask(lambda conn: reads.attempts_of(conn, job))

    def job(self, key: str) -> tuple[Job, list[Task]] | None:
        """A job by id."""
        return self._ask(lambda conn: reads.job_by_id(conn, key))

    def ended_jobs(self, before: float, limit: int) -> list[tuple[Job, list[Task]]]:
        """Ended jobs, newest first."""
        return self._ask(lambda conn: reads.ended_before(conn, before, limit))

    def find_ended(self, name: str, limit: int = 20) -> list[Job]:
        """Ended jobs of a name, newest first."""
        return self._ask(lambda conn: reads.ended_of_name(conn, name, limit))

    def remembered(self, key: str) -> tuple[str, bytes] | None:
        """The answer kept for an idempotency key."""
        return self._ask(lambda conn: reads.remembered_answer(conn, key))

    def meta(self, key: str) -> str | None:
        """A small fact."""
        return self._ask(lambda conn: conn.execute(select(meta.c.value).where(meta.c.key == key)).scalar())

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small fact."""
        with self._writing() as conn:
            conn.execute(delete(meta).where(meta.c.key == key))
            conn.execute(insert(meta).values(key=key, value=value))

    def prune(self, events_before: float, jobs_before: float, remembered_before: float) -> list[str]:
        """Forget what is old."""
        with self._writing() as conn:
            return reads.prune(conn, events_before, jobs_before, remembered_before)

    def _write(self, conn: Connection, batches: Sequence[Batch]) -> None:
        unit = Unit(conn, self._seq)
        unit.write(change for batch in batches for change in batch)
        self._seq = unit.seq

    def _sift(self, conn: Connection, batches: Sequence[Batch]) -> list[Exception | None]:
        try:
            with conn.begin_nested():
                self._write(conn, batches)
            return [None] * len(batches)
        except _REFUSED as error:
            if len(batches) == 1:
                return [error]
        half = len(batches) // 2
        return [*self._sift(conn, batches[:half]), *self._sift(conn, batches[half:])]

    def _check(self, conn: Connection) -> None:
        if conn.dialect.name == "sqlite":
            found = conn.exec_driver_sql("PRAGMA quick_check(1)").scalar()
            if found != "ok":
                raise StoreBroken(
                    f"The database {self.name} is damaged ({found}). "
                    "Put it aside and start again, or put a backup in its place."
                )

    def _ask(self, question: Callable[[Connection], reads.T]) -> reads.T:
        with self._failures(), self._engine.connect().execution_options(**READ) as conn, conn.begin():
            return question(conn)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction of the leader's. Raises Superseded when this store no longer leads."""
        seq = self._seq
        try:
            with self._failures(writing=True), self._engine.begin() as conn:
                epoch = select(meta.c.value).where(meta.c.key == "epoch").with_for_update(read=True)
                if conn.execute(epoch).scalar() != str(self._epoch):
                    raise Superseded(f"another Berth has taken over the database {self.name}")
                yield conn
        except StoreInUse as error:
            self._seq = seq
            raise Superseded(str(error)) from error
        except BaseException:
            self._seq = seq
            raise

    @contextmanager
    def _failures(self, writing: bool = False) -> Iterator[None]:
        try:
            yield
        except (IntegrityError, DataError):
            raise
        except DBAPIError as error:
            raise broken(error, self.name, writing) from error


def _raise_epoch(conn: Connection) -> int:
    """The next leader's number; whoever has a lower one may write nothing more."""
    found = conn.execute(select(meta.c.value).where(meta.c.key == "epoch").with_for_update()).scalar()
    epoch = int(found or 0) + 1
    if found is None:
        conn.execute(insert(meta).values(key="epoch", value=str(epoch)))
    else:
        conn.execute(update(meta).where(meta.c.key == "epoch").values(value=str(epoch)))
    return epoch
