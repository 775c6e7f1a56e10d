"""Tidy: once an hour the store forgets what is older than its keep, and the output of forgotten jobs goes with it; so
do earlier contents of secrets and configs that nothing needs any more.
"""

import asyncio

from berth.control.context import Control
from berth.control.own_files import forget_former

PERIOD_S = 3600.0
EVENTS_KEPT_S = 30 * 86400.0
JOBS_KEPT_S = 30 * 86400.0
ANSWERS_KEPT_S = 86400.0
"""How long events, ended jobs with their output, and answers to idempotent requests are kept (seconds)."""


async def keep_tidy(control: Control) -> None:
    """Forget what is too old, now and once an hour for as long as the server runs."""
    while True:
        await tidy(control)
        await control.clock.sleep(PERIOD_S)


async def tidy(control: Control) -> None:
    """Forget once; the output of a job goes after its record, so that a crash between leaves only files."""
    now = control.clock.now()
    forgotten = await control.writer.read(
        lambda store: store.prune(now - EVENTS_KEPT_S, now - JOBS_KEPT_S, now - ANSWERS_KEPT_S)
    )
    for job in forgotten:
        await asyncio.to_thread(control.logs.drop, job)
    await forget_former(control)
