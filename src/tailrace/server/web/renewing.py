"""A certificate that its admin renews is shown from then on, without a restart.

Those that last for months are renewed by a program, which knows nothing of us: so the files are
looked at. Each renewal has a context of its own, made whole before anybody sees it. Loaded into the
one in use, a certificate without its key would leave a server that nobody can greet, and one with
another kind of key would stand beside the old one.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tailrace.quantities import show_duration
from tailrace.server.web.tls import Certificate, context, expires, why_not

log = logging.getLogger("tailrace.server")

EVERY_S = 60.0
SOON_S = 14 * 86400.0
REMIND_S = 86400.0
HOUR_S = 3600
KEEPS = "the certificate in %s has changed and cannot be used: %s; the one from before is shown"
RENEWED = "the certificate in %s was renewed, and is shown from now on"
EXPIRES = "the certificate in %s expires in %s: renew it, the new one is shown within a minute"
EXPIRED = "the certificate in %s expired %s ago, and callers refuse it: renew it"


class Loaded(msgspec.Struct, frozen=True):
    context: ssl.SSLContext
    fingerprint: str


class Renewing:
    def __init__(self, shown: Certificate, show: Callable[[Loaded], None]) -> None:
        """To be made before the files are read for the first time."""
        self._shown = shown
        self._show = show
        self._seen = _stamp(shown)
        self._looking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._reminded = float("-inf")

    def begin(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await self._remind()
            await asyncio.sleep(EVERY_S)
            await self.look()

    async def look(self) -> None:
        async with self._looking:
            stamp = await asyncio.to_thread(_stamp, self._shown)
            if stamp == self._seen:
                return
            self._seen = stamp
            try:
                loaded = await asyncio.to_thread(_loaded, self._shown)
            except (OSError, ValueError) as error:
                log.warning(KEEPS, self._shown.cert, why_not(error))
                return
            if await asyncio.to_thread(_stamp, self._shown) != stamp:
                return  # they are being written just now: another look will find them whole
            self._show(loaded)
            log.info(RENEWED, self._shown.cert)
            self._reminded = float("-inf")

    async def _remind(self) -> None:
        """Once a day, from two weeks before."""
        if time.monotonic() - self._reminded < REMIND_S:
            return
        self._reminded = time.monotonic()
        moment = await asyncio.to_thread(expires, self._shown)
        left_s = SOON_S if moment is None else moment - time.time()
        if left_s < SOON_S:
            told = show_duration(round(abs(left_s) / HOUR_S) * HOUR_S * 1_000_000)
            log.warning(EXPIRES if left_s > 0 else EXPIRED, self._shown.cert, told)

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


def _stamp(shown: Certificate) -> tuple[tuple[int, ...], ...]:
    """Changes with either file, also where a link is turned to another."""
    return tuple(_one_stamp(path) for path in (shown.cert, shown.key))


def _one_stamp(path: Path) -> tuple[int, ...]:
    try:
        there = path.stat()
    except OSError:
        return ()
    return there.st_mtime_ns, there.st_size, there.st_ino


def _loaded(shown: Certificate) -> Loaded:
    return Loaded(context(shown), shown.fingerprint)
