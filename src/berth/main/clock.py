"""The real clock."""

import asyncio
import time


class SystemClock:
    """`ports.Clock` by the operating system."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
