"""What comes out of the blue: silences, deaths, clock jumps, and an owner who changes his mind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .engine import SECOND

if TYPE_CHECKING:
    from .machine import Machine
    from .world import World

MOST_JUMP_US = 900 * SECOND


class Mischief:
    def __init__(self, world: World) -> None:
        self._world = world
        weather = world.weather
        self._every(weather.cut_every, self._cut)
        self._every(weather.freeze_every, self._freeze)
        self._every(weather.vanish_every, self._vanish)
        self._every(weather.reset_every, self._reset)
        self._every(weather.clock_every, self._jump)
        self._every(weather.bad_disk_every, self._spoil_disk)
        self._every(weather.outage_every, self._outage)
        self._every(weather.meddle_every, world.owner.meddle)

    def _every(self, mean_s: float, act: Callable[[], None]) -> None:
        if mean_s:
            self._world.engine.after(self._world.engine.one_in(mean_s), self._again, mean_s, act)

    def _again(self, mean_s: float, act: Callable[[], None]) -> None:
        if not self._world.calm:
            act()
            self._every(mean_s, act)

    def _some_machine(self) -> Machine | None:
        machines = list(self._world.machines.values())
        return self._world.engine.random.choice(machines) if machines else None

    def _cut(self) -> None:
        machine, engine = self._some_machine(), self._world.engine
        if machine is not None:
            machine.cut_until = engine.now + engine.one_in(30)
            engine.note(machine.host, "is cut off until", machine.cut_until)

    def _freeze(self) -> None:
        machine, engine = self._some_machine(), self._world.engine
        if machine is not None:
            machine.frozen_until = engine.now + engine.one_in(30)
            engine.note(machine.host, "is frozen until", machine.frozen_until)

    def _vanish(self) -> None:
        machine = self._some_machine()
        if machine is None:
            return
        if machine.lease is not None and self._world.engine.chance(0.5):
            self._world.provider.stop(machine.lease)
        else:
            machine.die("out of the blue")

    def _reset(self) -> None:
        self._world.server.die("out of the blue")

    def _spoil_disk(self) -> None:
        engine = self._world.engine
        self._world.bad_disk_until = engine.now + engine.one_in(6)
        engine.note("the disk is bad until", self._world.bad_disk_until)

    def _outage(self) -> None:
        """The server is back before some of its workers are, and what it hears first is old; its
        owner does not know what he wants meanwhile."""
        world, engine = self._world, self._world.engine
        for machine in world.machines.values():
            if engine.chance(0.6):
                machine.cut_until = max(machine.cut_until, engine.now + engine.one_in(30))
                engine.note(machine.host, "is cut off until", machine.cut_until)
        world.owner.waver()
        engine.after(engine.between(1, SECOND), world.server.die, "an outage")

    def _jump(self) -> None:
        """The wall clock only: who is alive counts on; who starts later believes the new time."""
        self._world.wall_shift += self._world.engine.between(-MOST_JUMP_US, MOST_JUMP_US)
        self._world.engine.note("the clock jumps, now off by", self._world.wall_shift)
