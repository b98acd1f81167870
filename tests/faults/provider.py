"""Who lends machines: starts, renews, stops, lists. It does what it is told, but the teller may not
hear.

The lease is the key: starting what runs already, or was stopped, starts nothing. A machine ends by
itself at the end it was given, or renewed to. Most providers keep that end themselves, and a worker
knows nothing of it; a few renew nothing, as if each such call were lost, and their workers are told
their end and leave in time.
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
        self._renews = world.engine.chance(0.8)
        self._ends: dict[int, int] = {}  # of all leases ever started
        self._billing = {pool.name: pool.billing for pool in world.pools}
        self._began: dict[int, int] = {}
        self.bills: dict[int, int] = {}  # micro-units by bag

    def start(self, lease: int, pool: str, bag: int, ends_us: int) -> None:
        engine = self._world.engine
        if lease in self._ends:
            return
        ends_at = self._ends[lease] = self._moment(ends_us)
        known_end = None if self._renews else ends_at
        machine = Machine(self._world, f"L{lease}", pool, lease, known_end)
        machine.paid_by, self._began[lease] = bag, engine.now
        engine.note("provider starts", lease)
        self.machines[lease] = machine
        self._world.machines[machine.host] = machine
        engine.after(engine.one_in(2), machine.boot)
        engine.at(ends_at, self._time_is_up, lease)

    def renew(self, lease: int, ends_us: int) -> None:
        """Never to an earlier end."""
        if self._renews and lease in self.machines and self._moment(ends_us) > self._ends[lease]:
            self._ends[lease] = self._moment(ends_us)
            self._world.engine.note("provider renews", lease)
            self._world.engine.at(self._ends[lease], self._time_is_up, lease)

    def _moment(self, wall_us: int) -> int:
        return self._world.engine.now + max(wall_us - self._world.wall(), 0)

    def _time_is_up(self, lease: int) -> None:
        """Unless it was renewed meanwhile."""
        if self._world.engine.now >= self._ends[lease]:
            self.stop(lease)

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
