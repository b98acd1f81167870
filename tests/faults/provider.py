"""Who lends machines: starts, stops, lists. It does what it is told, but the teller may not hear.

The lease is the key: starting what runs already, or was stopped, starts nothing. A machine ends by
itself at the end it was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .engine import SECOND
from .machine import Machine

if TYPE_CHECKING:
    from .world import World


class Provider:
    def __init__(self, world: World) -> None:
        self._world = world
        self._tells = world.engine.chance(0.5)  # the driver sees machines end
        self.machines: dict[int, Machine] = {}  # by lease
        self._used: dict[int, None] = {}
        self._billing = {pool.name: pool.billing for pool in world.pools}
        self._began: dict[int, int] = {}
        self.bills: dict[int, int] = {}  # micro-units by bag

    def start(self, lease: int, pool: str, bag: int, ends_us: int) -> None:
        engine = self._world.engine
        if lease in self._used:
            return
        self._used[lease] = None
        ends_at = engine.now + max(ends_us - self._world.wall(), 0)
        machine = Machine(self._world, f"L{lease}", pool, lease, ends_at)
        machine.paid_by, self._began[lease] = bag, engine.now
        engine.note("provider starts", lease)
        self.machines[lease] = machine
        self._world.machines[machine.host] = machine
        engine.after(engine.one_in(2), machine.boot)
        engine.at(ends_at, self.stop, lease)

    def stop(self, lease: int) -> None:
        machine = self.machines.pop(lease, None)
        if machine is not None:
            machine.remove("stopped")
            lasted = self._world.engine.now - self._began[lease]
            cost = self._billing[machine.pool].cost(lasted)
            self.bills[machine.paid_by] = self.bills.get(machine.paid_by, 0) + cost
            if self._tells:
                engine = self._world.engine
                engine.after(engine.between(1, SECOND), self._world.server.machine_gone, lease)

    def ended(self, lease: int, machine: Machine) -> None:
        """The worker has left; the machine ends with it."""
        if self.machines.get(lease) is machine:
            self.stop(lease)

    def list(self, pool: str) -> list[int]:
        return [lease for lease, machine in self.machines.items() if machine.pool == pool]
