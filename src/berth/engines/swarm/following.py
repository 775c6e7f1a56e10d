"""Ends the following of a task's output with the task itself: Swarm keeps such a stream open for ever."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from berth.ports import LogLine

QUIET_S = 1.0
"""Output of a task that has ended is all there once it was quiet for so long."""


async def until_over(
    lines: AsyncGenerator[LogLine, None], over: Callable[[], Awaitable[bool]]
) -> AsyncIterator[LogLine]:
    """The lines, until they end or are quiet after the task is `over`."""
    coming: asyncio.Future[LogLine] = asyncio.ensure_future(anext(lines))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=QUIET_S)
            if not done and await over():
                return
            if done:
                yield coming.result()
                coming = asyncio.ensure_future(anext(lines))
    except StopAsyncIteration:
        return
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
        await lines.aclose()
