"""Between machines and server: messages are lost, doubled, late, and overtake each other.

Some calls come again after the server's next start, as from a proxy that could not reach it, when
newer ones have been answered long ago.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .engine import MS, SECOND, Engine

if TYPE_CHECKING:
    from .machine import Machine
    from .weather import Weather

RECENT = 6  # calls of a machine that may come again


class Network:
    def __init__(self, engine: Engine, weather: Weather) -> None:
        self._engine = engine
        self.weather = weather
        self._recent: dict[str, deque[tuple[Callable[..., None], tuple[Any, ...]]]] = {}

    def send(self, machine: Machine, deliver: Callable[..., None], *args: Any) -> bool:
        """To or from this machine. False if it will never arrive (the sender may not know)."""
        engine, weather = self._engine, self.weather
        if machine.cut_until > engine.now or engine.chance(weather.loss):
            return False
        engine.after(self._delay(), deliver, *args)
        while engine.chance(weather.duplication):
            engine.after(self._delay(), deliver, *args)
        return True

    def call(self, machine: Machine, deliver: Callable[..., None], *args: Any) -> bool:
        """To the server, and perhaps once more after its next start."""
        self._recent.setdefault(machine.host, deque(maxlen=RECENT)).append((deliver, args))
        return self.send(machine, deliver, *args)

    def call_again(self) -> None:
        """The server has started: a proxy has kept some calls for it."""
        for kept in self._recent.values():
            for deliver, args in kept:
                if self._engine.chance(self.weather.repeating):
                    self._engine.after(self._engine.between(1, 2 * SECOND), deliver, *args)

    def _delay(self) -> int:
        if self._engine.chance(self.weather.lateness):
            return self._engine.between(1, self.weather.late_us)
        return self._engine.between(1, 40 * MS)
