"""Who waits for news: of one bag, or of any."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

ANY = 0


class Waiters:
    """News of a bag cost what those cost who wait for it, and for any."""

    def __init__(self) -> None:
        self._of: dict[int, dict[asyncio.Future[None], None]] = {}

    async def wait(self, wait_s: float, bag: int = ANY) -> None:
        """Until there is news, or the time is over."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._of.setdefault(bag, {})[waiting] = None
        try:
            await asyncio.wait_for(waiting, wait_s)
        except TimeoutError:
            return
        finally:
            self._leave(waiting, bag)

    def _leave(self, waiting: asyncio.Future[None], bag: int) -> None:
        others = self._of.get(bag, {})
        others.pop(waiting, None)
        if not others:
            self._of.pop(bag, None)

    def wake(self, bags: Iterable[int]) -> None:
        for bag in dict.fromkeys((*bags, ANY)):
            for waiting in self._of.pop(bag, {}):
                if not waiting.done():
                    waiting.set_result(None)

    def wake_all(self) -> None:
        self.wake(list(self._of))
