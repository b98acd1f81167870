"""Which efficient strategy suits its user best (ExPERT 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from tailrace.errors import BadInput, Infeasible
from tailrace.planning.frontier import Frontier, Point

RISES = (0.01, 0.1, 1.0)  # of what lies between the least and the most that was found
NEAR = 1e-9

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
    if utility(anywhere) < utility(chosen):
        why = f"is lower for {anywhere.strategy}, which is no better in time or cost than another"
    else:
        why = _fall(frontier, utility)
    warning = f"{said} {why}: it does not always fall with time and cost" if why else ""
    return Chosen(chosen, warning)


def _fall(frontier: Frontier, utility: Utility) -> str:
    """Where it would have an efficient one be slower or dearer. Nobody has looked at one that is
    just that, so each is asked about with its time or its cost raised."""
    spans = {rise: _span(frontier.points, name) for rise, name in _METRICS.items()}
    for one in frontier.efficient():
        for rise, span in spans.items():
            if any(_falls(one, rise(one, share * span), utility) for share in RISES):
                said = "slower" if rise is _slower else "dearer"
                return f"would be lower for {one.strategy} if that were {said}"
    return ""


def _falls(one: Point, worse: Point, utility: Utility) -> bool:
    try:
        here = utility(one)
        return utility(worse) < here - NEAR * abs(here)
    except BadInput:  # of what is not there it need not say anything
        return False


def _span(points: Sequence[Point], name: str) -> float:
    values = [getattr(one.estimate, name).mean for one in points]
    return float(max(values) - min(values))


def _slower(one: Point, by_s: float) -> Point:
    return _raised(_raised(one, "makespan", by_s), "tail_makespan", by_s)


def _dearer(one: Point, by_cents: float) -> Point:
    return _raised(one, "cost_per_task", by_cents)


def _raised(one: Point, name: str, by: float) -> Point:
    spread = getattr(one.estimate, name)
    raised = replace(spread, mean=spread.mean + by)
    return replace(one, estimate=replace(one.estimate, **{name: raised}))


_METRICS = {_slower: "tail_makespan", _dearer: "cost_per_task"}
