"""Who hands in bags, meddles with them at random moments, and at last wants them finished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailrace.scheduler.events import BagChanged, Change

from .engine import SECOND
from .tasks import BagPlan, draw_bag, shared

if TYPE_CHECKING:
    from .world import World

GOALS = ("finished",) * 8 + ("cancelled", "paused")


class Owner:
    def __init__(self, world: World) -> None:
        self._world = world
        random = world.engine.random
        count = random.choice((1, 2, 2, 3))
        self.plans = [draw_bag(random, number, world.pools) for number in range(1, count + 1)]
        self._numbers: dict[int, BagPlan] = {}
        self._goals = {plan.name: random.choice(GOALS) for plan in self.plans}
        self._last = False  # the time of meddling is over
        for plan in self.plans:
            world.engine.at(plan.at_us, self._hand_in, plan)

    def plan(self, bag: int) -> BagPlan:
        return self._numbers[bag]

    def shared(self, bag: int) -> dict[str, Any]:
        return shared(self._numbers[bag])

    def numbered(self, plan: BagPlan, bag: int) -> None:
        self._numbers[bag] = plan
        self._world.oracle.repeatable[bag] = plan.terms.repeatable

    def _hand_in(self, plan: BagPlan) -> None:
        """Again and again until it is in the tables: a server may have died over it."""
        world = self._world
        if plan.name in world.oracle.bags:
            return
        if plan.name not in getattr(world.server, "submitted", {plan.name: None}):
            world.server.submit(plan)
        world.engine.after(2 * SECOND, self._hand_in, plan)

    def meddle(self) -> None:
        world, random = self._world, self._world.engine.random
        if not world.oracle.bags or self._last:
            return
        bag = random.choice(list(world.oracle.bags.values()))
        changes = (Change.PAUSE, Change.CANCEL, Change.RESUME, Change.RESUME, Change.RETRY)
        self._ask(bag, random.choice(changes))

    def _ask(self, bag: int, change: Change) -> None:
        count = self._numbers[bag].terms.count
        tasks = tuple(range(count)) if change is Change.RETRY else ()
        self._world.engine.note("owner asks", bag, change)
        self._world.server.tell(BagChanged(bag, change, tasks, "its owner said so"))

    def settle_down(self) -> None:
        """From now on he wants but one thing of each bag, and says so until it is so."""
        self._last = True
        for plan in self.plans:
            bag = self._world.oracle.bags.get(plan.name)
            if bag is not None and not self._content(plan, bag):
                wish = {"cancelled": Change.CANCEL, "paused": Change.PAUSE}
                self._ask(bag, wish.get(self._goals[plan.name], Change.RESUME))
        self._world.engine.after(5 * SECOND, self.settle_down)

    def _content(self, plan: BagPlan, bag: int) -> bool:
        goal = self._goals[plan.name]
        enough = {"paused": ("paused", "cancelled", "braked")}.get(goal, (goal,))
        broke = ("stopped",) if plan.terms.budget else ()
        return self._world.oracle.phases[bag] in ("finished", *enough, *broke)

    def is_content(self) -> bool:
        bags = self._world.oracle.bags
        return all(
            plan.name in bags and self._content(plan, bags[plan.name]) for plan in self.plans
        )
