"""Who hands in bags, meddles with them at random moments, and at last wants them finished."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.scheduler.events import BagChanged, Change

from .engine import SECOND
from .tasks import BagPlan, draw_bag

if TYPE_CHECKING:
    from .world import World

GOALS = ("finished",) * 8 + ("cancelled", "paused")


class Owner:
    def __init__(self, world: World) -> None:
        self._world = world
        random = world.engine.random
        count = random.choice((1, 2, 2, 3))
        draws = [(random, number, world.pools, world.home) for number in range(1, count + 1)]
        self.plans = [draw_bag(*draw) for draw in draws]
        self._numbers: dict[int, BagPlan] = {}
        self._goals = {plan.name: random.choice(GOALS) for plan in self.plans}
        self._last = False  # the time of meddling is over
        for plan in self.plans:
            world.engine.at(plan.at_us, self._hand_in, plan)

    def plan(self, bag: int) -> BagPlan:
        return self._numbers[bag]

    def numbered(self, plan: BagPlan, bag: int) -> None:
        self._numbers[bag] = plan
        self._world.oracle.repeatable[bag] = plan.terms.repeatable

    def _hand_in(self, plan: BagPlan) -> None:
        """Again and again until it is in the tables: a server may have died over it."""
        world = self._world
        if plan.name in world.oracle.bags:
            return
        if plan.name not in world.server.submitted:
            world.server.submit(plan)
        world.engine.after(2 * SECOND, self._hand_in, plan)

    def meddle(self) -> None:
        world, random = self._world, self._world.engine.random
        if not world.oracle.bags or self._last:
            return
        bag = random.choice(list(world.oracle.bags.values()))
        changes = (Change.PAUSE, Change.CANCEL, Change.RESUME, Change.RESUME, Change.RETRY)
        change = random.choice((*changes, Change.GROW))
        if change is Change.GROW:
            world.server.add(bag, random.choice((1, 3, 9)))
        else:
            self._ask(bag, change)

    def waver(self) -> None:
        """He cancels his bags, and wants them after all."""
        for bag in [] if self._last else self._world.oracle.bags.values():
            self._ask(bag, Change.CANCEL)
            self._world.engine.after(self._world.engine.one_in(5), self._resume, bag)

    def _resume(self, bag: int) -> None:
        """Said again until there is a server that hears it."""
        if self._world.server.product is None:
            self._world.engine.after(SECOND, self._resume, bag)
        elif not self._last:
            self._ask(bag, Change.RESUME)

    def _ask(self, bag: int, change: Change) -> None:
        tasks = tuple(range(self._world.count_of(bag))) if change is Change.RETRY else ()
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

    def outputs(self) -> dict[tuple[int, int], str | None]:
        """What lies at the targets, by task; of a task with two, one must not lack or differ."""
        found: dict[tuple[int, int], str | None] = {}
        for plan in self.plans:
            bag = self._world.oracle.bags[plan.name]
            for index in range(self._world.count_of(bag) if plan.spec.outputs else 0):
                files = [rule.place.format(i=index) for rule in plan.spec.outputs]
                found[bag, index] = _text([self._world.home / file for file in files])
        return found

    def is_content(self) -> bool:
        bags = self._world.oracle.bags
        return all(
            plan.name in bags and self._content(plan, bags[plan.name]) for plan in self.plans
        )


def _text(files: list[Path]) -> str | None:
    texts = {file.read_text() if file.exists() else None for file in files}
    return texts.pop() if len(texts) == 1 else f"{texts}"
