"""Blocking calls (a driver, a container's /dev) beside the loop, in threads that may hang and hold nothing up."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


class Aside:
    """One blocking call at a time. Its thread is a daemon: a driver that hangs does not keep the process alive."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], T], seconds: float) -> T:
        """What `work` returns or raises. TimeoutError when it takes longer, or an earlier call still hangs."""
        if self._thread is not None and self._thread.is_alive():
            raise TimeoutError
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._thread = threading.Thread(target=_run, args=(work, loop, done), daemon=True)
        self._thread.start()
        return await asyncio.wait_for(done, seconds)


def _run(work: Callable[[], T], loop: asyncio.AbstractEventLoop, done: "asyncio.Future[T]") -> None:
    try:
        result = work()
        settle = partial(done.set_result, result)
    except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
        settle = partial(done.set_exception, error)
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(lambda: None if done.done() else settle())
