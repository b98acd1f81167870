"""The answer to a bag in its tail: its strategies are estimated from how it stands, and the one
that its owner prefers is chosen.

Most strategies are beaten at the first look, by a few repetitions, and the others alone are worth
many: that takes a seventh of the time, and what is chosen is as good to within a percent or two. In
a large tail chance evens out, and there are fewer repetitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import count

import numpy as np

from tailrace.errors import BadInput, Infeasible
from tailrace.knowledge.characterisation import Characterisation, Online, characterise
from tailrace.knowledge.inquiry import Forecast, Inquiry, Machine, Plan, Seen, paid_in
from tailrace.knowledge.sendings import Fate, Sending, Sendings, gathered
from tailrace.planning import decision, grids
from tailrace.planning.estimate import Spread, sample
from tailrace.planning.frontier import Frontier, Point, frontier
from tailrace.planning.kernel.model import NOBODY, OWN, Standing, standing
from tailrace.planning.priced import CENTS, NEAR_S, SECOND_US, priced
from tailrace.planning.setting import Floats, Setting
from tailrace.planning.strategy import Strategy

AT_FIRST, CLOSER = (5, 10), (20, 100)  # repetitions of each strategy: at least, at most
LIVES = 10_000_000  # of tasks, from now to their results: what a look takes beyond the least
RATIOS = 10  # of reliable hosts, at most: their range may be wide
ENOUGH = 5  # results, before which nothing is planned by them


def answer(asked: Inquiry) -> Plan:
    """BadInput: too little is known."""
    _check_currencies(asked)
    known = _known(asked)
    t_ur_s = known.turnaround.mean_s
    setting = _setting(asked, known)
    grid = _possible(setting, _grid(asked, t_ur_s, float(setting.cheap.turnarounds[0])))
    look = partial(sample, setting, seed=asked.seed, standing=_standing(asked), endless=True)
    first = frontier(look(grid, _repetitions(asked, grid, AT_FIRST)))
    kept = first.promising()
    found = frontier(look(kept, _repetitions(asked, kept, CLOSER)))
    return _plan(asked, found, _chosen(asked, found), len(first.points))


def _repetitions(asked: Inquiry, some: Sequence[Strategy], bounds: tuple[int, int]) -> int:
    least, most = bounds
    return min(max(LIVES // (len(some) * len(asked.left)), least), most)


def _check_currencies(asked: Inquiry) -> None:
    cheap, dear = asked.cheap, asked.dear
    if cheap.price and dear.price and cheap.currency != dear.currency:
        raise BadInput(f"{cheap.currency} and {dear.currency} do not add up: nothing is planned")


def _known(asked: Inquiry) -> Characterisation:
    sendings = _sendings(asked.seen)
    if sendings.returned < ENOUGH:
        raise BadInput(f"{sendings.returned} results are too few to plan by; it takes {ENOUGH}")
    moment = Online(asked.now_us / SECOND_US, max(asked.patience_us / SECOND_US, NEAR_S))
    return characterise(sendings, moment, tail_s=asked.tail_us / SECOND_US)


def _sendings(seen: Sequence[Seen]) -> Sendings:
    return gathered(
        Sending("", one.sent_us / SECOND_US, one.took_us / SECOND_US, Fate(one.fate))
        for one in seen
    )


def _setting(asked: Inquiry, known: Characterisation) -> Setting:
    times = known.turnaround.points()
    cheap = priced(asked.cheap_hosts, times, asked.cheap, asked.cheap_startup_us)
    dear = priced(asked.dear_hosts, _dear_times(asked, known), asked.dear, asked.dear_startup_us)
    return Setting(
        tasks=len(asked.left),
        cheap=cheap,
        dear=dear if asked.dear_hosts else None,
        patience_s=asked.patience_us / SECOND_US,
        returned_from=np.zeros(1),
        returned=np.array([known.reliability.next]),
        failures=known.failures_s,
        retry_first=True,
        late=asked.late,
        cancel=asked.cancel,
    )


def _dear_times(asked: Inquiry, known: Characterisation) -> Floats:
    """Before enough were seen, as long as on the others."""
    if len(asked.dear_us) >= ENOUGH:
        return np.array(asked.dear_us) / SECOND_US
    return np.array([known.turnaround.mean_s])


def _grid(asked: Inquiry, t_ur_s: float, shortest_s: float) -> list[Strategy]:
    """The paper's, without what gives up before anything could return; and what needs no reliable
    host."""
    ratio = asked.dear_hosts / asked.cheap_hosts
    found = [one for one in grids.paper(t_ur_s, ratio, RATIOS) if one.d_s > shortest_s]
    return [*found, *(one for one in grids.endless(5, t_ur_s) if one.d_s > shortest_s)]


def _possible(setting: Setting, grid: Sequence[Strategy]) -> list[Strategy]:
    found = [one for one in grid if not setting.is_endless(one)]
    if not found:
        raise BadInput("hardly any attempt returns: nothing can be planned")
    return found


def _standing(asked: Inquiry) -> Standing:
    tasks = [(one.copies, one.dear) for one in asked.left]
    out = [
        (one.task, one.dear, one.age_us / SECOND_US, max(one.left_us, 0) / SECOND_US)
        for one in asked.out
    ]
    places = _places(asked.machines)
    on = [places[one.on] if one.on >= 0 else NOBODY for one in asked.out]
    return standing(
        np.array(tasks, np.int64), _rows(out, 4), _rows(map(_host, asked.machines), 3),
        np.array(on, np.int64),
    )  # fmt: skip


def _places(machines: Sequence[Machine]) -> list[int]:
    """Among those of its kind."""
    counts = {True: count(), False: count()}
    return [next(counts[one.dear]) for one in machines]


def _host(one: Machine) -> tuple[float, float, float]:
    since = OWN if one.age_us is None else -one.age_us / SECOND_US
    return float(one.dear), since, one.comes_us / SECOND_US


def _rows(found: Iterable[tuple[float, ...]], wide: int) -> Floats:
    return np.array(list(found), np.float64).reshape(-1, wide)


def _chosen(asked: Inquiry, found: Frontier) -> Point:
    """A wish that nobody can meet is met as nearly as can be: the bag runs already."""
    try:
        if asked.prefer == "budget" and asked.budget is not None:
            cents = asked.budget * CENTS / len(asked.left)
            return decision.within_budget(found, cents)
        if asked.prefer == "deadline" and asked.deadline_us is not None:
            return decision.within_deadline(found, asked.deadline_us / SECOND_US)
    except Infeasible:
        return decision.prefer(found, "cost" if asked.prefer == "budget" else "makespan")
    if asked.prefer in (decision.Prefer.MAKESPAN, decision.Prefer.COST):
        return decision.prefer(found, asked.prefer)
    return decision.best(found.efficient(), lambda one: _product(asked, one))


def _product(asked: Inquiry, one: Point) -> float:
    """Of the whole tail and the whole bag (ExPERT 6.1): by what is left alone, a second would be
    worth less with each plan, and the last task would wait for ever cheaper ones."""
    since_s = (asked.now_us - asked.tail_us) / SECOND_US
    cents = one.estimate.cost_per_task.mean * len(asked.left)
    return (since_s + one.estimate.makespan.mean) * (asked.spent * CENTS + cents)


def _plan(asked: Inquiry, found: Frontier, point: Point, looked_at: int) -> Plan:
    one, tasks = point.strategy, len(asked.left)
    return Plan(
        asked.number, NOBODY if one.n is None else one.n,
        round(one.t_s * SECOND_US), max(round(one.d_s * SECOND_US), 1), one.mr,
        0 if one.n is None else one.dear_hosts(asked.cheap_hosts),
        asked.now_us, tasks,
        _forecast(point.estimate.makespan, SECOND_US),
        _forecast(point.estimate.cost_per_task, tasks / CENTS),
        paid_in(asked.cheap, asked.dear),
        looked_at, len(found.efficient()),
    )  # fmt: skip


def _forecast(spread: Spread, unit: float) -> Forecast:
    return Forecast(*(round(value * unit) for value in (spread.mean, spread.p05, spread.p95)))
