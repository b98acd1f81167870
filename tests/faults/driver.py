"""The driver of a leased pool: each call may be lost, or done and reported as failed.

A call under way arrives even if the server dies meanwhile; then nobody is left to make another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .thread import Died

if TYPE_CHECKING:
    from .server import Server


class NoAnswer(Exception):
    """The provider did not answer: whether it has done what it was asked, nobody knows."""


class Driver:
    def __init__(self, server: Server, pool: str) -> None:
        self._server = server
        self._world = server.world
        self._pool = pool
        self._life, self._loop = server.life, server.loop

    def start(self, lease: int, ends_us: int) -> None:
        bag = self._world.oracle.start_leaves(lease)
        self._call(
            "start", lease, lambda: self._world.provider.start(lease, self._pool, bag, ends_us)
        )

    def renew(self, lease: int, ends_us: int) -> None:
        self._world.oracle.renewal_leaves(lease, ends_us)
        self._call("renew", lease, lambda: self._world.provider.renew(lease, ends_us))

    def stop(self, lease: int) -> None:
        self._call("stop", lease, lambda: self._world.provider.stop(lease))

    def list(self) -> list[int]:
        self._make_call("list")
        if self._world.engine.chance(self._world.weather.driver_loss):
            raise NoAnswer("list")
        return self._world.provider.list(self._pool)

    def close(self, *, now: bool = False) -> None:
        """The machines are nobody's children: they outlive the server."""

    def _call(self, what: str, lease: int, act: Callable[[], None]) -> None:
        self._make_call(what)
        engine, weather = self._world.engine, self._world.weather
        engine.note("driver:", what, lease)
        if engine.chance(weather.driver_loss):
            raise NoAnswer(f"{what} {lease}")
        act()
        if engine.chance(weather.driver_lie):
            raise NoAnswer(f"{what} {lease}")

    def _make_call(self, what: str) -> None:
        if self._server.lives(self._life):
            self._server.step(f"the driver's {what}")
        elif not self._loop.call_left:
            raise Died(f"before the driver's {what}")
        self._loop.call_left = False
