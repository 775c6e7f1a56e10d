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
        self._busy = False

    async def run(self, work: Callable[[], T], seconds: float) -> T:
        """What `work` returns or raises. TimeoutError when it takes longer, or an earlier call still hangs."""
        if self._busy:
            raise TimeoutError
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._busy = True
        threading.Thread(target=self._work, args=(work, loop, done), daemon=True).start()
        async with asyncio.timeout(seconds):  # wait_for of Python 3.11 may swallow a cancel that comes with the answer
            return await done

    def _work(self, work: Callable[[], T], loop: asyncio.AbstractEventLoop, done: "asyncio.Future[T]") -> None:
        try:
            settle = partial(done.set_result, work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            settle = partial(done.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._end, done, settle)

    def _end(self, done: "asyncio.Future[T]", settle: Callable[[], None]) -> None:
        self._busy = False
        if not done.done():
            settle()
