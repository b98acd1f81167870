"""A server inside a command, for one bag and with it: what `tailrace run` is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from tailrace.bag.bag import Bag
from tailrace.bag.identity import basis
from tailrace.policy.parameters import looked_at
from tailrace.scheduler import state
from tailrace.scheduler.events import BagChanged, BagSubmitted, Change
from tailrace.scheduler.rows import BagPhase
from tailrace.server.batch import NewBag
from tailrace.server.pools.command_pool import AnyPool
from tailrace.server.records.continuing import CONTINUED
from tailrace.server.records.taking import Taken
from tailrace.server.serving import Serving
from tailrace.server.web.door import Door

RESTING = (
    BagPhase.FINISHED,
    BagPhase.CANCELLED,
    BagPhase.STOPPED,
    BagPhase.BRAKED,
    BagPhase.PAUSED,
)
GLANCE_S = 0.02  # while machines end and outputs are moved, of which no news tells
LOOK_S = 0.5


class Embedded(Serving):
    """Use as an async context; then `submit` or `resume`, and wait for `rest`."""

    stays = False

    def __init__(
        self,
        folder: Path,
        pools: tuple[AnyPool, ...],
        *,
        port: int = 0,
        door: Door | None = None,
        journal: bool = True,
        check: bool = False,
        store: str = "",
        notify: tuple[str, ...] = (),
    ) -> None:
        door = door or Door(port=port)
        super().__init__(
            folder, pools, door, journal=journal, check=check, store=store, notify=notify
        )

    def submit(
        self,
        bag: Bag,
        programs: dict[str, str] | None = None,
        taken: Taken | None = None,
        secrets: Mapping[str, str] | None = None,
        continued: tuple[int, ...] = (),
    ) -> int:
        """Other unfinished bags of the folder stay as they are, until they are resumed; but those
        that this one goes on with are closed."""
        number = self.world.new_bag()
        self.world.sealed.keep(number, secrets or {})
        self._hold_others(number)
        spec, chunks = bag.encode()
        order, (policy, columns) = bag.order(), looked_at(bag.spec.policy, bag)
        permutation = None if order is None else bytes(order)
        new = NewBag(number, bag.spec.name, spec, chunks, permutation, basis=basis(bag.spec),
                     programs=programs or {}, taken=taken.rows() if taken else ())  # fmt: skip
        bits = taken.bits if taken else None
        terms = replace(bag.terms(), policy=policy)
        event = BagSubmitted(number, terms, permutation, taken=bits, columns=columns)
        self.world.tell(event, new)
        for other in continued:
            self.world.tell(BagChanged(other, Change.CANCEL, why=f"{CONTINUED} {number}"))
        return number

    def resume(self, number: int, secrets: Mapping[str, str] | None = None) -> None:
        """With new values for its secrets, if they are given."""
        if secrets:
            self.world.sealed.keep(number, secrets)
        self._hold_others(number)
        self.world.tell(BagChanged(number, Change.RESUME))

    def _hold_others(self, number: int) -> None:
        for bag in self.others_running(number):
            why = f"interrupted; `tailrace resume {bag}` goes on"
            self.world.tell(BagChanged(bag, Change.PAUSE, why=why))

    def interrupt(self, number: int) -> list[int]:
        """A clean stop: running tasks are ended as preempted, and everything is kept. Also those of
        other bags, which it names: `rest` would wait for them."""
        others = self.others_running(number)
        for bag in (number, *others):
            self.world.tell(BagChanged(bag, Change.PAUSE, why="interrupted"))
        return others

    def others_running(self, number: int) -> list[int]:
        """Bags that a `retry` has brought to this server while it runs."""
        return [bag for bag, row in self._bags().items() if bag != number and row.runs]

    def _bags(self) -> dict[int, state.Bag]:
        """None while nothing can be committed: then there is no scheduler to ask."""
        return self.world.state.bags if self.world.available else {}

    async def rest(self, number: int) -> BagPhase:
        """Until the bag ran to its end, or was stopped, and nothing is under way."""
        while not self._resting(number):
            if self._kill:
                return BagPhase.PAUSED
            if self.world.fatal.done():
                self.world.fatal.result()
            await self.world.news(GLANCE_S if self._ended(number) else LOOK_S)
        return self.world.state.bags[number].phase

    def waits_for(self, number: int) -> list[int]:
        """The bags that still run when this one does no more."""
        return self.others_running(number) if self._ended(number) else []

    def _resting(self, number: int) -> bool:
        return self.world.at_rest() and self._ended(number)

    def _ended(self, number: int) -> bool:
        bag = self._bags().get(number)
        return bag is not None and bag.phase in RESTING
