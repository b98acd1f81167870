"""Machines that start late and die early, on this one: workers that are really killed.

A lease waits for its start-up time, then its worker is started by the driver of this machine. When
its life is over the worker is killed by SIGKILL, with a SIGTERM before if a notice is given; its
folder goes with it, as the disk of a machine does. Its life begins when its worker is started, so
that the first tenths of a second of it go by until the worker calls.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

from tailrace.drivers.driver import Gone
from tailrace.drivers.local import LocalDriver
from tailrace.pools.rehearsal import Rehearsal

SECOND_US = 1_000_000


class Played:
    """One machine: its timers, and why it will have gone."""

    def __init__(self, lease: int, ends_us: int) -> None:
        self.lease = lease
        self.ends_us = ends_us
        self.timers: list[threading.Timer] = []
        self.started = False
        self.why = ""

    def after(self, us: int, act: Callable[[Played], None]) -> None:
        timer = threading.Timer(us / SECOND_US, act, (self,))
        timer.daemon = True
        self.timers.append(timer)
        timer.start()

    def rest(self) -> None:
        for timer in self.timers:
            timer.cancel()


class RehearsedDriver:
    def __init__(self, local: LocalDriver, rehearsal: Rehearsal, gone: Gone) -> None:
        self._local, self._rehearsal, self._tell_gone = local, rehearsal, gone
        self._played: dict[int, Played] = {}
        self._guard = threading.RLock()
        self._closed = False

    def start(self, lease: int, ends_us: int) -> None:
        with self._guard:
            if lease in self._played or self._closed:
                return
            one = self._played[lease] = Played(lease, ends_us)
            one.after(self._rehearsal.startup_us(lease), self._begin)

    def _begin(self, one: Played) -> None:
        with self._guard:
            if self._closed or one.lease not in self._played:
                return
            one.started = True
            try:
                self._local.start(one.lease, one.ends_us)
            except Exception as error:
                self._forget(one.lease, str(error))
                return
            self._let_live(one)

    def _let_live(self, one: Played) -> None:
        life, notice = self._rehearsal.life_us(one.lease), self._rehearsal.notice_us
        if life is None:
            return
        if notice is not None:
            one.after(max(life - notice, 0), self._warn)
        one.after(life, self._kill)

    def _warn(self, one: Played) -> None:
        one.why = f"its machine was taken away{self._lived(one)}"
        self._local.signal(one.lease, signal.SIGTERM)

    def _kill(self, one: Played) -> None:
        one.why = one.why or f"its machine failed{self._lived(one)}"
        self._local.signal(one.lease, signal.SIGKILL)

    def _lived(self, one: Played) -> str:
        life = self._rehearsal.life_us(one.lease) or 0
        return f" after {life / SECOND_US:.3g} s (a rehearsal)"

    def gone(self, lease: int, why: str) -> None:
        """The driver of this machine saw its worker end."""
        with self._guard:
            one = self._played.get(lease)
        self._forget(lease, why if one is None else one.why or why)

    def _forget(self, lease: int, why: str) -> None:
        with self._guard:
            one = self._played.pop(lease, None)
            if one is not None:
                one.rest()
        self._tell_gone(lease, why)

    def renew(self, lease: int, ends_us: int) -> None:
        self._local.renew(lease, ends_us)

    def stop(self, lease: int) -> None:
        with self._guard:
            one = self._played.get(lease)
            waits = one is not None and not one.started
        if waits:
            self._forget(lease, "")
        else:
            self._local.stop(lease)

    def list(self) -> list[int]:
        with self._guard:
            return list(self._played)

    def close(self, *, now: bool = False) -> None:
        with self._guard:
            self._closed = True
            for one in self._played.values():
                one.rest()
        self._local.close(now=now)
