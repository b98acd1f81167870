"""Which choices of a frontier are the best, and for what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import msgspec

from tailrace.errors import BadInput, Infeasible

if TYPE_CHECKING:
    from tailrace.cli.planning.amounts import PerTask
    from tailrace.planning.decision import Utility
    from tailrace.planning.frontier import Frontier, Point

MARKS = ("makespan", "cost", "product", "budget", "deadline", "utility")
SAID = {
    "makespan": "fastest", "cost": "cheapest", "product": "least time × cost",
    "budget": "fastest in the budget", "deadline": "cheapest in time", "utility": "your utility",
}  # fmt: skip


class Wish(msgspec.Struct, frozen=True):
    """What its user has said of the choice."""

    prefer: str | None = None
    budget: PerTask | None = None
    deadline_s: float | None = None
    utility: str | None = None


def bests(frontier: Frontier, wish: Wish, tasks: int) -> dict[str, Point]:
    """Infeasible: a budget or a deadline that nobody can meet, with the nearest."""
    from tailrace.planning import decision

    found = {name: decision.prefer(frontier, name) for name in decision.UTILITIES}
    if wish.budget is not None:
        found["budget"] = _within_budget(frontier, wish.budget, tasks)
    if wish.deadline_s is not None:
        found["deadline"] = decision.within_deadline(frontier, wish.deadline_s)
    said, utility = _own(wish, tasks)
    if utility is not None:
        chosen = decision.by_utility(frontier, utility, said)
        found["utility"] = chosen.point
        if chosen.warning:
            click.echo(f"tailrace: warning: {chosen.warning}.", err=True)
    return found


def _own(wish: Wish, tasks: int) -> tuple[str, Utility | None]:
    """Of the user, or of a package of his."""
    from tailrace.cli.planning.utility import by_package
    from tailrace.planning.decision import UTILITIES

    if wish.utility is not None:
        return wish.utility, utility_of(wish.utility, tasks)
    if wish.prefer is None or wish.prefer in UTILITIES:
        return "", None
    return wish.prefer, by_package(wish.prefer, tasks)


def _within_budget(frontier: Frontier, budget: PerTask, tasks: int) -> Point:
    from tailrace.planning import decision

    try:
        return decision.within_budget(frontier, budget.per_task(tasks))
    except Infeasible as none:
        raise Infeasible(f"--budget {budget.said}: {none.message}", remedy=none.remedy) from None


def chosen(frontier: Frontier, wish: Wish, tasks: int) -> Point:
    """By what was said; both a budget and a deadline may be, and hold both."""
    _check_one(wish)
    found = bests(frontier, wish, tasks)
    said = [wish.budget, wish.deadline_s, wish.utility, wish.prefer]
    if wish.budget is not None and wish.deadline_s is not None:
        return _both(found, wish)
    by = wish.prefer if wish.prefer in found else "utility"
    for name, value in zip(("budget", "deadline", "utility", by), said, strict=True):
        if value is not None:
            return found[name or ""]
    remedy = "Give --prefer makespan, cost or product, --budget, --deadline or --utility."
    raise BadInput("what you prefer is not said", remedy=remedy)


def _check_one(wish: Wish) -> None:
    """A budget and a deadline go together; nothing else does."""
    bounds = wish.budget is not None or wish.deadline_s is not None
    if sum((wish.prefer is not None, wish.utility is not None, bounds)) > 1:
        remedy = "Give --prefer, or --utility, or --budget and --deadline."
        raise BadInput("what you prefer is said twice", remedy=remedy)


def _both(found: dict[str, Point], wish: Wish) -> Point:
    """The fastest that the budget pays, if it is in time."""
    fastest = found["budget"]
    if wish.deadline_s is not None and fastest.estimate.makespan.mean > wish.deadline_s:
        cheapest = found["deadline"]
        raise Infeasible(
            f"no strategy is within the budget and done in {wish.deadline_s:g} s",
            remedy=f"The fastest within the budget takes {fastest.estimate.makespan.mean:.4g} s; "
            f"the cheapest in time costs {cheapest.estimate.cost_per_task.mean:.4g} cents a task.",
        )
    return fastest


def utility_of(text: str, tasks: int) -> Utility:
    """`module:function`, or a ClassAd expression over the metrics."""
    from tailrace.cli.planning.utility import by_expression, by_function

    module, colon, name = text.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), name)):
        return by_function(module, name, tasks)
    return by_expression(text, tasks)


def marks_of(point: Point, bests: dict[str, Point]) -> Iterator[str]:
    return (name for name, best in bests.items() if best == point)
