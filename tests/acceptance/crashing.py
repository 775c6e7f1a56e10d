"""`python -m tests.acceptance.crashing FILE PATTERN up ...`: the real server, which kills itself once at each point.

A point stands before or after each commit and each call of the engine. Nothing lists them: the store and the engine are
wrapped whole, so that a commit or a call that is added to the code is a point by itself. PATTERN (a regular expression)
says at which of them it dies; FILE holds those at which it has died already: there it lives on.
"""

import inspect
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import berth.main.server
from berth.main.choose import Chosen
from berth.main.cli import LOCAL
from berth.model.change import Batch, Note, PutTask
from berth.model.launch import Launch
from berth.ports import Engine, Store


class Death:
    """Kills this process at the first pass of each point."""

    def __init__(self, file: Path, pattern: str) -> None:
        self._file = file
        self._pattern = re.compile(pattern)
        self._died = set(file.read_text().split("\n")) if file.exists() else set[str]()

    def at(self, point: str) -> None:
        """Write the point down, for the next life, and die there."""
        if point in self._died or not self._pattern.search(point):
            return
        with self._file.open("a") as out:
            out.write(point + "\n")
            out.flush()
            os.fsync(out.fileno())
        os.kill(os.getpid(), signal.SIGKILL)


class DyingStore:
    """A store that dies around each commit; all else is the real store's."""

    def __init__(self, store: Store, death: Death) -> None:
        self._store = store
        self._death = death

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, batches: Sequence[Batch]) -> list[Exception | None]:
        """Die before, or after it is on disk and nobody has heard of it yet."""
        names = [point_of(batch) for batch in batches]
        for name in names:
            self._death.at(f"before commit {name}")
        results = self._store.commit(batches)
        for name in names:
            self._death.at(f"after commit {name}")
        return results


class DyingEngine:
    """An engine that dies around each of its calls; streams and facts are the real engine's."""

    def __init__(self, engine: Engine, death: Death) -> None:
        self._engine = engine
        self._death = death

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        return self._around(name, found) if inspect.iscoroutinefunction(found) else found

    def _around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        async def around(*args: Any) -> Any:
            point = f"engine {name}{_which(args)}"
            self._death.at(f"before {point}")
            result = await call(*args)
            self._death.at(f"after {point}")
            return result

        return around


def point_of(batch: Batch) -> str:
    """A batch by the events that it tells of, else by the changes that it makes; with the states that tasks take."""
    notes = sorted({change.event.kind for change in batch if isinstance(change, Note)})
    kinds = notes or sorted({type(change).__name__ for change in batch})
    states = sorted({change.task.state for change in batch if isinstance(change, PutTask)})
    return "+".join(kinds) + (f" ({', '.join(states)})" if states else "")


def _which(args: tuple[Any, ...]) -> str:
    """First and later attempts go different ways."""
    launch = args[0] if args and isinstance(args[0], Launch) else None
    return "" if launch is None or launch.attempt == 0 else " first" if launch.attempt == 1 else " again"


def main() -> None:
    """Run the `berth` command with a server that dies."""
    death = Death(Path(sys.argv[1]), sys.argv[2])
    server = berth.main.server
    open_store, choose = server._open_store, server.choose

    def dying_store(*args: Any) -> Any:
        return DyingStore(open_store(*args), death)

    async def dying_engine(*args: Any) -> Chosen:
        chosen = await choose(*args)
        return Chosen(DyingEngine(chosen.engine, death), chosen.identity, chosen.why, chosen.simulation)

    server._open_store, server.choose = dying_store, dying_engine
    from berth.cli.main import run

    sys.exit(run(sys.argv[3:], LOCAL))


if __name__ == "__main__":
    main()
