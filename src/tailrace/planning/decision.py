"""Which efficient strategy suits its user best (ExPERT 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from tailrace.errors import BadInput, Infeasible
from tailrace.planning.frontier import Frontier, Point

Utility = Callable[[Point], float]  # the less, the better


class Prefer(StrEnum):
    MAKESPAN = "makespan"  # of the tail: what a strategy can change
    COST = "cost"
    PRODUCT = "product"


class Chosen(msgspec.Struct, frozen=True):
    point: Point
    warning: str = ""


UTILITIES: dict[str, Utility] = {
    Prefer.MAKESPAN: lambda one: one.estimate.tail_makespan.mean,
    Prefer.COST: lambda one: one.estimate.cost_per_task.mean,
    Prefer.PRODUCT: lambda one: one.estimate.tail_makespan.mean * one.estimate.cost_per_task.mean,
}


def prefer(frontier: Frontier, name: str) -> Point:
    utility = UTILITIES.get(name)
    if utility is None:
        known = ", ".join(UTILITIES)
        raise BadInput(f"there is no preference {name!r}", remedy=f"It is one of {known}.")
    return best(frontier.efficient(), utility)


def best(points: Sequence[Point], utility: Utility) -> Point:
    """Of those that are alike the fastest, which comes first."""
    return min(points, key=utility)


def within_budget(frontier: Frontier, cents_per_task: float) -> Point:
    """The fastest that costs no more on average."""
    points = frontier.efficient()
    found = [one for one in points if one.estimate.cost_per_task.mean <= cents_per_task]
    if found:
        return found[0]
    nearest = points[-1].estimate.cost_per_task.mean
    raise Infeasible(
        f"no strategy costs {cents_per_task:g} cents a task or less",
        remedy=f"The cheapest is {points[-1].strategy}, for {nearest:.4g} cents a task.",
    )


def within_deadline(frontier: Frontier, makespan_s: float) -> Point:
    """The cheapest whose bag is done by then on average."""
    points = frontier.efficient()
    found = [one for one in points if one.estimate.makespan.mean <= makespan_s]
    if found:
        return found[-1]
    first = min(points, key=lambda one: one.estimate.makespan.mean)
    raise Infeasible(
        f"no strategy is done within {makespan_s:g} s",
        remedy=f"The fastest is {first.strategy}, with {first.estimate.makespan.mean:.4g} s.",
    )


def by_utility(frontier: Frontier, utility: Utility, said: str) -> Chosen:
    """A user's own, the less the better. One that rises where time or cost fall has its best where
    nobody would look for it: he is warned."""
    chosen = best(frontier.efficient(), utility)
    anywhere = best(frontier.points, utility)
    if utility(anywhere) >= utility(chosen):
        return Chosen(chosen)
    told = (
        f"{said} is lower for {anywhere.strategy}, which is no better in time or cost than another:"
        " it does not always fall with time and cost"
    )
    return Chosen(chosen, told)
