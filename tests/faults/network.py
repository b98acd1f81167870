"""Between machines and server: messages are lost, doubled, late, and overtake each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .engine import MS, Engine

if TYPE_CHECKING:
    from .machine import Machine
    from .weather import Weather


class Network:
    def __init__(self, engine: Engine, weather: Weather) -> None:
        self._engine = engine
        self.weather = weather

    def send(self, machine: Machine, deliver: Callable[..., None], *args: Any) -> bool:
        """To or from this machine. False if it will never arrive (the sender may not know)."""
        engine, weather = self._engine, self.weather
        if machine.cut_until > engine.now or engine.chance(weather.loss):
            return False
        engine.after(self._delay(), deliver, *args)
        while engine.chance(weather.duplication):
            engine.after(self._delay(), deliver, *args)
        return True

    def _delay(self) -> int:
        if self._engine.chance(self.weather.lateness):
            return self._engine.between(1, self.weather.late_us)
        return self._engine.between(1, 40 * MS)
