"""All of it from one seed: minutes of faults, then calm, and everything must come to an end."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import msgspec

from tailrace.scheduler import money
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import Bag, State
from tailrace.server.cycle import Cycle
from tailrace.server.desk import Desk
from tailrace.server.files import publishing
from tailrace.server.files.porter import Porter
from tailrace.server.pools.machine_room import MachineRoom
from tailrace.server.records import reading
from tailrace.worker.agent import Agent

from . import weather as weathers
from .disk import Disk
from .ear import listening
from .engine import MINUTE, SECOND, Engine
from .machine import Machine
from .mischief import Mischief
from .network import Network
from .oracle import Oracle, Rule, Violation, hold
from .owner import Owner
from .provider import Provider
from .server import Server
from .tasks import draw_pools
from .weather import Weather

EPOCH_US = 1_700_000_000 * SECOND
PATIENCE_US = 240 * MINUTE
LINGER_US = 3 * MINUTE  # three comparisons of the tables with what the provider lists
SHM = Path("/dev/shm")


class Parts(msgspec.Struct, frozen=True):
    """What the world is made of; a planted fault replaces one.

    Where the product itself would notice the fault before the oracle can, `check` is off."""

    desk: type[Desk] = Desk
    cycle: type[Cycle] = Cycle
    machines: type[MachineRoom] = MachineRoom
    porter: type[Porter] = Porter
    agent: type[Agent] = Agent
    affordable: Callable[[State, Bag, LeaseRow], bool] = money.affordable
    check: bool = True


class Told(msgspec.Struct, frozen=True):
    """What there is to say of a run that went well."""

    digest: int
    steps: int
    virtual_us: int
    lives: int
    runs: int
    results: int
    leases: int


class World:
    def __init__(
        self,
        seed: int,
        folder: Path,
        parts: Parts,
        say: Callable[[str], None] | None,
        store: str = "",
    ):
        self.parts = parts
        self.store = store  # the URL of a database; else it is a file
        self.folder = folder / "server"
        self.home = folder / "home"  # the owner's
        self.engine = Engine(seed, say)
        random = self.engine.random
        self.weather = weathers.draw(random)
        self.calm = False
        self.wall_shift = 0
        self.bad_disk_until = 0
        self.pools = draw_pools(random)
        self.oracle = Oracle(self.pools)
        self.network = Network(self.engine, self.weather)
        self.machines: dict[str, Machine] = {}
        self.provider = Provider(self)
        self.server = Server(self)
        self.owner = Owner(self)
        self.engine.note("weather", self.weather)
        self.server.boot()
        for number in range(1, random.choice((1, 2, 2, 3)) + 1):
            machine = self.machines[f"H{number}"] = Machine(self, f"H{number}", "own")
            self.engine.after(self.engine.one_in(2), machine.boot)
        first = self.machines["H1"]  # one on which every task can come to its end
        first.capacity["cores"], first.unlucky = 4000, 0
        Mischief(self)

    def wall(self) -> int:
        return EPOCH_US + self.wall_shift + self.engine.now

    def count_of(self, bag: int) -> int:
        """The tasks of a bag, as its content in the tables says."""
        link = reading.open_store(self.folder)
        try:
            return reading.content(link, bag).count
        finally:
            link.close()

    def run(self) -> Told:
        self.engine.run(self.engine.between(10 * SECOND, 2 * MINUTE))
        self._clear_up()
        ended = self.engine.run(self.engine.now + PATIENCE_US, self._quiet)
        if not ended:
            raise Violation(Rule.QUIET, self._what_is_left())
        self.server.close()
        self._check_store()
        self.oracle.check_outputs(self.owner.outputs())
        if not self.wall_shift:  # a lease's end is a time of the wall: a clock put back costs
            self._check_bills()
        oracle, engine = self.oracle, self.engine
        return Told(engine.digest, engine.steps, engine.now, self.server.life, len(oracle.runs),
                    len(oracle.results), len(oracle.leases))  # fmt: skip

    def _check_store(self) -> None:
        link = reading.open_store(self.folder)
        self.oracle.check_tables(link)
        self.oracle.check_counts(link)
        self.oracle.check_work(link)
        self.oracle.check_journal(link)
        link.close()

    def _check_bills(self) -> None:
        for bag, cost in self.provider.bills.items():
            budget = self.owner.plan(bag).terms.budget.get("USD", cost)
            hold(cost <= budget, Rule.BUDGET, f"bag {bag} cost {cost} of {budget}")

    def _clear_up(self) -> None:
        """The faults stop; what was silent returns."""
        self.engine.note("calm")
        self.calm = True
        self.weather = self.network.weather = Weather()
        for machine in self.machines.values():
            machine.cut_until = machine.frozen_until = 0
        self.bad_disk_until = 0
        self.owner.settle_down()
        self._look_for_strays({})

    def _look_for_strays(self, since: dict[int, int]) -> None:
        """All machines end with their time, also forgotten ones: `_quiet` alone would see none."""
        now = self.engine.now
        seen = {
            lease: since.get(lease, now) for lease in self.oracle.strays(self.provider.machines)
        }
        old = [lease for lease, first in seen.items() if now - first > LINGER_US]
        hold(not old, Rule.NO_ORPHAN, f"machines {old}, the tables have {self.oracle.leases}")
        self.engine.after(10 * SECOND, self._look_for_strays, seen)

    def _quiet(self) -> bool:
        if self.oracle.live or not self.owner.is_content():
            return False
        return not (self._unquiet() or self.server.unquiet())

    def _unquiet(self) -> list[str]:
        """What is not at its end yet, in words."""
        oracle = self.oracle
        busy = [machine.host for machine in self.machines.values() if not machine.at_rest()]
        standing = {key: state for key, state in oracle.leases.items() if state != "gone"}
        left = [
            (not self.owner.is_content(), f"phases {oracle.phases} of {oracle.bags}"),
            (bool(oracle.live), f"live attempts {list(oracle.live)}"),
            (bool(busy), f"busy machines {busy}"),
            (bool(standing), f"leases {standing}"),
            (bool(self.provider.machines), f"machines of leases {list(self.provider.machines)}"),
        ]
        return [text for is_left, text in left if is_left]

    def _what_is_left(self) -> str:
        left = [*self._unquiet(), self.server.unquiet()]
        return "; ".join(text for text in left if text) + "\n" + self.server.explained()


def run(
    seed: int,
    parts: Parts | None = None,
    say: Callable[[str], None] | None = None,
    store: str = "",
) -> Told:
    """One seed, from its beginning to its end. Raises a Violation."""
    with tempfile.TemporaryDirectory(dir=SHM if SHM.is_dir() else None) as folder, listening():
        world = World(seed, Path(folder), parts or Parts(), say, store)
        sync = mock.patch.object(publishing, "sync", Disk(world).sync)
        affordable = mock.patch.object(money, "affordable", world.parts.affordable)
        try:
            with sync, affordable:
                return world.run()
        except Exception as error:
            raise Violation(Rule.SOUND, f"{type(error).__name__}: {error}") from error
        finally:
            world.server.close()
